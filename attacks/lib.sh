# The building blocks of rows. A row is a function that runs in a subshell, in an empty directory; what it
# made is undone afterwards. It fails if a command fails that should not, or if a victim has changed.

MIB=1048576

# row ID WORDS FUNCTION [ARGUMENT …]: begins one row, when fewer than $jobs of them run.
row() {
  local id=$1 words=$2 group
  shift 2
  number=$((number + 1))
  case "$id $words" in *$only*) ;; *) return 0 ;; esac
  # Leaves out groups, by the beginnings of their names.
  for group in ${ATTACKS_WITHOUT-}; do [[ $id == $group* ]] && return 0; done
  if [ -n "$list" ]; then echo "$id  $words"; return 0; fi
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  one_row "$id" "$words" "$@" &
}

one_row() {
  local id=$1 words=$2 code said dir=$base/$number begun=$SECONDS
  shift 2
  mkdir "$dir"
  said=$( (cd "$dir" && in_row "$@") 2>&1)
  code=$?
  case $code in
    0) echo "passed $((SECONDS - begun)) $id" >>"$base/results"; echo "ok $number $id: $words" ;;
    77) echo "skipped $((SECONDS - begun)) $id" >>"$base/results"; echo "ok $number $id: $words # skip ${said##*skip: }" ;;
    *) echo "failed $((SECONDS - begun)) $id" >>"$base/results"; printf '%s\n' "not ok $number $id: $words" "$(printf '%s\n' "$said" | sed 's/^/  | /')" ;;
  esac
  [ -n "$keep" ] || rm -rf --one-file-system "$dir"
}

in_row() {
  set -e
  undo_list=()
  trap undo_all EXIT
  experiments
  "$@"
  unchanged
}

undo() { undo_list=("$*" "${undo_list[@]}"); }
undo_all() {
  local code=$? step
  set +e
  for step in "${undo_list[@]}"; do eval "$step" >/dev/null 2>&1; done
  exit $code
}

# by_itself row …: begins the row when no other runs, and waits for its end.
by_itself() { wait; "$@"; wait; }

# alone NAME: waits until no other row that runs now has said so, too.
alone() { exec 9>"$base/$1.lock"; flock 9; }

# zfs_fuse: starts the daemon of zfs-fuse, or uses the one that runs.
zfs_fuse() {
  need zpool zfs-fuse
  alone zfs
  pgrep -x zfs-fuse >/dev/null || { need_root; zfs-fuse; undo "pkill -x zfs-fuse; while pgrep -x zfs-fuse; do sleep 0.05; done"; }
  for _ in $(seq 50); do zpool list >/dev/null 2>&1 && return 0; sleep 0.1; done
  skip "no ZFS"
}

skip() { echo "skip: $*"; exit 77; }
fail() { echo "failed: $*"; exit 1; }
need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
need() { local tool; for tool in "$@"; do command -v "$tool" >/dev/null || skip "no $tool"; done; }

# Two short experiments: one writes all over the start of a target, one only reads.
experiments() {
  local head='format = 1\nquestion = "?"\ntargets = []\n[[workload]]\nname = "w"\nsize = "4KiB"\n'
  local tail='pattern = "sequential"\nrange = "1MiB"\nmeasure = { requests = 256 }\n'
  printf 'name = "write"\n'"$head"'read_share = 0.0\n'"$tail" >write.toml
  printf 'name = "read"\n'"$head"'read_share = 1.0\n'"$tail" >read.toml
  # A longer one, to be interrupted: it writes for a while.
  printf 'name = "long"\n'"$head"'read_share = 0.0\npattern = "random"\n' >long.toml
  printf 'measure = { time = "20s" }\n[[workload]]\nname = "v"\nsize = "4KiB"\nread_share = 0.0\n' >>long.toml
  printf 'pattern = "random"\nmeasure = { time = "20s" }\n' >>long.toml
}

# image NAME MIB: an image full of zeros. noise NAME MIB: one full of somebody's data.
image() { truncate -s "$(($2 * MIB))" "$1"; }
noise() { head -c "$(($2 * MIB))" /dev/urandom >"$1"; }

# attach FILE [OPTION …]: attaches a loop device to FILE and sets $device to it.
attach() {
  need_root
  need losetup
  # In another pid namespace, devices are not written to: nobody could say who else uses them.
  [ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ] || [ ! -e /proc/self/ns/pid ] || skip "a pid namespace"
  local file=$1
  shift
  device=$(losetup --find --show "$@" "$file") || skip "no loop device"
  undo "detached $device"
}

# detached DEVICE: detaches it and waits until it is gone: a request that a killed run left behind still holds it.
detached() {
  losetup -d "$1"
  for _ in $(seq 100); do [ -e "/sys/block/${1#/dev/}/loop/backing_file" ] || return 0; sleep 0.05; done
}

# zeros: an empty device, which is $device, on the image i.
zeros() { image i 8; attach i; }

# short: makes a directory, which is $short: a socket in it has a path that is short enough.
short() { short=$(mktemp -d /tmp/a.XXXXXX); undo "rmdir $short"; }

mounted() { # mounted DEVICE POINT [OPTION …]
  local what=$1 point=$2
  shift 2
  mkdir -p "$point"
  mount "$@" "$what" "$point" || skip "cannot mount"
  undo "umount -l $(realpath "$point")"
}

# at_rest POINT: ends the writes to what is mounted on POINT: a file system writes to its device by itself, too.
at_rest() { mount -o remount,ro "$1"; }

# victim FILE …: these files must have the same bytes at the end, under the same names.
victim() {
  local file
  for file in "$@"; do
    printf '%s %s %s\n' "$(stat -c '%i %F' "$file" | tr ' ' _)" "$(digest "$file")" "$file" >>"$PWD/.victims"
  done
}
digest() {
  if [ -L "$1" ]; then readlink "$1" | sha256sum | cut -c1-32
  elif [ -f "$1" ] || [ -b "$1" ]; then sha256sum <"$1" | cut -c1-32
  elif [ -d "$1" ]; then find "$1" -mindepth 1 | LC_ALL=C sort | sha256sum | cut -c1-32
  else echo special; fi
}
unchanged() {
  local kind sum file
  [ -e .victims ] || return 0
  while read -r kind sum file; do
    [ "$(stat -c '%i %F' "$file" 2>/dev/null | tr ' ' _)" = "$kind" ] || fail "$file was replaced or is gone"
    [ "$(digest "$file")" = "$sum" ] || fail "$file was changed"
  done <.victims
}

# ends CODES COMMAND …: runs it; its exit status must be one of CODES, `2|3`.
ends() {
  local codes=$1 code
  shift
  code=0
  timeout -k 10 100 "$@" >.out 2>.err </dev/null || code=$?
  [[ "|$codes|" == *"|$code|"* ]] || fail "exit status $code, not $codes: $*
$(tail -n 5 .out .err)"
}
says() { grep -q -- "$1" .err .out || fail "nothing about \`$1\`: $(cat .err)"; }
refused() { ends 3 "$@"; }
writes() { refused "$assay" run write.toml --quiet --out out --only "$1" --write "$@"
  ! grep -q destroy-mismatch .err || fail "refused for its name alone: $(cat .err)"; }
# word DEVICE: what --destroy must name, as the refusal without it says.
word() { "$assay" run write.toml --quiet --out out --only "$1" --write "$1" 2>&1 >/dev/null | sed -n 's/.*--destroy \([^ ]*\).*/\1/p' | grep -m 1 .; }

# other CODE ARGUMENT …: starts somebody else's process, which runs CODE and stays until the row is over.
other() {
  need python3
  local code=$1
  shift
  cat >other.py <<CODE
import array, ctypes, mmap, os, socket, sys, threading, time
def ready(): open("ready", "w").close(); time.sleep(90)
$code
ready()
CODE
  python3 other.py "$@" >/dev/null 2>other.err & others=$!; undo "kill -9 $others"
  for _ in $(seq 100); do [ -e ready ] && return 0; sleep 0.05; done
  skip "no such process: $(tail -n 1 other.err)"
}

# held FILE [read]: a process of somebody else has FILE open, for reading and writing or only for reading.
held() {
  if [ "${2-}" = read ]; then sleep 60 4<"$1" & else sleep 60 4<>"$1" & fi >/dev/null 2>&1
  local holder=$!
  undo "kill $holder"
  for _ in $(seq 200); do [ -e "/proc/$holder/fd/4" ] && return 0; sleep 0.05; done
  skip "no process holds $1"
}

# A run that goes on while somebody else does something. It lasts longer than any machine needs for that.
timed() { sed "s/^measure.*/measure = { time = \"$1\" }/" write.toml >timed.toml; }
# during FILE TARGET [OPTION …]: begins a run on TARGET; $run is its process.
during() {
  local file=$1 target=$2
  shift 2
  "$assay" run "$file" --quiet --out out --only "$target" "$@" >json 2>err & run=$!
  undo "kill -9 $run"
  for _ in $(seq 200); do [ -e out/run.json ] && { sleep 0.5; return 0; }; sleep 0.05; done
  fail "the run does not begin: $(cat err)"
}
# run_over SECONDS: whether the run ends by itself within that time. Where it ends in 2 s on a quiet machine, give 30:
# beside other rows it has little of the processor.
run_over() {
  for _ in $(seq $(($1 * 10))); do
    kill -0 "$run" 2>/dev/null && [ "$(ps -o stat= -p "$run" | cut -c1)" != Z ] || return 0
    sleep 0.1
  done
  return 1
}
# run_ends CODES: how the run ends, sooner or later.
run_ends() { local code=0; wait "$run" || code=$?; [[ "|$1|" == *"|$code|"* ]] || fail "exit status $code, not $1: $(tail -n 5 err)"; }
# stopped: the run ends by itself because of somebody else, long before its time.
stopped() {
  run_over 20 || { kill -INT "$run"; fail "the run goes on"; }
  run_ends 3
  grep -q target-taken err || fail "$(cat err)"
}
