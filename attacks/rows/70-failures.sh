# Failures are not reported as success, and a device that stands still is noticed.

frozen() { # a loop device on a file of a file system that can be frozen; $device
  need mkfs.ext4 fsfreeze; image outer 48; mkfs.ext4 -q -F outer; attach outer; mounted "$device" m
  image m/inner 16; attach m/inner; undo "fsfreeze -u m"; }
stall() { frozen; timed 3s
  during timed.toml "$device" --write "$device" --json
  sleep 0.5; fsfreeze -f m; sleep 4; fsfreeze -u m; wait $run && true
  need python3
  longest=$(python3 -c 'import json; print(int(max(m["value"] for c in json.load(open("json"))["cells"] for n, m in c["metrics"].items() if n == "max")))')
  [ "$longest" -gt 2000000000 ] || fail "the longest latency is $longest ns"; }
row E10.1 "a device that stands still for 4 s: the longest latency says so" stall
unanswered() { frozen; timed 30s
  during timed.toml "$device" --write "$device"; sleep 0.5; fsfreeze -f m; sleep 0.5; begun=$(date +%s%N)
  kill -INT $run; run_over 10 || true; took=$(( ($(date +%s%N) - begun) / 1000000 )); fsfreeze -u m; wait $run && true
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

cut_short() { made; timed 30s; during timed.toml ./f --write ./f; truncate -s 1M f || true; run_ends 3
  grep -q "somebody else" err || fail "$(cat err)"; }
row E11.1 "a file that is cut short while it is written stops the run" cut_short
cut_read() { made; sed "s/^measure.*/measure = { time = \"30s\" }/" read.toml >timed.toml
  during timed.toml ./f; truncate -s 4096 f; run_ends "3|4"; grep -q "cut short" err || fail "$(cat err)"; }
row E11.2 "a file that is cut short while it is read is named" cut_read
taken() { made; need mkfs.ext4; timed 30s; during timed.toml ./f --write ./f
  attach f; mkfs.ext4 -q -F "$device"; sync; victim f; run_ends 3; }
row H1 "a file that somebody attaches and formats while it is written" taken
read_beside() { made; timed 3s; during timed.toml ./f --write ./f; head -c 1 f >/dev/null; run_ends 0; }
row H2 "somebody who only reads the file lets the run go on" read_beside
mount_during() { image i 8; attach i; need mkfs.ext4; timed 30s; during timed.toml "$device" --write "$device"
  ! mkfs.ext4 -q -F "$device" 2>/dev/null || fail "mkfs could have it"; kill -INT $run; run_ends 130; }
row H3 "mkfs cannot have a device that is being measured" mount_during

run_dir_full() { need mkfs.ext4; image outer 4; mkfs.ext4 -q -F outer; attach outer; mounted "$device" m
  sed 's/requests = 256/requests = 4000000/; s/range.*//; s/sequential/random/' read.toml >many.toml
  ends "3" timeout 60 "$assay" run many.toml --quiet --out m/out --only sim:reference-28; says "log"; }
row E12.1 "no room in the run directory ends the cell at once" run_dir_full
run_dir_gone() { sed 's/requests = 256/requests = 40000000/; s/range.*//' read.toml >many.toml
  during many.toml sim:reference-28; rm -rf out; run_ends 3; }
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
planned_full() { need_root; need mkfs.ext4; image i 16; mkfs.ext4 -q -F i; attach i; mounted "$device" m
  ends 0 "$assay" run write.toml --plan --only m/new --size 1GiB; [ ! -e m/new ]; }
row P2 "--plan takes no room for the file that it would make" planned_full
unfinished() { printf 'expect = ["iops > 1"]\n' >>long.toml; begin ./f --size 8MiB; ends 4 "$assay" report out; says "not measured"; says "not judged"; }
row E12.3 "report of a run whose expectations were not all judged" unfinished
out_full() { ends 3 sh -c '"$@" >/dev/full' - "$assay" "$@"; says "could not be written"; }
for words in --help --version "explain p99" "devices ssd-m"; do
  row E12.4 "$words where the output is full" eval "out_full $words"
done
guests_out_full() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  out_full linux run --drive "sim:$here/drive.toml" --quiet --out guest-out -- seq 9999; grep -q '"status":0' guest-out/command.json; }
row E12.5 "linux run where the output is full" guests_out_full
small_tmpfs() { need_root; "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; mounted none t -t tmpfs -o size=3m; }
guests_tmp_full() { small_tmpfs; ends 3 env TMPDIR="$PWD/t" "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out guest-out -- seq 1000000; says "full?"; }
row E12.6 "linux run where the guest's output fills the directory for temporary files" guests_tmp_full
image_full() { small_tmpfs; ends 3 "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out guest-out --image t/i -- \
    sh -c 'tr "\\0" Z </dev/zero | head -c 10000000 >/dev/vda; sync'; says linux-lost; }
row E12.7 "linux run where the image fills its file system" image_full
unmounted() { need_root; need mkfs.ext4; image i 32; mkfs.ext4 -q -F i; attach i; mounted "$device" m
  for _ in 1 2 3; do "$assay" run read.toml --quiet --out "out-$RANDOM" --only m/f --size 4MiB >/dev/null 2>&1 ||
    "$assay" run read.toml --quiet --out "out-$RANDOM" --only m/f >/dev/null
  umount m || fail "still in use"; mount "$device" m; done; }
row E12.8 "what a target lies on can be unmounted as soon as assay has ended" unmounted
