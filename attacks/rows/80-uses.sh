# Q: ends that are not clean.
few() { # few COMMAND …: as a user who may have one process
  local run=(bash -c 'ulimit -u 1; exec "$@"' -) as=()
  if [ "$(id -u)" = 0 ]; then
    need setpriv; as=(setpriv --reuid=65533 --regid=65533 --clear-groups); chmod 777 .; run=("${as[@]}" "${run[@]}")
    "${as[@]}" test -x "$assay" -a -w . || skip "the program is shut to others"
  fi
  ends "$1" "${run[@]}" "${@:2}"; ! grep -q panicked .err || fail "$(cat .err)"; }
few_model() { few 3 "$assay" run read.toml --out out --only sim:ssd-m --threads 4; says no-thread; [ ! -e out ]; }
row Q1.1 "a run for a user who may have no other thread" few_model
few_file() { few 3 "$assay" run write.toml --out out --only ./f --size 1MiB; says no-thread; [ ! -e out ] && [ ! -e f ] || fail "left: $(ls)"; }
row Q1.2 "a file for such a user" few_file
long_name() { name=$(printf 'x%.0s' $(seq 255)); ends "2|3" "$assay" run read.toml --quiet --out out --only "./$name" --size 1MiB
  says name-too-long; [ ! -e out ] && [ ! -e "$name" ] || fail "left behind: $(ls)"; }
row Q4 "a file with a name of 255 letters" long_name
small_files() { code=0; (ulimit -f 100; exec "$assay" run read.toml --quiet --out out --only ./f --size 1MiB) >.out 2>.err || code=$?
  [ $code = 3 ] && says "too large" && [ ! -e f ] && [ ! -e out ] || fail "exit status $code: $(cat .err; ls)"; }
row Q5 "a file that is larger than the user may make" small_files
