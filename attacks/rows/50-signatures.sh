# Contents that a device may have, each made by its real tool or by the bytes of its header. None is written
# over without --destroy, whether anybody can name it or not.

holds() { attach i; victim i; writes "$device"; grep -q "holds" .err || fail "refused for another reason: $(cat .err)"; }

by_tool() { # by_tool MIB COMMAND …
  local size=$1
  shift
  need "${1%% *}"
  image i "$size"
  "$@" >/dev/null 2>&1 || skip "$1 failed"
  holds
}
while read -r size command; do
  row G1 "$command" by_tool "$size" $command
done <<'TOOLS'
16 mkfs.ext2 -q -F i
16 mkfs.ext3 -q -F i
16 mkfs.ext4 -q -F i
16 mkfs.ext4 -q -F -b 1024 i
16 mkfs.ext4 -q -F -O journal_dev i
320 mkfs.xfs -q -f i
128 mkfs.btrfs -q -f i
64 mkfs.f2fs -q -f i
16 mkfs.jfs -q i
160 mkfs.nilfs2 -q i
64 mkfs.reiserfs -q -ff i
64 mkfs.reiser4 -fffy i
16 mkfs.ntfs -q -F i
16 mkfs.vfat i
64 mkfs.vfat -F 32 i
16 mkfs.exfat i
16 mkfs.udf i
4 mkfs.minix i
4 mkfs.minix -2 i
4 mkfs.minix -3 i
4 mkfs.bfs i
64 mkfs.gfs2 -q -O -p lock_nolock i
320 mkfs.ocfs2 -q -F -M local i
4 mkswap i
16 hformat i
32 cryptsetup luksFormat -q --type luks1 --key-file /etc/hostname i
32 cryptsetup luksFormat -q --type luks2 --key-file /etc/hostname i
32 make-bcache -B i
16 parted -s i mklabel gpt
16 parted -s i mklabel msdos
16 parted -s i mklabel mac
16 parted -s i mklabel sun
16 parted -s i mklabel bsd
16 parted -s i mklabel dvh
16 parted -s i mklabel amiga
16 parted -s i mklabel pc98
16 sgdisk -n 1 i
16 mksquashfs /etc/hostname i -noappend
TOOLS
archive() { image d 1; mkdir s; echo x >s/x; need "$1"; "$@" >/dev/null 2>&1 || skip "$1 failed"; truncate -s 16M i; holds; }
row G2 "mkfs.cramfs" archive mkfs.cramfs s i
row G2 "mkfs.erofs" archive mkfs.erofs i s
row G2 "genisoimage" archive genisoimage -o i s
volume() { need pvcreate; image i 16; attach i
  pvcreate -q --nolocking --config "devices { use_devicesfile=0 filter=[ \"a|^$device\$|\", \"r|.*|\" ] }" "$device" >/dev/null 2>&1 || skip "pvcreate failed"
  sync; victim i; writes "$device"; says holds; }
row G2 "pvcreate" volume
verity() { image d 4; image i 16; need veritysetup; veritysetup format d i >/dev/null 2>&1 || skip "failed"; holds; }
row G2 "veritysetup" verity
raid() { need mdadm; image i 64; attach i; mdadm --create "/dev/md/attack$$" --run --level=1 --raid-devices=2 --metadata="$1" "$device" missing >/dev/null 2>&1 || skip "no md here"; }
for metadata in 0.90 1.0 1.1 1.2 ddf imsm; do row G3 "mdadm, metadata $metadata" raid $metadata; done

# put OFFSET HEX: writes bytes at an offset, which counts from the end if it is negative.
put() {
  local at=$1 size
  size=$(stat -c %s i)
  [ "$at" -ge 0 ] || at=$((size + at))
  printf "$(printf %s "$2" | sed 's/../\\x&/g')" | dd of=i bs=1 seek="$at" conv=notrunc status=none
}
header() { # header MIB OFFSET HEX [OFFSET HEX …]
  image i "$1"
  shift
  while [ $# -gt 0 ]; do put "$1" "$2"; shift 2; done
  holds
}
while read -r name size bytes; do
  row G4 "the header of $name" header "$size" $bytes
done <<'HEADERS'
linux_raid_member-1.1 16 0 fc4e2ba9
linux_raid_member-1.2 16 4096 fc4e2ba9
linux_raid_member-0.90 16 -65536 fc4e2ba9
linux_raid_member-1.0 16 -8192 fc4e2ba9
ddf_raid_member 16 -512 de11de11
isw_raid_member 16 -1024 496e74656c2052616964204953
lsi_mega_raid_member 16 -512 2458494445240000
via_raid_member 16 -512 55aa00
silicon_medley_raid_member 16 -416 0000002f
nvidia_raid_member 16 -1024 4e564944494120
promise_fasttrack_raid_member 16 -32256 50726f6d69736520546563686e6f6c6f6779
hpt45x_raid_member 16 -5600 f316785a
hpt37x_raid_member 16 4640 f016785a
adaptec_raid_member 16 -512 37fc4d1e
jmicron_raid_member 16 -512 4a4d
bcache 16 4120 c68573f64e1a45ca8265f57f48ba6d81
bcachefs 16 4120 c68573f666ce90a9d96a60cf803df7ef
ceph_bluestore 16 0 626c756573746f726520626c6f636b20646576696365
drbd-8 16 -4036 8374026b
drbd-9 16 -4036 8374026d
drbdmanage_control_volume 16 0 2424444d4d5031
drbdproxy_datalog 16 0 446f6f62536f6f6b
LVM2_member 16 512 4c4142454c4f4e45
LVM1_member 16 0 484d0100
DM_snapshot_cow 16 0 536e4170
DM_verity_hash 16 0 7665726974790000
DM_integrity 16 0 696e74656772740000
crypto_LUKS 16 0 4c554b53babe0001
crypto_LUKS-second 16 16384 534b554cbabe0002
VMFS_volume_member 16 1048576 0dd001c0
VMFS 16 2097152 5ef1ab2f
ubi 16 0 55424923
ubifs 16 0 31181006
vdo 16 0 646d76646f303031
stratis 16 512 21537472613074697386ff025e417268
BitLocker 16 3 2d4656452d46532d
swsuspend 16 4086 533153555350454e4400
swap 16 4086 53574150535041434532
swap-64K-page 16 65526 53574150535041434532
xfs 16 0 58465342
xfs_external_log 16 0 feedbabe
exfs 16 0 45584653
ext4 16 1080 53ef
reiserfs 16 65588 526549734572324673
reiser4 16 65536 52654973457234
jfs 16 32768 4a465331
udf 16 32769 4245413031 34817 4e53523032
iso9660 16 32769 4344303031
zfs-uberblock 16 131072 0cb1ba0000000000
zfs-label-at-end 16 -131072 0cb1ba0000000000
hfsplus 16 1024 482b0004
hfs 16 1024 4244
ufs1 16 9564 54190100
ufs2 16 66908 19015419
hpfs 16 8192 49e895f9
sysv 16 1016 207e18fd
xenix 16 2040 55442b00
ntfs 16 3 4e54465320202020
ReFS 16 3 5265465300000000
cramfs 16 0 453dcd28
romfs 16 0 2d726f6d3166732d
minix 16 1040 7f13
gfs 16 65536 01161970
gfs2 16 65536 0116197000000001
ocfs 16 8 4f7261636c65434653
ocfs2 16 2048 4f4346535632
oracleasm 16 32 4f52434c4449534b
vxfs 16 1024 f5fc01a5
squashfs 16 0 68737173
nss 16 4096 53504235
btrfs 16 65600 5f42485266535f4d
bfs 16 0 cefaad1b
befs 16 32 31534642
nilfs2 16 1030 3434
exfat 16 3 4558464154202020
f2fs 16 1024 1020f5f2
mpool 16 0 6d706f6f6c446576
apfs 16 32 4e585342
zonefs 16 0 53464f5a
erofs 16 1024 e2e1f5e0
gpt-backup 16 -512 4546492050415254
apple-map 16 0 4552 512 504d
bsd-label 16 512 57455682
sun-label 16 508 dabe
btrfs-mirror-only 80 67108928 5f42485266535f4d
a-plain-database 16 0 53514c69746520666f726d6174203300
zip 16 0 504b0304
unknown-in-the-middle 16 8388608 01
unknown-at-the-end 16 -1 01
HEADERS
label_only() { zfs_fuse; image i 80; attach i
  zpool create -m none attackpool "$device" 2>/dev/null || skip "no pool"; zpool export attackpool
  for at in 131072 393216; do dd if=/dev/zero of=i bs=1k seek=$((at / 1024)) count=128 conv=notrunc status=none; done
  sync; victim i; writes "$device"; }
row G5 "a ZFS label without uberblocks" label_only
zpool_member() { zfs_fuse; image i 80; attach i
  zpool create -m none attackpool "$device" 2>/dev/null || skip "no pool"; zpool export attackpool; sync; victim i; writes "$device"; }
row G5 "an exported pool of zfs-fuse" zpool_member
destroyed() { image i 16; need mkfs.ext4; mkfs.ext4 -q -F i; attach i
  ends 0 "$assay" run write.toml --quiet --out out --only "$device" --write "$device" --destroy "$(word "$device")"; }
row G6 "what --destroy names is written" destroyed
wrong_serial() { image i 16; need mkfs.ext4; mkfs.ext4 -q -F i; attach i; victim i
  for word in loop99 "$device" "" "${device#/dev/}" "${device#/dev/} " "${device#/dev/}-00000000" LOOP0; do refused "$assay" run write.toml --quiet --out out --only "$device" --write "$device" --destroy "$word"; done; }
row G7 "--destroy with another word" wrong_serial
empty_device() { image i 16; attach i; ends 0 "$assay" run write.toml --quiet --out out --only "$device" --write "$device"
  ends 0 "$assay" run write.toml --quiet --out two --only "$device" --write "$device"; }
row G8 "an empty device is written, and written again" empty_device
