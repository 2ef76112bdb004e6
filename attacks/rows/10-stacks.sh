# Layers of storage: the same bytes by another way.

ext4() { need mkfs.ext4; mkfs.ext4 -q -F "$1" >/dev/null 2>&1; }

mounted_loop() { image i 16; ext4 i; attach i; mounted "$device" m -o ro,noload; victim i; }

second_loop() { mounted_loop; attach i "$@"; writes "$device" --destroy "${device#/dev/}"; }
row D4.1 "a second loop device on the file of a mounted one" second_loop
row D4.2 "the same, from an offset within it" second_loop --offset 1048576
row D4.3 "the same, a part from the start" second_loop --sizelimit 1048576
row D4.4 "the same, a part in the middle" second_loop --offset 1048576 --sizelimit 1048576

loop_on_loop() { mounted_loop; attach "$device" "$@"; writes "$device" --destroy "${device#/dev/}"; }
row D4.5 "a loop device on a mounted loop device" loop_on_loop
row D4.6 "the same, from an offset" loop_on_loop --offset 4096

under_loop() { image i 16; ext4 i; attach i; lower=$device; attach "$lower"; mounted "$device" m -o ro,noload
  victim i; writes "$lower" --destroy "${lower#/dev/}"; }
row D4.7 "the loop device under a mounted loop device" under_loop

three_loops() { image i 16; ext4 i; attach i; one=$device; attach "$one"; attach "$device"; top=$device
  mounted "$one" m -o ro,noload; victim i; writes "$top" --destroy "${top#/dev/}"; }
row D4.8 "the uppermost of three loop devices, the lowest mounted" three_loops

idle_loop() { noise i 4; attach i; victim i; attach i; writes "$device" --destroy "${device#/dev/}"; }
row D4.9 "a second loop device on the same file, none mounted" idle_loop

beside() { # not in use: another part of the same file
  image i 16; attach i --sizelimit 4194304; one=$device; attach i --offset 8388608
  ends 0 "$assay" run write.toml --quiet --out out --only "$device" --write "$device"
  head -c 8388608 i | cmp -s - <(head -c 8388608 /dev/zero) || fail "written outside"; }
row D4.10 "loop devices on different parts of one file are two devices" beside

hard_link() { "$assay" run read.toml --quiet --out one --only ./f --size 4MiB; ln f g; attach g; rm g
  ext4 "$device"; mounted "$device" m -o ro,noload; victim f; writes ./f; }
row D7.1 "a file of assay's, its hard link behind a mounted loop device and removed" hard_link

renamed() { "$assay" run read.toml --quiet --out one --only ./f --size 4MiB; attach f; mv f g; victim g; writes ./g; }
row D7.2 "a file of assay's behind a loop device, renamed since" renamed

two_names() { "$assay" run read.toml --quiet --out one --only ./f --size 4MiB; ln f g; victim f; writes ./f; }
row D7.3 "a file of assay's with a hard link" two_names

# partitioned [MIB]: a disk with two partitions, of which the first is larger if MIB says so.
partitioned() { local first=$((${1:-8} * 2048)); image i $((first / 2048 + 24)); need sfdisk
  printf 'label: dos\n2048,%s,83\n%s,16384,83\n' $first $((first + 4096)) | sfdisk -q i >/dev/null
  attach i --partscan; [ -b "${device}p1" ] || { need partx; partx -a "$device" 2>/dev/null || true; }
  [ -b "${device}p1" ] || skip "no partitions"; undo "partx -d $device"; }
part_of_mounted_disk() { partitioned; ext4 "${device}p1"; mounted "${device}p1" m -o ro,noload; victim i
  writes "$device" --destroy "${device#/dev/}"; }
row S1 "a disk with a mounted partition" part_of_mounted_disk
disk_under_loop() { partitioned; ext4 "${device}p1"; mounted "${device}p1" m -o ro,noload; victim i
  attach "$device"; writes "$device" --destroy "${device#/dev/}"; }
row S2 "a loop device on a disk with a mounted partition" disk_under_loop
overlapping() { partitioned; ext4 "${device}p1"; mounted "${device}p1" m -o ro,noload; victim i
  attach i --offset 1048576 --sizelimit 65536; writes "$device" --destroy "${device#/dev/}"; }
row S3 "a loop device on the bytes of a mounted partition" overlapping
other_partition() { partitioned; ext4 "${device}p1"; mounted "${device}p1" m -o ro,noload
  dd if=i of=before bs=1M count=9 status=none
  ends 0 "$assay" run write.toml --quiet --out out --only "${device}p2" --write "${device}p2"
  cmp -s before <(head -c 9437184 i) || fail "the other partition was changed"; }
row S4 "the partition beside a mounted one is free, and the mounted one unchanged" other_partition
# system_at COMMAND: in a mount namespace where COMMAND mounts /home, the second partition of $disk is no target.
system_at() { need unshare; printf 'set -e\n%s\nexec "$@"\n' "$1" >inside.sh
  refused unshare -m sh inside.sh "$assay" run write.toml --quiet --out out --only "${disk}p2" --write "${disk}p2"; says "that carries this system"; }
home_itself() { partitioned; disk=$device; ext4 "${disk}p1"; system_at "mount ${disk}p1 /home"; }
row S16 "a partition beside /home" home_itself
home_overlay() { grep -q overlay /proc/filesystems || skip "no overlay"; partitioned; disk=$device; ext4 "${disk}p1"; mkdir m
  system_at "mount ${disk}p1 m; mkdir m/u m/w; mount -t overlay none /home -o lowerdir=/home,upperdir=$PWD/m/u,workdir=$PWD/m/w"; }
row S17 "a partition beside the upper layer of an overlay on /home" home_overlay
# The layers of an overlay on /home, named in ways that do not lead to them (or hardly).
home_layers() { grep -q overlay /proc/filesystems || skip "no overlay"; mkdir m o
  [ -n "${disk-}" ] || { partitioned; disk=$device; ext4 "${disk}p1"; }
  need unshare; printf 'set -e\nmount %sp1 m; mkdir -p m/u m/w m/l m/l:x\n%s\nexec "$@"\n' "$disk" "$1" >inside.sh
  unshare -m sh inside.sh true || skip "no such overlay"
  refused unshare -m sh inside.sh "$assay" run write.toml --quiet --out out --only "${disk}p2" --write "${disk}p2"; says "$2"; }
unseen="all layers of the overlay on /home"
home_relative() { home_layers 'mount -t overlay none /home -o lowerdir=m/l,upperdir=m/u,workdir=m/w' "$unseen"; }
row S17.1 "a partition beside layers of an overlay on /home that have relative names" home_relative
home_lower() { home_layers "mount -t overlay none /home -o lowerdir=$PWD/o:m/l" "$unseen"; }
row S17.2 "a partition beside a lower layer with a relative name" home_lower
home_colon() { home_layers "mount -t overlay none /home -o 'lowerdir=$PWD/m/l\\:x:$PWD/o'" "that carries this system"; }
row S17.3 "a partition beside a layer whose name has a colon" home_colon
home_lazy() { home_layers "mount -t overlay none /home -o lowerdir=$PWD/m/l,upperdir=$PWD/m/u,workdir=$PWD/m/w; umount -l m" "$unseen"; }
row S17.4 "a partition beside layers that were unmounted" home_lazy
home_exchanged() { home_layers "mount -t overlay none /home -o lowerdir=$PWD/m/l,upperdir=$PWD/m/u,workdir=$PWD/m/w
umount -l m; mkdir -p m/l m/u" "$unseen"; }
row S17.5 "a partition beside layers that were unmounted, with directories of their names" home_exchanged
home_covered() { home_layers "mount -t overlay none /home -o lowerdir=$PWD/o:$PWD/m/l; mount -t tmpfs none m; mkdir m/l" "that carries this system"; }
row S17.6 "a partition beside a lower layer that another mount covers" home_covered
home_btrfs() { partitioned 128; disk=$device; need mkfs.btrfs; mkfs.btrfs -q "${disk}p1" >/dev/null
  home_layers "mount -t overlay none /home -o lowerdir=$PWD/o:$PWD/m/l" "that carries this system"; }
row S17.7 "a partition beside a layer on btrfs" home_btrfs
home_whole() { grep -q overlay /proc/filesystems || skip "no overlay"; need unshare; zeros; mkdir l
  printf 'mount -t overlay none /home -o lowerdir=l:/home && exec "$@"\n' >inside.sh; unshare -m sh inside.sh true || skip "no such overlay"
  ends 0 unshare -m sh inside.sh "$assay" run write.toml --quiet --out out --only "$device" --write "$device"; }
row S17.8 "another whole disk is free, though a layer of an overlay on /home is unknown" home_whole
home_journal() { partitioned; disk=$device; need mke2fs; mke2fs -q -F -O journal_dev -b 4096 "${disk}p1" >/dev/null 2>&1; image j 32; attach j
  mke2fs -q -F -t ext4 -b 4096 -J device="${disk}p1" "$device" >/dev/null 2>&1 || skip "no journal there"; system_at "mount $device /home"; }
row S18 "a partition beside the external journal of /home" home_journal
# home_outside COMMAND: as system_at, but assay runs by COMMAND where /home is not mounted, while the shell still sees it.
home_outside() { partitioned; disk=$device; ext4 "${disk}p1"; need unshare chroot
  printf 'set -e\nmount %sp1 /home\n%s\n' "$disk" "$1" >inside.sh
  refused unshare -m sh inside.sh "$assay" run write.toml --quiet --out out --only "${disk}p2" --write "${disk}p2"; says "that carries this system"; }
home_namespace() { home_outside "unshare -m sh -c 'umount /home && exec \"\$@\"' - \"\$@\""; }
row S19 "a partition beside what is /home in another mount namespace" home_namespace
home_chroot() { mkdir cr; home_outside "mount --bind / cr; [ -d cr\$PWD ] || exec false
for d in proc sys dev; do mount --rbind /\$d cr/\$d; done; chroot cr sh -c 'cd \$0 && exec \"\$@\"' \$PWD \"\$@\""; }
row S20 "a partition beside /home, in a chroot without it" home_chroot
idle_partitions() { partitioned; victim i; writes "$device"; }
row S5 "a disk with partitions that nobody uses" idle_partitions

# The kernel may swap to every other page meanwhile.
same_header() { cmp -s header <(head -c 4096 i) || fail "the header of the swap area was changed"; }
swap_on() { image i 4; need mkswap swapon; mkswap -q i >/dev/null; chmod 600 i; "$@"; }
swap_device() { swap_on attach i; swapon "$device" || skip "no swap"; undo "swapoff $device"
  head -c 4096 i >header; writes "$device" --destroy "${device#/dev/}"; same_header; }
row S6 "active swap" swap_device
swap_by_other_loop() { swap_on attach i; swapon "$device" || skip "no swap"; undo "swapoff $device"
  head -c 4096 i >header; attach i; writes "$device" --destroy "${device#/dev/}"; same_header; }
row S7 "a second loop device on active swap" swap_by_other_loop

namespaced_setup() { need unshare; image i 16; ext4 i; attach i; mkdir m
  unshare -m sh -c "mount -o ro,noload $device m && touch ready && exec sleep 60" >/dev/null 2>&1 & undo "kill $!"
  for _ in $(seq 50); do [ -e ready ] && break; sleep 0.1; done; [ -e ready ] || skip "no namespace"
  victim i; }
namespaced() { namespaced_setup; writes "$device" --destroy "${device#/dev/}"; }
row S8 "a device mounted in another mount namespace" namespaced
namespaced_file() { namespaced_setup; attach i; writes "$device" --destroy "${device#/dev/}"; }
row S9 "a second loop device on a file mounted in another namespace" namespaced_file

writer() { noise i 4; attach i; victim i; held "$device"
  writes "$device" --destroy "${device#/dev/}"; says "open for writing"; }
row E9.1 "a device that another process has open for writing" writer
writer_above() { noise i 4; attach i; lower=$device; attach "$lower"; victim i; held "$lower"
  writes "$device" --destroy "${device#/dev/}"; }
row E9.2 "a loop device on a device that another process writes to" writer_above
writer_of_file() { noise i 4; attach i; victim i; held i
  writes "$device" --destroy "${device#/dev/}"; }
row E9.3 "a loop device on a file that another process writes to" writer_of_file
writer_of_ours() { "$assay" run read.toml --quiet --out one --only ./f --size 4MiB; victim f
  held f; writes ./f; }
row E9.4 "a file of assay's that another process has open for writing" writer_of_ours
reader_of_ours() { "$assay" run read.toml --quiet --out one --only ./f --size 4MiB; victim f
  held f read; writes ./f; }
row E9.5 "a file of assay's that another process reads" reader_of_ours
zfs() { zfs_fuse; image i 80; attach i; victim_late=i
  zpool create -m none attackpool "$device" 2>/dev/null || skip "no pool"; undo "zpool destroy -f attackpool"
  writes "$device" --destroy "${device#/dev/}"; zpool scrub attackpool; sleep 0.5
  zpool status attackpool | grep -q "No known data errors" || fail "the pool is damaged"; }
row E9.6 "an active pool of zfs-fuse" zfs

system_disk() { need_root; need findmnt; root=$(findmnt -no SOURCE /); [ -b "$root" ] || skip "/ is on no device"
  writes "$root"; writes "$root" --destroy "${root#/dev/}"; }
row S10 "the disk of the system" system_disk
loop_on_system() { need_root; need findmnt; root=$(findmnt -no SOURCE /); [ -b "$root" ] || skip "/ is on no device"
  device=$(losetup --find --show --read-only "$root") || skip "no loop"; undo "detached $device"
  writes "$device" --destroy "${device#/dev/}"; }
row S11 "a loop device on the disk of the system" loop_on_system
node_elsewhere() { need_root; mounted_loop; read -r major minor < <(stat -c '%Hr %Lr' "$device")
  mknod node b "$major" "$minor" || skip "no mknod"; writes ./node --destroy "${device#/dev/}"; }
row S12 "another node of a mounted device" node_elsewhere
linked() { mounted_loop; ln -s "$device" link; writes ./link --destroy "${device#/dev/}"; }
row S13 "a symlink to a mounted device" linked
read_only_device() { noise i 4; attach i --read-only; victim i; writes "$device" --destroy "${device#/dev/}"; }
row S14 "a read-only device" read_only_device
read_mounted() { mounted_loop; ends 0 "$assay" run read.toml --quiet --out out --only "$device"; }
row S15 "a mounted device is read" read_mounted
