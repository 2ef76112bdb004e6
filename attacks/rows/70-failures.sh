# What fails is not called done, and what stands still is seen.

frozen() { # a loop device on a file of a file system that can be frozen; $device
  need mkfs.ext4 fsfreeze; image outer 48; mkfs.ext4 -q -F outer; attach outer; mounted "$device" m
  image m/inner 16; attach m/inner; undo "fsfreeze -u m"; }
timed() { sed "s/^measure.*/measure = { time = \"$1\" }/" write.toml >timed.toml; }
stall() { frozen; timed 3s
  "$assay" run timed.toml --quiet --json --out out --only "$device" --write "$device" >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 1; fsfreeze -f m; sleep 4; fsfreeze -u m; wait $pid && true
  need python3
  longest=$(python3 -c 'import json; print(int(max(m["value"] for c in json.load(open("json"))["cells"] for n, m in c["metrics"].items() if n == "max")))')
  [ "$longest" -gt 2000000000 ] || fail "the longest latency is $longest ns"; }
row E10.1 "a device that stands still for 4 s: the longest latency says so" stall
unanswered() { frozen; timed 30s
  "$assay" run timed.toml --quiet --out out --only "$device" --write "$device" >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 1; fsfreeze -f m; sleep 0.5; begun=$(date +%s%N); kill -INT $pid
  for _ in $(seq 100); do kill -0 $pid 2>/dev/null || break; [ "$(ps -o stat= -p $pid | cut -c1)" = Z ] && break; sleep 0.1; done
  took=$(( ($(date +%s%N) - begun) / 1000000 )); fsfreeze -u m; wait $pid && true
  [ $took -lt 5000 ] || fail "Ctrl-C took $took ms"; }
row E10.2 "Ctrl-C on a device that does not answer ends the run within 5 s" unanswered

full() { # a device whose backing has no room: a sparse file on a small file system
  need mkfs.ext4; image outer 16; mkfs.ext4 -q -F outer; attach outer; mounted "$device" m
  truncate -s 64M m/inner; attach m/inner; }
no_space() { full; sed -i 's/^range.*//; s/^measure.*/measure = { requests = 16384 }/' write.toml
  ends "3|4" "$assay" run write.toml --quiet --out out --only "$device" --write "$device"
  grep -q "requests failed" .err || fail "$(cat .err)"; }
row E5.1 "requests that fail for lack of room end the cell" no_space
all_fail() { image i 8; attach i; truncate -s 0 i
  ends 3 "$assay" run read.toml --quiet --out out --only "$device"; grep -q "all .* requests failed" .err || fail "$(cat .err)"; }
row E5.2 "a device of which every request fails ends with 3" all_fail
counted() { image i 8; attach i; truncate -s 0 i; sed -i 's/^question/errors = "count"\nquestion/' read.toml
  ends 0 "$assay" run read.toml --quiet --out out --only "$device"; }
row E5.3 "with errors = \"count\" they are counted" counted

cut_short() { made; noise g 1; timed 4s
  "$assay" run timed.toml --quiet --out out --only ./f --write ./f >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 0.5; truncate -s 1M f || true; wait $pid && code=0 || code=$?
  [ $code = 3 ] && grep -q "somebody else" err || fail "exit status $code: $(cat err)"; }
row E11.1 "a file that is cut short while it is written stops the run" cut_short
cut_read() { made; sed "s/^measure.*/measure = { time = \"3s\" }/" read.toml >timed.toml
  "$assay" run timed.toml --quiet --out out --only ./f >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 0.5; truncate -s 4096 f; wait $pid && code=0 || code=$?
  [ $code != 0 ] && grep -q "cut short" err || fail "exit status $code: $(cat err)"; }
row E11.2 "a file that is cut short while it is read is named" cut_read
taken() { made; timed 6s
  "$assay" run timed.toml --quiet --out out --only ./f --write ./f >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 0.5; attach f; need mkfs.ext4; mkfs.ext4 -q -F "$device"; sync; victim f; wait $pid && code=0 || code=$?
  [ $code = 3 ] || fail "exit status $code: $(cat err)"; }
row H1 "a file that somebody attaches and formats while it is written" taken
read_beside() { made; timed 3s
  "$assay" run timed.toml --quiet --out out --only ./f --write ./f >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 0.5; head -c 1 f >/dev/null; wait $pid && code=0 || code=$?; [ $code = 0 ] || fail "exit status $code: $(cat err)"; }
row H2 "somebody who only reads the file lets the run go on" read_beside
mount_during() { image i 8; attach i; timed 3s
  "$assay" run timed.toml --quiet --out out --only "$device" --write "$device" >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 0.3; need mkfs.ext4; mkfs.ext4 -q -F "$device" 2>/dev/null && fail "mkfs could have it"; wait $pid && true; }
row H3 "mkfs cannot have a device that is being measured" mount_during

run_dir_full() { need mkfs.ext4; image outer 4; mkfs.ext4 -q -F outer; attach outer; mounted "$device" m
  sed 's/requests = 256/requests = 4000000/; s/range.*//; s/sequential/random/' read.toml >many.toml
  ends "3" timeout 60 "$assay" run many.toml --quiet --out m/out --only sim:reference-28; says "log"; }
row E12.1 "no room in the run directory ends the cell at once" run_dir_full
run_dir_gone() { sed 's/requests = 256/requests = 40000000/; s/range.*//' read.toml >many.toml
  "$assay" run many.toml --quiet --out out --only sim:reference-28 >json 2>err & pid=$!
  for _ in $(seq 100); do [ -e out/run.json ] && break; sleep 0.05; done
  sleep 0.5; rm -rf out; wait $pid && code=0 || code=$?; [ $code = 3 ] || fail "exit status $code: $(cat err)"; }
row E12.2 "a run directory that is removed ends the run" run_dir_gone

nested() { ends 2 timeout 20 "$assay" run read.toml --quiet --out out --only "raid0(raid0(raid0(raid0(sim:ssd-m*64)*64)*64)*64)"; }
row E4.1 "arrays of arrays of 16 million drives" nested
many_drives() { (ulimit -v 2000000; ends "0|3" timeout 100 "$assay" run read.toml --quiet --out out --only "raid0(sim:samsung-pm983*64)"); }
row E4.2 "64 large drives in 2 GB of memory" many_drives
long_think() { sed -i 's/^pattern/think = "1h"\npattern/' read.toml
  (ulimit -v 4000000; ends "0|3|4" timeout 60 "$assay" run read.toml --quiet --out out --only sim:ssd-m); }
row E4.3 "an hour of thought between requests" long_think
nothing() { mkdir d; ends 4 "$assay" run read.toml --quiet --out out --only ./d; }
row X6 "a run that can measure nothing does not end with 0" nothing
new_dir() { ends "2|3" "$assay" run read.toml --quiet --out out --only ./newdir/; [ ! -e newdir ]; }
row X7 "--only with a directory that is not there" new_dir
planned() { noise f 1; victim f; ends 0 "$assay" run write.toml --plan --only ./new --size 8MiB; says "\./new: 9"; [ ! -e new ] && [ ! -e out ]
  ends 0 "$assay" devices --plan; ends 0 "$assay" explain --plan; ends 0 "$assay" linux build --plan; }
row P1 "--plan says what would be written and writes nothing" planned
