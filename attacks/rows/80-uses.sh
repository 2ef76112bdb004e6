# Uses that are hard to see: the same bytes reached without a descriptor that /proc lists, from behind a
# namespace, below an overlay, or only after the run has begun.

ours() { "$assay" run read.toml --quiet --out "made-${1##*/}" --only "$1" --size 4MiB; }

# U1-U3: storage under the target is held while the run goes on.
lower_mounted() { image i 16; ext4 i; attach i; lower=$device; attach "$lower" --offset 8388608; timed 30s
  during timed.toml "$device" --write "$device" --destroy "$(word "$device")"; mkdir m
  mount "$lower" m 2>/dev/null && { undo "umount -l $PWD/m"; stopped; }; kill -INT $run; wait $run || true; }
row U1 "the device under a loop device cannot be mounted while that is measured" lower_mounted
lower_formatted() { zeros; lower=$device; attach "$lower"; timed 30s; during timed.toml "$device" --write "$device"
  need mkfs.ext4; ! mkfs.ext4 -q -F "$lower" 2>/dev/null || fail "mkfs could have it"; kill -INT $run; wait $run || true; }
row U2 "nor formatted" lower_formatted
mounted_image() { zeros; timed 30s; during timed.toml "$device" --write "$device"; attach i
  stopped; need mkfs.ext4; mkfs.ext4 -q -F "$device"; mounted "$device" m; echo mine >m/mine; at_rest m; victim i; sleep 1; }
row U3 "the file behind the target is attached, formatted and mounted while it is measured" mounted_image

# L1: uses that begin while the run goes on.
attached() { zeros; timed 30s; during timed.toml "$device" --write "$device"; attach "$device"
  stopped; noise n 1; dd if=n of="$device" status=none; sync; victim i; sleep 1; }
row L1.1 "a loop device is attached to the target while it is measured" attached
attached_file() { zeros; timed 30s; during timed.toml "$device" --write "$device"; attach i --offset 1048576
  stopped; noise n 1; dd if=n of="$device" status=none; sync; victim i; sleep 1; }
row L1.2 "a loop device is attached to a part of the file behind the target" attached_file
opened() { zeros; timed 30s; during timed.toml "$device" --write "$device"
  other 'f = os.open(sys.argv[1], os.O_RDWR)' "$device"; stopped; }
row L1.3 "a program opens the target for writing while it is measured" opened
beside_during() { image i 16; attach i --sizelimit 4194304; timed 3s; during timed.toml "$device" --write "$device"
  attach i --offset 8388608; image j 8; attach j; run_ends 0; }
row L1.4 "a loop device on another part of the file lets the run go on" beside_during
# What is written in a moment, while assay does not write, is seen by no look at descriptors.
read_first() { { sed 's/^name = "read"/name = "first"/; s/^name = "w"/name = "r"/; s/^measure.*/measure = { time = "4s" }/' read.toml
  sed -n '/^\[\[workload/,$p' write.toml; } >first.toml; }
written_between() { read_first; zeros; noise n 1; during first.toml "$device" --write "$device"
  dd if=n of="$device" bs=1M oflag=direct conv=fsync status=none; victim i; stopped; }
row L1.5 "a program writes to the target and goes, while a cell reads" written_between
used_between() { read_first; zeros; during first.toml "$device" --write "$device"; held "$(eval echo "$1")"; victim i; stopped; }
row L1.32 "a program opens the target while a cell reads, before one that writes" used_between '$device'
row L1.33 "a program opens the file behind it" used_between i
not_between() { read_first; zeros; during first.toml "$device" --write "$device"; run_ends 0; }
row L1.6 "reading first and writing then, with nobody else" not_between
# The same bytes, by another way than the target.
by_disk() { read_first; partitioned; noise n 1; local part=${device}p1; during first.toml "$part" --write "$part"
  dd if=n of="$device" bs=1M seek=2 "$@" status=none; stopped; cmp -n "$MIB" n "$device" 0 2097152 || fail "what was written is lost"; }
row L1.9 "a program writes to the disk of the target and goes" by_disk oflag=direct
row L1.15 "and leaves it in the page cache" by_disk
by_part() { read_first; partitioned; noise n 1; during first.toml "$device" --write "$device" --destroy "$(word "$device")"
  held "${device}p1" read; dd if=n of="${device}p1" bs=1M status=none; stopped; cmp -n "$MIB" n "${device}p1" || fail "what was written is lost"; }
row L1.17 "a program writes to a partition of the target, which another has open, and leaves it in the page cache" by_part
by_own_cache() { read_first; zeros; noise n 1; during first.toml "$device" --write "$device"
  dd if=n of="$device" bs=1M status=none; stopped; cmp -n "$MIB" n "$device" || fail "what was written is lost"; }
row L1.16 "a program writes to the target, leaves it in the page cache and goes, while a cell reads" by_own_cache
idle_first() { { cat write.toml; printf '[[workload.precondition]]\nidle = "4s"\n'; } >idle.toml; }
while_idle() { idle_first; zeros; noise n 1; during idle.toml "$device" --write "$device"
  dd if=n of="$device" bs=1M oflag=direct conv=fsync status=none; victim i; stopped; }
row L1.18 "a program writes to the target and goes, before the first write of a cell that begins with a pause" while_idle
by_neighbour() { read_first; partitioned; noise n 1; local part=${device}p1; during first.toml "$part" --write "$part"
  dd if=n of="${device}p2" bs=1M oflag=direct conv=fsync status=none; run_ends 0; }
row L1.10 "a program that writes to another partition lets the run go on" by_neighbour
by_file() { read_first; zeros; noise n 1; during first.toml "$device" --write "$device"
  dd if=n of=i bs=1M conv=notrunc status=none; victim i; stopped; }
row L1.11 "a program writes to the file behind the target and goes" by_file
by_lower() { read_first; zeros; local lower=$device; attach "$lower"; noise n 1; during first.toml "$device" --write "$device"
  dd if=n of="$lower" bs=1M "$@" status=none; stopped; cmp -n "$MIB" n "$lower" || fail "what was written is lost"; }
row L1.12 "a program writes to the device behind the target and goes" by_lower oflag=direct
row L1.13 "and leaves it in the page cache of that device" by_lower
by_nobody() { { cat write.toml; sed -n '/^\[\[workload/,$p' read.toml |
  sed 's/^name = "w"/name = "r"/; s/^measure.*/measure = { time = "1s" }/'; } >both.toml
  zeros; attach "$device"; during both.toml "$device" --write "$device"; run_ends 0; }
row L1.14 "writing first and reading then, on a device on a device, with nobody else" by_nobody
beside_written() { read_first; image i 16; attach i --offset 8388608; local beside=$device; attach i --sizelimit 4194304
  during first.toml "$device" --write "$device"; noise n 1; dd if=n of="$beside" bs=1M oflag=direct conv=fsync status=none; run_ends 0
  cmp -n "$MIB" n "$beside" || fail "what was written is lost"; }
row L1.19 "a program writes to a loop device on another part of the file and lets the run go on" beside_written
# The same while assay writes, too: the kernel counts more than assay has sent.
write_first() { { sed 's/^measure.*/measure = { time = "4s" }/' write.toml
  sed -n '/^\[\[workload/,$p' write.toml | sed 's/^name = "w"/name = "v"/'; } >twice.toml; }
beside_writes() { write_first; zeros; noise n 1; during twice.toml "$device" --write "$device"
  dd if=n of="$device" bs=1M seek=4 status=none "$@"; stopped; cmp -n "$MIB" n "$device" 0 4194304 || fail "what was written is lost"; }
row L1.20 "a program writes to the target and goes, while a cell writes" beside_writes oflag=direct
row L1.21 "and leaves it in the page cache" beside_writes
beside_by_disk() { write_first; partitioned; noise n 1; local part=${device}p1; during twice.toml "$part" --write "$part"
  dd if=n of="$device" bs=4k count=1 seek=16 oflag=direct status=none; stopped; }
row L1.22 "a program writes to the disk of the target, outside of it, and goes, while a cell writes" beside_by_disk
beside_by_part() { write_first; partitioned; noise n 1; during twice.toml "$device" --write "$device" --destroy "$(word "$device")"
  held "${device}p1" read; dd if=n of="${device}p1" bs=1M status=none; stopped; }
row L1.23 "a program writes to a partition of the target, which another has open, while a cell writes" beside_by_part
beside_by_file() { write_first; zeros; noise n 1; during twice.toml "$device" --write "$device"
  dd if=n of=i bs=1M seek=4 conv=notrunc status=none; stopped; cmp -n "$MIB" n i 0 4194304 || fail "what was written is lost"; }
row L1.24 "a program writes to the file behind the target and goes, while a cell writes" beside_by_file
beside_by_lower() { write_first; zeros; local lower=$device; attach "$lower"; noise n 1; during twice.toml "$device" --write "$device"
  dd if=n of="$lower" bs=1M seek=4 oflag=direct status=none; stopped; }
row L1.25 "a program writes to the device behind the target and goes, while a cell writes" beside_by_lower
beside_nobody() { write_first; zeros; [ -z "$1" ] || attach "$device"; local of; of=$(losetup -nO BACK-FILE "$device")
  during twice.toml "$device" --write "$device"; dd if="$of" of=copy bs=1M count=1 status=none; run_ends 0; }
row L1.26 "writing twice, while a program reads what is behind the target" beside_nobody ''
row L1.27 "the same on a device on a device" beside_nobody 1
partition_added() { zeros; need addpart; timed 30s; during timed.toml "$device" --write "$device"
  addpart "$device" 1 2048 4096 || skip "no partitions"; undo "delpart $device 1"; stopped; }
row L1.28 "the target gets a partition while it is measured" partition_added
written_looked() { zeros; noise n 1; mkdir b; local real; real=$(command -v blkid) || skip "no blkid"
  printf '#!/bin/sh\ndd if=%s of=%s bs=1M oflag=direct conv=fsync status=none; exec %s "$@"\n' "$PWD/n" "$device" "$real" >b/blkid; chmod +x b/blkid
  refused env PATH="$PWD/b:$PATH" "$assay" run write.toml --quiet --out out --only "$device" --write "$device"
  cmp -n "$MIB" n "$device" || fail "what was written is lost"; }
row L1.7 "a program writes to the target and goes, while assay looks at it" written_looked
suspended() { timed 20s; during timed.toml new --size 8MiB; kill -TSTP $run; sleep 0.5
  case $(sed 's/.*) //; s/ .*//' /proc/$run/stat) in T) kill -CONT $run; fail "it is stopped, and its lease will be over" ;; esac
  kill -INT $run; run_ends 130; }
row L1.8 "Ctrl-Z does not suspend a run that holds a lease" suspended

# move_loop: lets the loop device $device begin 8 MiB into its file.
move_loop() { python3 -c 'import fcntl, sys
f = open(sys.argv[1], "rb"); b = bytearray(232); fcntl.ioctl(f, 0x4C05, b); b[24:32] = (8 << 20).to_bytes(8, "little"); fcntl.ioctl(f, 0x4C04, b)' "$device"; }
moved_target() { image i 16; noise n 8; dd if=n of=i bs=1M seek=8 conv=notrunc status=none; attach i --sizelimit 8388608; read_first; sed -i 's/"4s"/"6s"/' first.toml; need python3
  during first.toml "$device" --write "$device"; victim i; move_loop; stopped; }
row L1.29 "the target, a loop device, comes to lie on other bytes of its file while it is measured" moved_target

# read_during: a run that reads $device, for some seconds.
read_during() { sed 's/^measure.*/measure = { time = "30s" }/' read.toml >timed.toml; during timed.toml "$device"; }
moved_read() { image i 16; attach i --sizelimit 8388608; need python3; read_during; move_loop; stopped; }
row L1.34 "a loop device that is only read comes to lie on other bytes of its file" moved_read
exchanged_read() { image i 16; image j 16; attach i -r; need python3; read_during; python3 -c 'import fcntl, sys
f, j = open(sys.argv[1], "rb"), open("j", "rb"); fcntl.ioctl(f, 0x4C06, j.fileno())' "$device"; stopped; }
row L1.35 "a loop device that is only read comes to lie on another file" exchanged_read

uncounted() { zeros; local switch=/sys/block/${device#/dev/}/queue/iostats; [ -e "${switch%/queue*}/mq" ] || skip "no request queue"; echo 0 >"$switch" || skip "no switch"; undo "echo 1 >$switch"
  writes "$device"; says iostats; }
row L1.30 "the kernel does not count what is written to the target" uncounted
uncounted_later() { write_first; zeros; local switch=/sys/block/${device#/dev/}/queue/iostats; during twice.toml "$device" --write "$device"; echo 0 >"$switch" || skip "no switch"; undo "echo 1 >$switch"; stopped; }
row L1.31 "nor from some time on" uncounted_later

# U4: memory that is shared with the target.
# (Python's own mmap keeps a descriptor.)
map='def share(flags, rights):
    libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p
    f = os.open(sys.argv[1], flags)
    if libc.mmap(None, ctypes.c_size_t(4096), rights, 1, f, ctypes.c_long(0)) in (None, 2**64 - 1): sys.exit("no mmap")
    os.close(f)
'
write_map="${map}share(os.O_RDWR, 3)"
mapped() { zeros; victim i; other "$write_map" "$device"; writes "$device"; says "mapped"; }
row U4.1 "a device that a process has mapped, its descriptor closed" mapped
mapped_file() { zeros; victim i; other "$write_map" i; writes "$device"; says "mapped"; }
row U4.2 "the file behind the target is mapped" mapped_file
mapped_readable() { zeros; victim i
  other "${map}share(os.O_RDWR, 1)" "$device"
  writes "$device"; says "mapped"; }
row U4.3 "the same, not writable yet" mapped_readable
mapped_ours() { ours ./f; victim f; other "$write_map" f; writes ./f; }
row U4.4 "a file of assay's that is mapped" mapped_ours
mapped_read() { zeros; other "${map}share(os.O_RDONLY, 1)" "$device"
  ends 0 "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; }
row U4.5 "a device that is mapped for reading alone is free" mapped_read
# A failed list must not count as an empty one. Only some files fail: the loader of the program needs the same calls.
unlisted() { zeros; need strace; victim i; other "$write_map" "$device"
  local path call
  for path in "/proc getdents64" "/proc openat" "/proc/$others/maps openat"; do
    read -r path call <<<"$path"
    refused strace -f -o /dev/null -P "$path" -e trace="$call" -e inject="$call:error=EIO" \
      "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; says "users-unknown"
  done; }
row U4.6 "a device that a process uses, while lists of processes and descriptors fail" unlisted
unlisted_once() { zeros; need strace; other 'pass'
  ends 0 strace -f -o /dev/null -P "/proc/$others/maps" -e trace=openat -e inject=openat:error=EACCES:when=1 \
    "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; }
row U4.7 "a process that cannot be looked into for a moment does not end a run" unlisted_once

# U5: descriptors of one thread.
alone='def hold():
    if libc.unshare(0x400): os._exit(1)
    os.open(sys.argv[1], os.O_RDWR)
    ready()
libc = ctypes.CDLL(None)
t = threading.Thread(target=hold); t.start()'
threaded() { zeros; victim i; other "$alone; t.join()" "$device"; writes "$device"; says "open for writing"; }
row U5.1 "a thread with descriptors of its own has the device open" threaded
headless() { zeros; victim i; other "$alone; libc.syscall(60, 0)" "$device"; writes "$device"; says "open for writing"; }
row U5.2 "the same, its process's first thread has ended" headless
headless_map() { zeros; victim i
  other "$write_map; t = threading.Thread(target=ready); t.start(); ctypes.CDLL(None).syscall(60, 0)" "$device"; writes "$device"; says "mapped"; }
row U5.3 "memory of a process whose first thread has ended" headless_map

# U6: descriptors that wait in a socket, or that are registered with an io_uring. Every run on a device sees the former.
send='a, b = socket.socketpair(); f = os.open(sys.argv[1], os.O_RDWR)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f]))]); os.close(f)'
in_flight() { zeros; victim i; other "$send" "$device"; writes "$device"; says "on their way"; }
by_itself row U6.1 "a descriptor of the device waits in a socket" in_flight
in_flight_file() { zeros; victim i; other "$send" i; writes "$device"; says "on their way"; }
by_itself row U6.2 "a descriptor of the file behind it waits in a socket" in_flight_file
in_flight_ours() { ours ./f; victim f; other "$send" f; writes ./f; }
by_itself row U6.3 "a descriptor of a file of assay's waits in a socket" in_flight_ours
unaccepted() { zeros; victim i
  other 'l = socket.socket(socket.AF_UNIX); l.bind("s"); l.listen(); a = socket.socket(socket.AF_UNIX); a.connect("s")
f = os.open(sys.argv[1], os.O_RDWR)
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f]))]); os.close(f)' "$device"
  writes "$device"; says "on their way"; }
by_itself row U6.4 "it waits in a connection that nobody has accepted" unaccepted
registered() { zeros; victim i
  other 'libc = ctypes.CDLL(None, use_errno=True); r = libc.syscall(425, 4, ctypes.create_string_buffer(120))
f = os.open(sys.argv[1], os.O_RDWR)
if r < 0 or libc.syscall(427, r, 2, (ctypes.c_int * 1)(f), 1): sys.exit("no io_uring")
os.close(f)' "$device"
  writes "$device"; says "open"; }
row U6.5 "it is registered with an io_uring and closed" registered

# U7: processes that a namespace hides.
inside='unshare -p -f --mount-proc'
namespaces() { need_root; need unshare; $inside true 2>/dev/null || skip "no namespaces"; }
hidden_writer() { zeros; victim i; other 'f = os.open(sys.argv[1], os.O_RDWR)' "$device"
  namespaces; refused $inside "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; says users-unknown; }
row U7.1 "a device that a process outside of the pid namespace has open" hidden_writer
foreign_proc() { zeros; victim i; namespaces
  refused unshare -p -f "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; says users-unknown; }
row U7.2 "/proc is that of another pid namespace" foreign_proc
new_inside() { namespaces; ends 0 $inside "$assay" run write.toml --quiet --out out --only ./f --size 4MiB
  ends 0 $inside "$assay" run write.toml --quiet --out again --only ./f --write ./f; }
row U7.3 "files in a pid namespace are made, and written again" new_inside
hidden_file() { need_root; ours ./f; victim f; other 'f = os.open(sys.argv[1], os.O_RDWR)' f
  namespaces; refused $inside "$assay" run write.toml --quiet --out out --only ./f --write ./f; }
row U7.4 "a file of assay's that a process outside of the pid namespace has open" hidden_file

without_right() { zeros; victim i; held "$device"; need_root; "$@" true 2>/dev/null || skip "not possible here"
  refused "$@" "$assay" run write.toml --quiet --out out --only "$device" --write "$device" --destroy "${device#/dev/}"; says users-unknown; }
row U7.5 "root without the right to look into other processes" without_right setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace
row U7.7 "root without the right to read others' files" without_right setpriv --bounding-set=-dac_override,-dac_read_search,-sys_ptrace --inh-caps=-dac_override,-dac_read_search,-sys_ptrace
row U7.6 "root of a user namespace" without_right unshare -U -r

# U8: mounts that cover what the kernel says.
covered() { # covered WHO MOUNT: what MOUNT does hides WHO uses the device
  zeros; one=$device; victim i; mkdir empty; need unshare
  case $1 in
    loop) attach i ;;
    process) other 'f = os.open(sys.argv[1], os.O_RDWR)' "$one"; echo $others >pid ;;
    nobody) ;;
  esac
  printf 'set -e\n%s\nexec "$@"\n' "$2" >inside.sh
  refused unshare -m sh inside.sh "$assay" run write.toml --quiet --out out --only "$one" --write "$one" --destroy "${one#/dev/}"
  says "${3-users-unknown}"; }
row U8.1 "/sys/block is covered" covered loop 'mount -t tmpfs none /sys/block'
row U8.2 "/sys/block is covered by another directory of /sys" covered loop 'mount --bind /sys/kernel /sys/block'
row U8.3 "/sys/devices/virtual is covered" covered loop 'mount -t tmpfs none /sys/devices/virtual'
row U8.4 "/sys/dev/block is covered" covered loop 'mount -t tmpfs none /sys/dev/block'
row U8.5 "/sys is something else" covered loop 'cp -r /sys/dev/block empty; mount --bind empty /sys'
row U8.6 "/proc is something else" covered process 'mount -t tmpfs none /proc' no-proc
row U8.7 "a process is covered" covered process 'mount --bind empty /proc/$(cat pid)'
row U8.8 "/proc/swaps is covered" covered nobody 'mount --bind /dev/null /proc/swaps'
row U8.9 "/proc shows processes alone" covered nobody 'mount -t proc -o subset=pid proc /proc'
elsewhere() { zeros; mkdir empty; need unshare; printf 'mount -t tmpfs none /sys/firmware; mount --bind empty /proc/sys\nexec "$@"\n' >inside.sh
  ends 0 unshare -m sh -e inside.sh "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; }
row U8.10 "other parts of /sys and /proc may be covered" elsewhere

# U8.11 to U8.13: a FIFO has the name of somebody's loop device; whoever opens it waits for ever.
fifo_among_nodes() { # sets $unshared to a program that runs assay where $fifo is a FIFO, and $device a loop device
  need unshare; image o 8; attach o; fifo=$device; zeros; victim o
  { echo 'mount -t tmpfs none /dev; mknod /dev/null c 1 3; for n in $(seq 0 99); do mknod /dev/loop$n b 7 $n; done'
    echo "rm $fifo; ${1-mkfifo $fifo}"; echo 'exec "$@"'; } >inside.sh
  unshared=$PWD/unshared; printf '#!/bin/sh\nexec unshare -m sh -e %s "%s" "$@"\n' "$PWD/inside.sh" "$assay" >unshared
  chmod +x unshared; }
fifo_listed() { fifo_among_nodes; ends 0 "$unshared" devices; says "another node"; }
row U8.11 "devices are listed while one's name is a FIFO" fifo_listed
fifo_beside() { fifo_among_nodes; ends 0 "$unshared" run write.toml --quiet --out out --only "$device" --write "$device"; }
row U8.12 "a loop device beside one whose name is a FIFO" fifo_beside
fifo_during() { fifo_among_nodes :; timed 30s; assay=$unshared during timed.toml "$device" --write "$device"
  mkfifo "/proc/$run/root$fifo"; sleep 2; attach i; stopped; }
row U8.13 "a FIFO takes such a name while a cell writes, and then a loop device is attached to the image" fifo_during

# U9, U10: below an overlay.
overlay() { need_root; mkdir l u w m
  mount -t overlay none m -o "lowerdir=l,upperdir=u,workdir=w" 2>/dev/null || skip "no overlay"; undo "umount -l $PWD/m"; ours m/f; }
upper_loop() { overlay; attach u/f; victim u/f; writes m/f; }
row U9.1 "a file on an overlay whose upper file is behind a loop device" upper_loop
merged_loop() { overlay; attach m/f; victim u/f; writes u/f; }
row U9.2 "the upper file of one that is behind a loop device" merged_loop
two_ways() { overlay; attach m/f; one=$device; attach u/f; victim u/f; writes "$one" --destroy "${one#/dev/}"; }
row U9.3 "loop devices on a file of an overlay and on its upper file" two_ways
hidden_loop() { # hidden_loop CODE: nothing says what is behind the loop device, as in a container
  need unshare; printf 'mount -t tmpfs none %s\nmount -t tmpfs none /dev\nexec "$@"\n' "$PWD/u" >inside.sh
  ends "$1" unshare -m sh -e inside.sh "$assay" run write.toml --quiet --out out --only m/f --write m/f; }
upper_hidden() { overlay; attach u/f; victim u/f; hidden_loop 3; }
row U9.4 "the same, and the upper file is out of reach" upper_hidden
other_hidden() { overlay; image u/other 8; attach u/other; hidden_loop 0; }
row U9.5 "a loop device on another file that is out of reach" other_hidden
upper_writer() { overlay; victim u/f; other 'f = os.open(sys.argv[1], os.O_RDWR)' u/f; writes m/f; }
row U10.1 "a file on an overlay whose upper file a process has open" upper_writer
upper_mapped() { overlay; victim u/f; other "$write_map" u/f; writes m/f; }
row U10.2 "a file on an overlay whose upper file a process has mapped" upper_mapped
upper_during() { overlay; timed 30s; during timed.toml m/f --write m/f; attach u/f; stopped; victim u/f; sleep 1; }
row U10.3 "a loop device is attached to the upper file while it is written" upper_during
overlay_free() { overlay; ends 0 "$assay" run write.toml --quiet --out out --only m/f --write m/f
  ends 0 "$assay" run write.toml --quiet --out again --only m/g --size 4MiB; }
row U10.4 "a file on an overlay that nobody uses is written, and a new one made" overlay_free
# beside_upper UPPER TARGET: writes 2 MiB behind the start of UPPER while a cell writes the first of TARGET.
beside_upper() { write_first; noise n 1; during twice.toml "$2" --write "$2"
  dd if=n of="$1" bs=1M seek=2 conv=notrunc status=none; stopped; cmp -n "$MIB" n "$1" 0 2097152 || fail "what was written is lost"; }
upper_beside() { overlay; beside_upper u/f m/f; }
row U10.5 "a program writes to the upper file and goes, while a cell writes to the file on the overlay" upper_beside
upper_below() { overlay; dd if=/dev/zero of=m/i bs=1M count=8 status=none; attach m/i; beside_upper u/i "$device"; }
row U10.6 "the same, and the target is a loop device on that file" upper_below
upper_of_bind() { overlay; mkdir m/sub b; ours m/sub/g; mounted m/sub b --bind; beside_upper u/sub/g b/g; }
row U10.7 "the same through a bind mount of a directory of the overlay" upper_of_bind

# U12: an overlay that answers a sync without writing (`volatile`), so that lost writes are not seen.
volatile() { need_root; mkdir -p l u w m
  mount -t overlay none m -o "lowerdir=l,upperdir=u,workdir=w,volatile" 2>/dev/null || skip "no volatile overlay"; undo "umount -l $PWD/m"; }
volatile_file() { volatile; refused "$assay" run write.toml --quiet --out out --only m/f --size 4MiB; says syncs-ignored; [ ! -e m/f ] || fail "a file is left"; }
row U12.1 "a new file on it" volatile_file
volatile_ours() { need_root; mkdir l; ours l/f; volatile; victim l/f m/f
  refused "$assay" run write.toml --quiet --out out --only m/f --write m/f; says syncs-ignored; }
row U12.2 "a file of assay's below it" volatile_ours
volatile_loop() { volatile; image m/i 8; attach m/i; victim m/i; writes "$device"; says syncs-ignored
  ends 0 "$assay" run read.toml --quiet --out out --only "$device"; }
row U12.3 "a loop device on a file on it is only read" volatile_loop
volatile_below() { need mkfs.ext4; volatile; image m/i 16; mkfs.ext4 -q m/i; attach m/i; mounted "$device" n
  image n/i 4; attach n/i; victim n/i; writes "$device"; says syncs-ignored; }
row U12.4 "a loop device on a file system that lies on it" volatile_below
volatile_directory() { volatile; mkdir m/d; printf 'format = 1\nname = "f"\nquestion = "?"\ntargets = []\n[[workload]]\nname = "w"\n' >f.toml
  printf 'file = "write"\nlength = "1MiB"\nsize = "64KiB"\n' >>f.toml
  refused "$assay" run f.toml --quiet --out out --on m/d; says syncs-ignored; [ -z "$(ls m/d)" ] || fail "left: $(ls m/d)"; }
row U12.5 "a directory on it" volatile_directory
volatile_image() { volatile; refused "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out --image m/i -- true
  says syncs-ignored; [ ! -e m/i ] || fail "an image is left"; }
row U12.7 "a new image of a guest on it" volatile_image
unflushed() { zeros; victim i; local cache=/sys/block/${device#/dev/}/queue/write_cache; echo "write through" >"$cache" || skip "no write_cache"
  undo "echo write back >$cache" # the device keeps it when it is detached
  writes "$device"; says syncs-ignored; ends 0 "$assay" run read.toml --quiet --out out --only "$device"; }
row U12.6 "a loop device that is said to have no cache" unflushed
unflushed_below() { need mkfs.ext4; image i 32; attach i; local cache=/sys/block/${device#/dev/}/queue/write_cache; mkfs.ext4 -q "$device"; mounted "$device" m
  image m/i 8; attach m/i; victim m/i; echo "write through" >"$cache" || skip "no write_cache"; undo "echo write back >$cache"
  writes "$device"; says syncs-ignored; mkdir m/d; refused "$assay" run write.toml --quiet --out out --only m/d/f --size 4MiB; says syncs-ignored; }
row U12.8 "a loop device on a file system that lies on such a one" unflushed_below

# Q: runs that cannot begin end with an error, and leave nothing behind.
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
immutable() { need chattr; ours f; chattr +i f 2>/dev/null || skip "no chattr"; undo "chattr -i $PWD/f"; refused "$assay" run write.toml --quiet --out out --only ./f --write ./f; says lsattr; }
row Q6 "a file that not even root may write" immutable
target_twice() { ours g; mkdir d; ln -s ../g d/g; victim g; ends 2 timeout 30 "$assay" run write.toml --quiet --out out --only ./g --only d/g --write ./g; says "are the same target"; }
row E12.16 "a target that is named twice" target_twice

# U11: a file system that is mounted straight from a file, without a loop device (EROFS since Linux 6.12).
# While nobody can tell which file it is, all loop devices are refused, those of other rows, too.
erofs_made() { alone erofs; need_root; need mkfs.erofs python3; mkdir s m; echo mine >s/mine; mkfs.erofs i s >/dev/null 2>&1; truncate -s 8M i; }
erofs_mounted() { python3 -c 'import ctypes, sys
c = ctypes.CDLL(None); sys.exit(c.mount(sys.argv[1].encode(), b"m", b"erofs", 1, sys.argv[2].encode()) != 0)' "$1" "${2-}" || skip "no EROFS from a file"
  undo "umount -l $PWD/m"; }
erofs() { erofs_made; erofs_mounted "$(eval echo "$1")"; }
erofs_part() { erofs "$1"; eval "$2"; victim "$3"; attach "$3" --offset 4194304; writes "$device"; }
row U11.1 "a loop device over zeros of the file that an EROFS is mounted from" erofs_part '$PWD/i' : i
by_itself row U11.2 "the same, and the file has another name by now" erofs_part '$PWD/i' 'mv i j' j
by_itself row U11.3 "the same, mounted by a name that leads there only from its directory" erofs_part i : i
erofs_whole() { erofs "$PWD/i"; attach i; victim i
  refused "$assay" run write.toml --quiet --out out --only "$device" --write "$device" --destroy "$(word "$device")"; says mounted; }
row U11.4 "all of it, with --destroy" erofs_whole
# Nobody is in the namespace; the file ns/file keeps it.
erofs_kept() { erofs_made; mkdir ns; undo "umount -l $PWD/ns"; mount --bind ns ns && mount --make-private ns || skip "no mounts"; touch ns/file
  undo "umount $PWD/ns/file"; unshare --mount="$PWD/ns/file" python3 -c 'import ctypes, sys
c = ctypes.CDLL(None); sys.exit(c.mount(sys.argv[1].encode(), sys.argv[2].encode(), b"erofs", 1, b"") != 0)' "$PWD/i" "$PWD/m" || skip "no EROFS from a file"
  victim i; attach i --offset 4194304; writes "$device"; }
by_itself row U11.10 "the same in a namespace without processes that a file keeps" erofs_kept
erofs_image() { "$assay" linux status >/dev/null 2>&1 || skip "no guest kernel"; erofs "$1"; eval "$2"; victim "$3"
  refused "$assay" linux run --drive sim:ssd-m --image "$3" --write "$3" -- true; says mounted; }
row U11.5 "as the image of a guest" erofs_image '$PWD/i' : i
by_itself row U11.6 "the same, and it has another name by now" erofs_image '$PWD/i' 'mv i j' j
erofs_beside() { erofs "$PWD/i"; image j 8; attach j; ends 0 "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; }
row U11.7 "another file beside it" erofs_beside
erofs_extra() { alone erofs; need_root; need mkfs.erofs python3; mkdir s m; noise s/mine 1; mkfs.erofs --blobdev=blob --chunksize=4096 i s >/dev/null 2>&1 || skip "no --blobdev"; truncate -s 8M blob
  erofs_mounted "$PWD/i" "device=$PWD/blob"; victim blob; attach blob --offset 4194304; writes "$device"; says "may be what is mounted"; }
by_itself row U11.8 "a loop device over zeros of the extra file of an EROFS" erofs_extra
erofs_during() { erofs_made; attach i --offset 4194304; read_first; during first.toml "$device" --write "$device"; erofs_mounted "$PWD/i"; victim i; stopped; }
row U11.9 "a file is mounted as an EROFS while a cell reads a loop device over zeros of it, before one that writes" erofs_during

# U13: somebody's loop device on a file of a program (FUSE) that stops answering. All loop devices of the machine are asked about.
silent_loop() { # a loop device on such a file, $silent; fall_silent stops the program
  need_root; need bindfs; mkdir s m; image s/f 8; bindfs -f "$PWD/s" "$PWD/m" & server=$!; undo "umount -l $PWD/m; kill -9 $server"
  for _ in $(seq 100); do [ -e m/f ] && break; sleep 0.05; done; [ -e m/f ] || skip "no FUSE"
  attach m/f; silent=$device; undo "kill -CONT $server"; }
fall_silent() { kill -STOP $server; sleep 1.5; } # the kernel asks again after a second
silent_read() { silent_loop; noise i 8; attach i; victim i; fall_silent
  ends 0 timeout 30 "$assay" run read.toml --quiet --out out --only "$device"; }
by_itself row U13.1 "a device is read beside it" silent_read
silent_write() { silent_loop; for more in 1 2 3; do losetup -f --show m/f >loop || skip "no loop device"; undo "detached $(cat loop)"; done; undo "kill -CONT $server"; zeros; victim i; fall_silent
  refused timeout 15 "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; says "does not answer"; }
by_itself row U13.2 "a device is written to beside four such" silent_write
silent_new() { silent_loop; fall_silent; ends 0 timeout 30 "$assay" run read.toml --quiet --out out --only ./f --size 4MiB
  refused timeout 15 "$assay" run write.toml --quiet --out again --only ./g --size 4MiB; says "does not answer"; [ ! -e g ] || fail "g is left"; }
by_itself row U13.3 "a new file that is read, and one that is written to" silent_new
silent_old() { silent_loop; ours ./f; victim f; fall_silent; refused timeout 15 "$assay" run write.toml --quiet --out out --only ./f --write ./f; says "does not answer"; }
by_itself row U13.4 "a file of assay's is written again beside it" silent_old
silent_image() { "$assay" linux status >/dev/null 2>&1 || skip "no guest kernel"; silent_loop; noise i 8; victim i; fall_silent
  refused timeout 15 "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out again --image ./i --write ./i -- true; says "does not answer"; }
by_itself row U13.5 "a file beside it as the image of a guest" silent_image
silent_list() { silent_loop; fall_silent; ends 0 timeout 15 "$assay" devices; says "does not answer"; }
by_itself row U13.6 "devices are listed" silent_list
silent_model() { silent_loop; fall_silent; ends 0 timeout 30 "$assay" run read.toml --quiet --out out --only sim:ssd-m; ends 0 timeout 30 "$assay" report out; }
by_itself row U13.7 "a run of a model, and its report" silent_model
silent_during() { silent_loop; zeros; timed 6s; during timed.toml "$device" --write "$device"; fall_silent
  run_over 60 || { kill -CONT $server; fail "it goes on"; }; run_ends 3; cp err .err; says "does not answer"; }
by_itself row U13.8 "it falls silent while another device is written to" silent_during
silent_own() { silent_loop; timed 60s; [ $1 = --write ] || sed -i 's/read_share = 0.0/read_share = 1.0/' timed.toml
  during timed.toml "$silent" "$@" "$silent"; fall_silent; kill -INT $run
  run_over 30 || { kill -CONT $server; fail "it goes on"; }; kill -CONT $server; run_ends 130; }
by_itself row U13.9 "Ctrl-C while it is read" silent_own --only
by_itself row U13.10 "Ctrl-C while it is written to" silent_own --write
silent_map() { silent_loop; zeros; other 'f = os.open(sys.argv[1], os.O_RDWR); m = mmap.mmap(f, 4096); os.close(f)' m/f; fall_silent
  ends 0 timeout 30 "$assay" run read.toml --quiet --out out --only "$device"
  refused timeout 15 "$assay" run write.toml --quiet --out again --only "$device" --write "$device"; }
by_itself row U13.11 "a process has the file mapped" silent_map
silent_start() { silent_loop; timed 30s; fall_silent; "$assay" run timed.toml --quiet --out out --only "$silent" --write "$silent" >json 2>err & run=$!; undo "kill -9 $run"
  sleep 1; kill -INT $run; run_over 5 || { kill -CONT $server; fail "it goes on"; }; run_ends 130; [ ! -e out ] || fail "out is left"; }
by_itself row U13.12 "Ctrl-C before a run on it begins" silent_start
