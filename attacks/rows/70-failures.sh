# Failures are not reported as success, and a device that stands still is noticed.

frozen() { # a loop device on a file of a file system that can be frozen; $device
  need mkfs.ext4 fsfreeze; image outer 48; mkfs.ext4 -q -F outer; attach outer; mounted "$device" m
  image m/inner 16; attach m/inner; undo "fsfreeze -u m"; }
stall() { frozen; timed 3s
  during timed.toml "$device" --write "$device" --json
  sleep 0.5; fsfreeze -f m; sleep 4; fsfreeze -u m; wait $run && true
  need python3
  longest=$(python3 -c 'import json; print(int(max(m.get("value", 0) for c in json.load(open("json"))["cells"] for n, m in c["metrics"].items() if n == "max")))')
  [ "$longest" -gt 2000000000 ] || fail "the longest latency is $longest ns"; }
row E10.1 "a device that stands still for 4 s: the longest latency says so" stall
unanswered() { frozen; timed 30s
  during timed.toml "$device" --write "$device"; sleep 0.5; fsfreeze -f m; sleep 0.5
  kill -INT $run; over=yes; run_over 30 || over=no; fsfreeze -u m; wait $run && true; [ $over = yes ] || fail "it goes on"; }
row E10.2 "Ctrl-C ends a run on a device that does not answer" unanswered
paused() { noise i 8; sed -i 's/^measure.*/measure = { time = "5s" }/' read.toml; during read.toml ./i; kill -STOP $run; sleep 2; kill -CONT $run
  run_over 20 || fail "it goes on"; run_ends 0; cp out/cells.json .err; says "assay did not run for"; }
row E10.3 "a run that reads and is stopped for 2 s: the cell says so" paused
quota() { need_root; local group=/sys/fs/cgroup/cpu; [ -d $group ] || group=/sys/fs/cgroup
  group=$group/attack.$BASHPID; mkdir "$group" 2>/dev/null || skip "no control group"; undo "rmdir $group"
  { echo 10000 >"$group/cpu.cfs_quota_us" || echo 10000 100000 >"$group/cpu.max"; } 2>/dev/null || skip "no quota"
  noise i 8; sed -i 's/^measure.*/measure = { time = "3s" }/' read.toml
  ends 0 sh -c "echo \$\$ >$group/cgroup.procs; exec \"\$0\" \"\$@\"" "$assay" run read.toml --quiet --out out --only ./i; cp out/cells.json .err; says "quota of processor time"; }
row E10.4 "a run in a control group with a tenth of a processor: the cell says so" quota

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
ring_fails() { need strace; noise i 8
  ends "3|4" strace -f -o /dev/null -e inject=io_uring_enter:error=EIO:when=20+ "$assay" run read.toml --quiet --out out --only ./i
  grep -q "requests failed" .err || fail "$(cat .err)"; }
row E5.5 "io_uring_enter fails from the 20th call on" ring_fails
without_call() { need strace; ends "$2" strace -f -o /dev/null -e inject="$1" "$assay" run write.toml --quiet --out out --only ./f --size 4MiB; [ "$2" = 0 ] || says seccomp; }
without_random() { need strace; "$assay" explain --timeline sim:ssd-m --requests 5 --out p.svg
  ends 0 strace -f -o /dev/null -e inject=getrandom:error=EPERM "$assay" explain --timeline sim:ssd-m --requests 9 --out p.svg; }
row E5.6 "a sandbox without getrandom" without_random
row E5.7 "a sandbox without fallocate" without_call fallocate:error=ENOSYS 0
row E5.8 "a sandbox without ppoll" without_call ppoll:error=EPERM 0
row E5.9 "a sandbox without openat2" without_call openat2:error=ENOSYS 3

cut_short() { made; timed 30s; during timed.toml ./f --write ./f; truncate -s 1M f || true; run_ends 3
  grep -q "somebody else" err || fail "$(cat err)"; }
row E11.1 "a file that is cut short while it is written stops the run" cut_short
cut_read() { made; sed "s/^measure.*/measure = { time = \"30s\" }/" read.toml >timed.toml
  during timed.toml ./f; truncate -s 4096 f; run_ends "3|4"; grep -q "cut short" err || fail "$(cat err)"; }
row E11.2 "a file that is cut short while it is read is named" cut_read
taken() { made; need mkfs.ext4; timed 30s; during timed.toml ./f --write ./f
  attach f; mkfs.ext4 -q -F "$device"; sync; victim f; run_ends 3; }
row H1 "a file that somebody attaches and formats while it is written" taken
read_beside() { made; timed 30s; during timed.toml ./f --write ./f; head -c 1 f >/dev/null; run_ends 3; grep -q "somebody else opened" err || fail "$(cat err)"; }
row H2 "somebody who reads the file ends a run that writes to it" read_beside
measured_beside() { made; timed 30s; during timed.toml ./f --write ./f; for more in "" "--write ./f"; do refused "$assay" run read.toml --quiet --out again --only ./f $more; says target-locked; done
  kill -INT $run; run_ends 130; }
row H7 "a second run on the file does not end the first" measured_beside
read_then_written() { made; need mkfs.ext4; timed 30s; during timed.toml ./f --write ./f; mkfs.ext4 -q -F f; sync; victim f; run_ends 3; e2fsck -fn f; }
row H4 "a file that mkfs reads first and then formats while it is written" read_then_written
copied_over() { made; noise data 4; timed 30s; during timed.toml ./f --write ./f; ! cmp -s data f; dd if=data of=f conv=notrunc,fsync bs=1M status=none
  cmp -n "$(stat -c %s f)" data f || fail "changed"; run_ends 3; }
row H5 "a file that somebody compares and then copies to while it is written" copied_over
read_and_kept() { made; need mkfs.ext4; timed 30s; during timed.toml ./f --write ./f; sleep 20 <f & undo "kill $!"; sleep 0.5; attach f; mkfs.ext4 -q -F "$device"; sync; victim f; run_ends 3; }
row H6 "the same through a loop device, while somebody reads it" read_and_kept
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
  (ulimit -v 900000; ends 0 timeout 60 "$assay" run read.toml --quiet --out out --only sim:ssd-m); }
row E4.3 "an hour of thought between requests" long_think
nothing() { mkdir d; ends 4 "$assay" run read.toml --quiet --out out --only ./d; }
row X6 "a run that can measure nothing does not end with 0" nothing
new_dir() { ends "2|3" "$assay" run read.toml --quiet --out out --only ./newdir/; [ ! -e newdir ]; }
row X7 "--only with a directory that is not there" new_dir
planned() { noise f 1; victim f; ends 0 "$assay" run write.toml --plan --only ./new --size 8MiB; says "\./new: up to 9"; [ ! -e new ] && [ ! -e out ]
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
# reader_gone CODE COMMAND …: its exit status is CODE, though nobody reads its output any more.
reader_gone() { local wanted=$1; shift
  mkfifo gone; exec 3<>gone; exec 4>gone; exec 3<&-; local status=0; "$@" >&4 2>err || status=$?; exec 4>&-
  [ "$status" = "$wanted" ] || fail "ended with $status: $(head -c 300 err)"; }
reader_gone_bad() { reader_gone 2 "$assay" run missing.toml --json; }
row E12.12 "a mistake, where the reader of the JSON has gone" reader_gone_bad
reader_gone_unmet() { printf 'expect = ["p99 < 1ns"]\n' >>read.toml; reader_gone 1 "$assay" run read.toml --quiet --out out --on "sim:$here/drive.toml"; }
row E12.13 "an expectation that is not met, where the reader of the table has gone" reader_gone_unmet
row E12.5 "linux run where the output is full" guests_out_full
small_tmpfs() { need_root; "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; short; mounted none "$short" -t tmpfs -o size=3m; }
guests_tmp_full() { small_tmpfs; ends 3 env TMPDIR="$short" "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out guest-out -- seq 1000000; says "has free space"; }
row E12.6 "linux run where the guest's output fills the directory for temporary files" guests_tmp_full
image_full() { small_tmpfs; ends 3 "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out guest-out --image "$short/i" -- \
    sh -c 'tr "\\0" Z </dev/zero | head -c 10000000 >/dev/vda; sync'; says linux-lost; }
row E12.7 "linux run where the image fills its file system" image_full
unsynced() { need strace; ends 3 strace -f -o /dev/null -e inject=fsync:error=EIO:when=1 "$assay" run read.toml --quiet --out o --only ./n --size 4MiB
  [ ! -e o ] && [ ! -e n ] || fail "left: $(ls)"; }
row E12.9 "a directory that cannot be synced when the run begins" unsynced
out_has_no_room() { need_root; mkdir tm; mounted none tm -t tmpfs -o size=4k; head -c 4096 /dev/zero >tm/fill
  ends 3 timeout 30 "$assay" run write.toml --quiet --only ./f --size 4MiB --out tm/out; says not-written; [ ! -e f ] || fail "f is left"; }
row E12.17 "no room for the run directory, when the target has been made: no wait for a lease of one's own" out_has_no_room
# A file system of 256 MiB, mounted as n, whose device is a file on one of 24 MiB.
larger_than_below() { need mkfs.ext4; image i 24; attach i; mkfs.ext4 -q "$device"; mounted "$device" m; truncate -s 256M m/x
  attach m/x; mkfs.ext4 -q "$device"; mounted "$device" n; }
full_below() { larger_than_below; truncate -s 64M n/y; attach n/y
  sed -i 's/4KiB/64KiB/; s/^range.*//; s/requests = 256/requests = 576/' write.toml
  ends 3 "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; says writes-lost; }
full_below_files() { larger_than_below; mkdir n/d; work write 'length = "48MiB"' 'size = "64KiB"' 'sync = "never"'
  ends 3 "$assay" run f.toml --quiet --out out --on n/d; says writes-lost; }
row E12.11 "files that are never synced, and for which the file system two layers below has no room" full_below_files
walk_emptied() { mkdir dd; undo "touch $PWD/stop"; work walk 'order = "directory"' 'files = 4000' 'directories = 40' 'length = "16KiB"'
  while [ ! -e stop ]; do find dd -type f -path '*tree*' -print0 2>/dev/null | xargs -0r truncate -c -s 0 2>/dev/null; done &
  ends 3 "$assay" run f.toml --quiet --out out --on ./dd; touch stop; says files-refused; }
row E12.14 "the files of a tree lose their data before they are read" walk_emptied
fuse_unasked() { need_root; need bindfs strace; mkdir real m; bindfs real m || skip "no FUSE"; undo "umount $PWD/m"; work write 'length = "1MiB"' 'size = "64KiB"' 'sync = "never"'
  ends 0 strace -f -y -e trace=fsync -o calls "$assay" run f.toml --quiet --out out --on m; grep -q "fsync([0-9]*<$PWD/m/" calls || fail "no file was synced"; }
row E12.15 "files on FUSE, which does not hear of syncfs, are synced one by one" fuse_unasked
row E12.10 "a page cache takes what the file system two layers below has no room for" full_below
# no_barriers KIND OPTION: a file system on such a one, mounted as o, which answers a flush by itself.
no_barriers() { larger_than_below; need "mkfs.$1"; truncate -s 200M n/x; attach n/x; "mkfs.$1" -q "$device"; mounted "$device" o -o "$2"; }
unflushed_device() { no_barriers "$@"; truncate -s 64M o/y; attach o/y
  sed -i 's/4KiB/64KiB/; s/^range.*//; s/requests = 256/requests = 576/' write.toml
  ends 3 "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; says writes-lost; }
row E12.18 "an ext4 without barriers keeps a flush from such a page cache" unflushed_device ext4 barrier=0
row E12.19 "and so does a btrfs" unflushed_device btrfs nobarrier
unflushed_unwritten() { no_barriers "$@"; ends 3 "$assay" run read.toml --quiet --out out --only o/f --size 40MiB; says target-create
  [ ! -e o/f ] && [ ! -e out ] || fail "left: $(ls o)"; }
row E12.22 "a new file on it that would only be read" unflushed_unwritten ext4 barrier=0
unflushed_files() { no_barriers "$@"; mkdir o/d; work write 'length = "48MiB"' 'size = "64KiB"' 'sync = "never"'
  ends 3 "$assay" run f.toml --quiet --out out --on o/d; says writes-lost; }
row E12.20 "files on it" unflushed_files ext4 barrier=0
unflushed_image() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; no_barriers "$@"
  ends 3 "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out guest-out --image o/i -- \
    sh -c 'tr "\\0" Z </dev/zero | head -c 40000000 >/dev/vda; sync'; says linux-image-lost; }
row E12.21 "a guest's image on it" unflushed_image ext4 barrier=0
# lost_below ARGUMENT …: assay, with results on such a file system when the lowest has no room left.
lost_below() { no_barriers ext4 barrier=0; mkdir o/d; sync; ! cat /dev/zero >m/rest 2>/dev/null || fail "there is room"; sync -f m
  sed 's/requests = 256/requests = 200000/; s/sequential/random/; s/^range.*//' read.toml >many.toml; ends 3 "$assay" "$@"; says results-lost; }
row E12.23 "the results of a run on it" lost_below run many.toml --json --out o/out --only sim:ssd-m
row E12.24 "a drawing on it" lost_below explain --timeline sim:ssd-m --requests 2000 --out o/d/p.svg
unmounted() { need_root; need mkfs.ext4; image i 32; mkfs.ext4 -q -F i; attach i; mounted "$device" m
  for _ in 1 2 3; do "$assay" run read.toml --quiet --out "out-$RANDOM" --only m/f --size 4MiB >/dev/null 2>&1 ||
    "$assay" run read.toml --quiet --out "out-$RANDOM" --only m/f >/dev/null
  umount m || fail "still in use"; mount "$device" m; done; }
row E12.8 "what a target lies on can be unmounted as soon as assay has ended" unmounted
holed() { need fallocate; noise f 8; cp f g; fallocate -p -o 0 -l 4096 g 2>/dev/null || skip "no holes here"; sed "s/^measure.*/measure = { time = \"6s\" }/" read.toml >timed.toml; during timed.toml ./f
  fallocate -p -o 0 -l 8M f; run_ends 3; grep -q file-has-holes err || fail "$(cat err)"; }
row E11.3 "a file whose blocks are freed while it is read" holed
hole_of_ours() { need fallocate; made; fallocate -p -o 0 -l 1M f 2>/dev/null || skip "no holes here"; ends 3 "$assay" run write.toml --quiet --out out --only ./f --write ./f; says file-has-holes; }
row E11.4 "a file of assay's with a hole is written to" hole_of_ours

# Tools that do not end, or say too much.
# sleeper: waits until $run has started a tool, which sleeps and is $child. slept TOOL: that one has ended; other rows have theirs.
sleeper() { for _ in $(seq 200); do child=$(pgrep -P $run -x sleep) && break; sleep 0.05; done; [ -n "$child" ] || fail "no tool runs: $(cat err)"; undo "kill -9 $child"; }
slept() { case $(ps -o stat= -p "$child") in ""|Z*) ;; *) fail "$1 is left" ;; esac; }
false_blkid() { zeros; mkdir bin; printf '#!/bin/sh\n%s\n' "$1" >bin/blkid; chmod +x bin/blkid; victim i; }
stuck_tool() { false_blkid 'exec sleep 7777'; PATH=$PWD/bin:$PATH "$assay" run write.toml --quiet --out out --only "$device" --write "$device" >json 2>err & run=$!
  sleeper; kill -INT $run; run_over 5 || fail "it goes on"; run_ends 130; slept "blkid"; }
row E13.1 "Ctrl-C while blkid does not answer" stuck_tool
# A virus scanner that does not answer: the kernel lets the open wait for it.
scanner='libc = ctypes.CDLL(None)
group = libc.fanotify_init(4, 0)
if group < 0 or libc.fanotify_mark(group, 1, ctypes.c_uint64(0x10000), -100, sys.argv[1].encode()) < 0: sys.exit("no fanotify")'
scanned() { need_root; noise i 8; other "$scanner" "$PWD/i"; "$assay" run read.toml --quiet --out out --only ./i 2>err & run=$!
  undo "kill -9 $run"; sleep 2; kill -0 $run || fail "it has ended: $(cat err)"; kill -s "$1" $run; sleep 1.2; kill -s "$1" $run; run_over 5 || fail "it goes on"; run_ends "$2"; }
row E13.9 "two SIGINT while a virus scanner does not answer" scanned INT 130
row E13.9 "two SIGTERM while a virus scanner does not answer" scanned TERM 143
# full_pipe STREAM OPTION …: Ctrl-C on a run whose stdout (1) or stderr (2) nobody reads.
full_pipe() { need python3; local stream=$1; shift; python3 - "$stream" "$assay" run "$@" <<'CODE' || fail "it goes on, or ends in another way"
import os, signal, subprocess, sys, time
reader, writer = os.pipe()
os.set_blocking(writer, False)
try:
    while True: os.write(writer, b"x" * 4096)
except BlockingIOError:
    os.set_blocking(writer, True)
streams = {1: subprocess.DEVNULL, 2: subprocess.DEVNULL, int(sys.argv[1]): writer}
run = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=streams[1], stderr=streams[2])
time.sleep(4)
if run.poll() is not None: sys.exit(f"it has ended: {run.returncode}")
run.send_signal(signal.SIGINT)
try: code = run.wait(3)
except subprocess.TimeoutExpired: run.kill(); sys.exit("it goes on")
sys.exit(code != 130 and f"exit status {code}")
CODE
}
full_stdout() { noise i 8; full_pipe 1 read.toml --out out --only ./i; }
row E13.10 "Ctrl-C while nobody reads the standard output" full_stdout
full_stderr() { full_pipe 2 write.toml --out out --only ./new --size 8MiB; }
row E13.11 "Ctrl-C while nobody reads the messages" full_stderr
endless_tool() { false_blkid 'exec cat /dev/zero'; ends 3 env PATH="$PWD/bin:$PATH" "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; says "could not look at"; }
row E13.2 "a blkid that says too much" endless_tool

# stuck_git CODE SIGNAL EXIT: a workload of checkouts with a git that runs CODE, which becomes a sleep; SIGNAL ends both.
stuck_git() { work git 'tags = 3' 'changes = 2' 'files = 900' 'directories = 2' 'length = "4KiB"'; mkdir bin; printf '#!/bin/sh\n%s\n' "$1" >bin/git; chmod +x bin/git
  PATH=$PWD/bin:$PATH "$assay" run f.toml --quiet --out out --on ./d >json 2>err & run=$!; undo "kill -9 $run"
  sleeper; kill "-$2" $run; run_over 5 || fail "it goes on"; run_ends "$3"; sleep 0.2; slept "git"; }
for signal in INT TERM; do row E13.3 "SIG$signal while git does not answer" stuck_git 'exec sleep 7777' $signal 130; done
row E13.4 "assay is killed while git does not answer" stuck_git 'exec sleep 7777' KILL 137
stuck_import() { need git; stuck_git "case \"\$*\" in *fast-import*) exec sleep 7777 ;; esac; exec $(command -v git) \"\$@\"" "$@"; }
row E13.5 "Ctrl-C while git does not read the history" stuck_import INT 130
row E13.6 "assay is killed while git does not read the history" stuck_import KILL 137

shut() { code=0; chmod 777 .; need setpriv; [ "$(id -u)" = 0 ] && as="setpriv --reuid=65533 --regid=65533 --clear-groups" || as=
  $as test -x "$assay" -a -w . || skip "the program is shut to others"
  (umask "$1"; ends 3 $as "$assay" run read.toml --quiet --out out --only sim:ssd-m); [ ! -e out ] || fail "out is left"; }
for mask in 0777 0111 0444; do row E14.1 "a directory that its maker may not open, by the umask $mask" shut $mask; done
append_only() { need chattr; work write 'length = "1MiB"' 'size = "64KiB"'; chattr +a d 2>/dev/null || skip "no chattr"; undo "chattr -a $PWD/d"
  ends 3 "$assay" run f.toml --quiet --out out --on ./d; says append-only; [ -z "$(ls -A d)" ] || fail "left: $(ls -A d)"; }
row E14.2 "a workload of files in a directory that can only grow" append_only
append_only_out() { need chattr; mkdir out; chattr +a out 2>/dev/null || skip "no chattr"; undo "chattr -a $PWD/out"
  ends 3 "$assay" run read.toml --quiet --out out --only "sim:$here/drive.toml"; says append-only; [ -z "$(ls -A out)" ] || fail "left: $(ls -A out)"; }
row E14.3 "a run directory that can only grow" append_only_out
long_out() { ends 3 "$assay" run read.toml --quiet --out "$(printf 'a/%.0s' $(seq 2100))x" --only "sim:$here/drive.toml"; [ ! -e a ] || fail "left"; }
row E14.4 "a run directory whose path is too long" long_out

twice_named() { ends 3 "$assay" run read.toml --quiet --out z --only ./z --size 1MiB; says "run directory has this name"; [ ! -e z ] || fail "left"; }
row E15.1 "a target and --out of one name" twice_named
target_inside() { mkdir o; ends 2 "$assay" run read.toml --quiet --out o --only o/report.html --size 2MiB; says in-run-directory; [ -z "$(ls -A o)" ] || fail "left: $(ls -A o)"; }
row E15.10 "a new target in the run directory" target_inside
no_proc() { need_root; need unshare; ends 3 unshare -m sh -c "mount -t tmpfs none /proc; exec $assay run read.toml --quiet --out out --only ./f --size 1MiB"; says no-proc; }
row E15.2 "without /proc" no_proc
no_tmpdir() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  ends 3 env TMPDIR=/nonexistent "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out -- true; says TMPDIR; [ ! -e out ] || fail "left"; }
row E15.3 "linux run where TMPDIR is not there" no_tmpdir
half_trace() { printf '8,0 1 1 0.0 1 Q R 0 + 8 [x]\n' >t; ends 2 "$assay" trace import t --quiet --out out; says trace-no-requests; [ ! -e out ] || fail "left"; }
row E15.4 "a trace without one whole request" half_trace
plan_taken() { "$assay" run read.toml --quiet --out out --only sim:ssd-m >/dev/null; ends 2 "$assay" run read.toml --plan --out out --only sim:ssd-m; says run-exists; }
row P3 "--plan with an --out that holds a run" plan_taken
no_jobs() { ends 2 env ASSAY_CACHE="$PWD/c" "$assay" linux build --jobs 0; [ ! -e c ]; }
row E15.5 "linux build --jobs 0" no_jobs
none_done() { sed -i 's/requests = 256/time = "1ms"/' read.toml; ends 4 "$assay" run read.toml --quiet --out out --only sim:wd1600js; says "no request was completed"; }
row E5.4 "a cell in which no request was completed" none_done
many_cells() { printf 'size = [%s]\n' "$(for i in $(seq 400); do printf '"%dB",' $((i * 512)); done)" >sizes; sed 's/^size = "4KiB"$//; s/^name = "w"/name = "{size}-{range}"/; s/^range.*/RANGE/' read.toml >many.toml
  printf 'range = [%s]\n' "$(for i in $(seq 400); do printf '"%dMiB",' $i; done)" >>sizes; sed -i -e '/RANGE/{r sizes' -e 'd}' many.toml
  ends 2 timeout 60 "$assay" run many.toml --quiet --out out --only sim:ssd-m; says "at most"; }
row E4.4 "a run of 160,000 cells" many_cells
small_group() { need_root; local group=/sys/fs/cgroup/memory/assay-$$ file=memory.limit_in_bytes; [ -d /sys/fs/cgroup/memory ] || { group=/sys/fs/cgroup/assay-$$; file=memory.max; }
  mkdir $group 2>/dev/null && echo 120M >$group/$file 2>/dev/null || skip "no control groups"; undo "rmdir $group"
  ends 3 sh -c "echo \$\$ >$group/cgroup.procs; exec $assay run read.toml --quiet --out out --only 'raid0(sim:samsung-pm983*2)'"; says memory; }
row E4.5 "a control group with too little memory" small_group
ram_file() { mounted none t -t tmpfs; ends 0 "$assay" run read.toml --out out --only t/f --size 4MiB; says "in memory"; }
row X18 "a file in memory is told from one on a drive" ram_file
indirect() { need "mkfs.$1"; image j 300; attach j; "mkfs.$1" -q "$device" >/dev/null; mounted "$device" m -o "$2"; yes hello | head -c 8M >m/f; sync
  refused "$assay" run read.toml --quiet --out out --only m/f; says no-direct-io
  [ "$1" = btrfs ] || { refused "$assay" run read.toml --quiet --out out --only m/new --size 4MiB; says no-direct-io; [ ! -e m/new ] || fail "left"; }; }
row X19.1 "a file system that takes O_DIRECT and ignores it: ext4 with data=journal" indirect ext4 data=journal
row X19.2 "the same: btrfs, compressed" indirect btrfs compress-force=zstd
endless_trace() { yes '8,0 0 1 0.000000001 1 Q R 8 + 8 [x]' | head -1500000 >t; ends 2 "$assay" trace import t --quiet --out out; says trace-too-many-open; [ ! -e out ] || fail "left"; }
row E15.6 "a trace whose requests do not end" endless_trace
regular() { sed 's/requests = 256/requests = 4000000/; s/range = "1MiB"/range = "4KiB"/; s/sequential/random/' read.toml >many.toml
  "$assay" run many.toml --quiet --out out --only sim:ssd-m >/dev/null; ends 0 "$assay" trace show out/log/*.parquet; }
row E15.7 "a log of very regular requests is read" regular
foreign_kernel() { # foreign_kernel MAKE: a kernel that someone else may change is not run by root
  need_root; mkdir -p c/linux; printf '#!/bin/sh\ntouch %s/ran\n' "$PWD" >c/linux/linux; cp c/linux/linux c/linux/init; chmod 755 c/linux/*; echo x >c/linux/identity
  eval "$1"; ends 3 env ASSAY_CACHE="$PWD/c" "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out -- true
  says linux-not-built; [ ! -e ran ] && [ ! -e out ] || fail "it was run: $(ls)"; }
row E16.1 "a kernel that everyone may write to" foreign_kernel 'chmod o+w c/linux/linux'
row E16.2 "a kernel of another user" foreign_kernel 'chown 65533 c/linux/linux'
row E16.3 "a first program of another user" foreign_kernel 'chown 65533 c/linux/init'
row E16.4 "a kernel in a directory that everyone may write to" foreign_kernel 'chmod o+w c/linux'
row E16.5 "a kernel below a directory of another user" foreign_kernel 'chown 65533 c'
row E16.6 "a kernel whose identity belongs to another user" foreign_kernel 'chown 65533 c/linux/identity'
row E16.7 "a kernel with a FIFO as its identity" foreign_kernel 'rm c/linux/identity; mkfifo c/linux/identity'
small_for_guest() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; code=0; (ulimit "$1" "$2"; exec "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out -- true) >.out 2>.err || code=$?
  [ $code = 3 ] && says too-much-memory && [ ! -e out ] || fail "exit status $code: $(cat .err; ls)"; }
row E4.6 "a guest for a user who may have less memory" small_for_guest -v 1000000
row E4.7 "a guest for a user whose programs may have less data" small_for_guest -d 1000000
small_data() { code=0; (ulimit -d 30000; exec "$assay" run read.toml --quiet --out out --only "sim:$here/drive.toml") >.out 2>.err || code=$?
  [ $code = 3 ] && says too-much-memory && [ ! -e out ] || fail "exit status $code: $(cat .err; ls)"; }
row E4.8 "a run for a user whose programs may have little data" small_data
small_space() { "$assay" run read.toml --quiet --out one --only ./f --size 16MiB; sed -i 's/^format = 1/&\nlog = true/' write.toml
  code=0; (ulimit -v "$1"; exec "$assay" run write.toml --quiet --out out --only ./f --write ./f) >.out 2>.err || code=$?
  case $code in 0) ;; 3) says too-much-memory && [ ! -e out ] ;; *) fail "exit status $code: $(head -c 500 .err)" ;; esac; }
row E4.9 "a run for a user whose programs may have 200 MB of addresses" small_space 200000
row E4.10 "a run for a user whose programs may have 300 MB of addresses" small_space 300000
late_event() { need python3; python3 - >t <<'P'
import struct, sys
def rec(n, t, a): return struct.pack('<IIQQIIIIIHH', 0x65617407, n, t, 0, 512, a | 1 << 16, 1, 8 << 20, 0, 0, 0)
T = 2**64 - 10
sys.stdout.buffer.write(b''.join(rec(n, t, a) for n, (t, a) in enumerate([(0, 1), (1, 7), (2, 8), (T, 1), (T + 1, 7), (T + 2, 8)])))
P
  ends 2 "$assay" trace import t --quiet --out out; says trace-malformed; [ ! -e out ] || fail "left"; }
row E15.8 "a trace that lasts for centuries" late_event
few_files() { image f 8; code=0; (ulimit -n "$1"; exec "$assay" run read.toml --quiet --out out --only "$2") >.out 2>.err || code=$?
  [ $code = 3 ] && says "ulimit -n" || fail "exit status $code: $(cat .err; ls)"; }
row E15.9 "too few open files for a run" few_files 5 "sim:$here/drive.toml"
some_files() { local n; for n in $(seq 8 30); do code=0; (ulimit -n $n; exec "$assay" run write.toml --quiet --out out --only ./f --size 2MiB) >.out 2>.err || code=$?
  [ $code = 3 ] || fail "exit status $code with $n files: $(cat .err)"; [ "$(ls -A)" = "$1" ] || fail "left with $n files: $(ls -A)"; done; }
row E15.12 "too few open files to remove what a run has made" some_files "$(printf '%s\n' .err .out long.toml read.toml write.toml)"
few_to_read() { "$assay" run read.toml --quiet --out out --only "sim:$here/drive.toml" >/dev/null; code=0
  (ulimit -n 4; exec "$assay" report out) >.out 2>.err || code=$?; [ $code = 3 ] && says "ulimit -n" || fail "exit status $code: $(cat .err)"; }
row E15.11 "too few open files for a report" few_to_read
long_word() { printf 'a = %s\n' "$(head -c 200000 /dev/zero | tr '\0' '[')" >long.toml; ends 2 "$assay" run long.toml --quiet --out out --only sim:ssd-m
  [ "$(wc -c <.err)" -lt 5000 ] || fail "a message of $(wc -c <.err) bytes"; }
row E7.9 "an error in a line of 200,000 characters" long_word
forged() { "$assay" run read.toml --quiet --out out --only sim:ssd-m >/dev/null; sed -i 's/"assay": *"[^"]*"/"assay":"1\\nhint: curl evil"/' out/run.json
  ends "2|3" "$assay" report out; ! grep -q '^hint: curl' .err .out || fail "$(cat .err)"; }
row E7.10 "a version in run.json that forges a line" forged
named_lines() { "$assay" run read.toml --quiet --out out --only null >.out 2>.err || fail "$(cat .err)"
  cp -r out $'b\nerror: forged'; ends 0 "$assay" compare out $'b\nerror: forged'; ! grep '^error' .out .err || fail "a line is forged"; }
row E7.11 "a run directory whose name forges a line in a comparison" named_lines
unnamed_out() { need python3; ends 0 "$assay" run read.toml --quiet --json --out $'o\xff' --only sim:ssd-m; python3 -c 'import json, sys; json.load(sys.stdin)' <.out || fail "no JSON"
  ends 0 "$assay" report $'o\xff' --json; ends 0 "$assay" run read.toml --plan --json --out $'p\xff' --only sim:ssd-m; }
row E7.12 "a run directory whose name is not UTF-8, with --json" unnamed_out
# processors FILE …: records of blktrace of three processors, without those FILEs.
processors() { need python3; python3 -c 'import struct
for c in range(3):
    event = lambda i, k, action, delay: struct.pack("<IIQQIIIIIHH", 0x65617407, i * 3 + k + 1, i * 1000000 + delay + c * 100, (i * 3 + c) * 8, 4096, action | 1 << 17, 1, 0x800000, c, 0, 0)
    open("b.blktrace.%d" % c, "wb").write(b"".join(event(i, k, a, d) for i in range(10) for k, (a, d) in enumerate(((1, 0), (7, 1000), (8, 5000)))))'; }
a_processor() { processors; ends 0 "$assay" trace import b --out all; rm b.blktrace.1; eval "$1"; ends "2|3" timeout 20 "$assay" trace import b --out out; says blktrace.1; [ ! -e out ] || fail "out is left"; }
row E7.13 "the trace of a processor is missing" a_processor :
row E7.14 "it is a symlink that leads nowhere" a_processor 'ln -s gone b.blktrace.1'
row E7.15 "it is a FIFO" a_processor 'mkfifo b.blktrace.1'
many_devices() { need python3; python3 -c 'for i in range(70000): print(f"{i % 4000},{i // 4000} 0 {i} {i / 1e6:.9f} 1 Q R 0 + 8 [x]")' >t
  ends 2 "$assay" trace import t --out out; says "more than 65536 devices"; [ ! -e out ] || fail "out is left"; }
row E7.16 "a trace of 70,000 devices" many_devices
stalled_input() { mkfifo in; sleep 60 >in & undo "kill $!"; "$assay" trace import - --out out <in >json 2>err & run=$!; undo "kill -9 $run"
  sleep 1; kill -INT $run; run_over 5 || fail "it goes on"; run_ends 130; [ ! -e out ] || fail "out is left"; }
row E13.20 "Ctrl-C while the trace on the standard input has not come" stalled_input
small_stack() { ends 0 env RUST_MIN_STACK=1 "$assay" run read.toml --quiet --out out --only sim:ssd-m; }
row E13.21 "an environment that gives threads no stack" small_stack
unread_shell() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  ends 3 sh -c 'exec "$@" </' sh "$assay" linux run --drive "sim:$here/drive.toml" --shell --quiet --out out; says "cannot be read"; }
row E13.22 "a shell in a guest whose input cannot be read" unread_shell
