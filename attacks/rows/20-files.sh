# Files: their owners, their contents, and their remains.

made() { "$assay" run read.toml --quiet --out "made-${1:-f}" --only "./${1:-f}" --size "${2:-4MiB}"; }
strange() { noise f 4; victim f; writes ./f; }
row F1 "somebody else's file" strange
strange_link() { noise f 4; ln -s f l; victim f l; writes ./l; }
row F2 "a symlink to somebody else's file" strange_link
sized() { noise f 4; victim f; writes ./f --size 4MiB; }
row F3 "the same with --size" sized
dangling() { ln -s nowhere l; victim l; ends "3|2" "$assay" run write.toml --quiet --out out --only ./l --size 1MiB
  [ ! -e nowhere ] || fail "made through a symlink"; }
row F4 "a dangling symlink with --size" dangling
unnamed() { noise f 4; victim f; ends "0|3|4" "$assay" run write.toml --quiet --out out --only ./f; }
row F5 "a file without --write" unnamed
ours_unnamed() { made; victim f; ends "0|3|4" "$assay" run write.toml --quiet --out out --only ./f; }
row F6 "a file of assay's without --write" ours_unnamed
other_named() { made; made g; victim f g; refused "$assay" run write.toml --quiet --out out --only ./f --write ./g; }
row F7 "--write with another name" other_named
written_again() { made; ends 0 "$assay" run write.toml --quiet --out out --only ./f --write ./f; }
row F8 "a file of assay's with --write is written" written_again
ours_again() { written_again; ends 0 "$assay" run write.toml --quiet --out again --only ./f --write ./f; }
row F9 "and once more" ours_again

# D6: contents are looked at each time.
formatted() { made f "${2:-4MiB}"; eval "$1"; victim f; writes ./f; }
while read -r size tool; do
  row D6.1 "$tool on a file that assay made" formatted "need ${tool%% *}; $tool >/dev/null 2>&1 || skip '$tool failed'" "$size"
done <<'TOOLS'
4MiB mkfs.ext4 -q -F f
320MiB mkfs.xfs -q -f f
4MiB mkfs.vfat f
4MiB mkswap f
4MiB mkfs.minix f
4MiB mkfs.bfs f
8MiB mkfs.ntfs -q -F f
8MiB mkfs.udf f
64MiB mkfs.reiserfs -q -ff f
160MiB mkfs.nilfs2 -q f
16MiB mkfs.jfs -q f
128MiB mkfs.btrfs -q -f f
64MiB mkfs.f2fs -q -f f
8MiB mkfs.exfat f
64MiB mkfs.reiser4 -fffy f
64MiB mkfs.gfs2 -q -O -p lock_nolock f
TOOLS
row D6.2 "a tar archive written into it" formatted 'tar cf - /etc/hostname 2>/dev/null | dd of=f conv=notrunc status=none'
row D6.3 "a line of text at its start" formatted 'printf precious | dd of=f conv=notrunc status=none'
row D6.4 "a line of text at its end" formatted 'printf precious | dd of=f conv=notrunc status=none bs=1 seek=4194000'
row D6.5 "replaced by cp" formatted 'head -c 4M /dev/urandom >f'
row D6.6 "a partition table" formatted 'need sfdisk; echo ",,83" | sfdisk -q f >/dev/null'
copied() { made; cp "$@" f g; victim g; writes ./g; }
row D6.7 "cp -a of a file of assay's" copied -a
row D6.8 "cp of it" copied
row D6.9 "cp --reflink of it" copied --reflink=auto --preserve=all
moved_copy() { made; cp -a f g; mv g f; victim f; writes ./f; }
row D6.10 "a cp -a copy that took its place" moved_copy
tarred() { need tar; made; tar --xattrs --xattrs-include='*' -cf t f; rm f; tar --xattrs --xattrs-include='*' -xf t
  printf mine | dd of=f conv=notrunc status=none; victim f; writes ./f; }
row D6.11 "packed and unpacked with its attributes, then changed" tarred
marked() { need setfattr; noise f 4; setfattr -n user.assay -v 1 f; victim f; writes ./f; }
row D6.12 "a user's file with assay's old attribute" marked
stolen() { need setfattr getfattr; made; noise g 4
  setfattr -n user.assay -v "$(getfattr --only-values -n user.assay f)" g; victim g; writes ./g; }
row D6.13 "a user's file with the attribute of one of assay's" stolen
in_snapshot() { need_root; need mkfs.btrfs btrfs; image b 512; mkfs.btrfs -q b >/dev/null; mkdir t m
  # What is mounted before takes the device number that the second mount will get again.
  mount -t tmpfs none t; mount -o loop b m || { umount t; skip "no btrfs"; }; undo "umount -l $PWD/m"; undo "umount -l $PWD/t"
  "$assay" run read.toml --quiet --out one --only m/f --size 4MiB >/dev/null; btrfs subvolume snapshot m m/s >/dev/null
  # What a ring had open is let go of a moment later.
  for _ in $(seq 50); do umount m 2>/dev/null && break; sleep 0.1; done; umount t; mount -o loop,subvol=s b m; victim m/f; writes m/f; }
row D6.14 "a file in a snapshot, mounted where the file of assay's was" in_snapshot
appended() { "$assay" run read.toml --quiet --out one --only ./f --size 4MiB; printf mine >>f; victim f; writes ./f; says "now holds"; }
row D6.15 "a few bytes behind the last block of a file of assay's" appended
far_below() { local name here=$PWD; name=$(printf 'x%.0s' $(seq 240)); for _ in $(seq 18); do mkdir "$name"; cd "$name"; done
  cp "$here"/*.toml .; "$assay" run read.toml --quiet --out one --only ./f --size 1MiB; ends 0 "$assay" run write.toml --quiet --out two --only ./f --write ./f; }
row D6.16 "assay's own file, below a path of more than 4096 bytes" far_below

# D1: where there are no attributes, a sidecar is made, and never over another file.
plain_fs() { need_root; need ntfs-3g mkfs.ntfs; image i 64; mkfs.ntfs -q -F i >/dev/null 2>&1; attach i; mkdir m
  ntfs-3g -o streams_interface=none "$device" m 2>/dev/null || skip "no ntfs-3g"; undo "umount -l $PWD/m"; }
sidecar_file() { plain_fs; echo mine >m/s.assay; victim m/s.assay
  ends "3|0" "$assay" run read.toml --quiet --out out --only m/s --size 1MiB; }
row D1.1 "no attributes, and the user has a file of the sidecar's name" sidecar_file
sidecar_link() { plain_fs; echo mine >mine; ln -s "$PWD/mine" m/s.assay || skip "no symlinks"; victim mine
  ends "3|0" "$assay" run read.toml --quiet --out out --only m/s --size 1MiB; }
row D1.2 "no attributes, and a symlink of that name" sidecar_link
sidecar_ok() { plain_fs; "$assay" run read.toml --quiet --out one --only m/s --size 1MiB || skip "no O_DIRECT there"
  ends 0 "$assay" run write.toml --quiet --out two --only m/s --write m/s; }
row D1.3 "no attributes: a file of assay's is known again" sidecar_ok
sidecar_killed() { plain_fs; "$assay" run read.toml --quiet --out one --only m/s --size 48MiB & sleep "0.$1"; kill -9 $! || true
  wait $! 2>/dev/null || true; rm -rf one
  # Killed before the first write, a run leaves an empty file, or one of zeros, that nobody can tell from a user's.
  ends "0|3" "$assay" run read.toml --quiet --out one --only m/s --size 48MiB; [ -e one/cells.json ] || { says 'target-empty\|file-has-holes'; [ -z "$(head -c 1M m/s | tr -d '\0' | head -c 1)" ] || fail "$(ls -l m)"; }; }
row D1.4 "no attributes: what was begun and killed at once is made anew" sidecar_killed 05
row D1.5 "the same, killed later" sidecar_killed 3
sidecar_copied() { plain_fs; "$assay" run read.toml --quiet --out one --only m/s --size 1MiB || skip "no O_DIRECT there"
  cp m/s m/t; cp m/s.assay m/t.assay; printf mine | dd of=m/t conv=notrunc status=none; victim m/t m/t.assay
  writes m/t; }
row D1.6 "no attributes: a copy of the file and of its sidecar" sidecar_copied
sidecar_replaced() { plain_fs; "$assay" run read.toml --quiet --out one --only m/s --size 1MiB || skip "no O_DIRECT there"
  noise n 1; rm m/s; cp n m/s; victim m/s; writes m/s; }
row D1.7 "no attributes: another file beside the old sidecar" sidecar_replaced

# The file system mounted again gives the first free number, which a removed file of assay's had.
mount_again() { umount m; for _ in $(seq 50); do ntfs-3g -o streams_interface=none "$device" m 2>/dev/null && return 0; sleep 0.1; done; fail "no ntfs-3g"; }
sidecar_reused() { plain_fs; "$assay" run read.toml --quiet --out one --only m/s --size 1MiB || skip "no O_DIRECT there"
  local number=$(stat -c %i m/s); rm m/s; mount_again; image z 1; cat z >m/s; [ "$(stat -c %i m/s)" = "$number" ] || skip "another number"
  victim m/s; writes m/s; says "may be another file"; }
row D1.11 "no attributes: a file of zeros with the number of a removed one, beside its sidecar" sidecar_reused
begun_reused() { plain_fs; "$assay" run read.toml --quiet --out one --only m/s --size 1MiB || skip "no O_DIRECT there"
  local number=$(stat -c %i m/s); sed -i s/whole/begun/ m/s.assay; rm m/s; mount_again; image z 1; cat z >m/s
  [ "$(stat -c %i m/s)" = "$number" ] || skip "another number"; victim m/s
  ends "0|3" "$assay" run read.toml --quiet --out two --only m/s --size 1MiB; }
row D1.12 "the same, where the removed one was not complete" begun_reused
image_reused() { plain_fs; "$assay" linux run --drive "sim:$here/drive.toml" --image m/im --quiet --out one -- true >/dev/null 2>&1 || skip "no kernel for guests"
  local number=$(stat -c %i m/im) size=$(stat -c %s m/im); rm m/im; mount_again; truncate -s "$size" m/im
  [ "$(stat -c %i m/im)" = "$number" ] || skip "another number"; victim m/im
  refused "$assay" linux run --drive "sim:$here/drive.toml" --image m/im --quiet --out two -- sh -c 'echo evil >/dev/vda'; }
row D1.13 "the same with the image of a guest" image_reused

# begun: starts a run that makes a file where there are no nameless files, and kills it meanwhile.
begun() { plain_fs; "$assay" run read.toml --quiet --out one --only m/s --size 48MiB & local pid=$!
  for _ in $(seq 500); do [ -e m/s.assay ] && break; sleep 0.01; done; sleep 0.05; kill -9 $pid; wait $pid 2>/dev/null || true
  grep -q begun m/s.assay || skip "it was whole sooner"; }
begun_overwritten() { begun; cp /etc/services m/s; victim m/s; ends "2|3" "$assay" run read.toml --quiet --out two --only m/s --size 4MiB; }
row D1.8 "no attributes: the user's data in a file that a killed run was making" begun_overwritten
begun_again() { begun; ends 0 "$assay" run write.toml --quiet --out two --only m/s --size 48MiB; }
row D1.10 "no attributes: the same command writes the file that a killed run was making" begun_again
begun_added() { begun; printf mine | dd of=m/s bs=1 seek=4096 conv=notrunc status=none; victim m/s; ends "2|3" "$assay" run read.toml --quiet --out two --only m/s --size 4MiB; }
row D1.9 "the same, a word in the middle" begun_added

# E1: nothing is left behind.
second_missing() { ends "3|2" "$assay" run read.toml --quiet --out out --only ./new,/dev/nvme9n9 --size 4MiB
  [ ! -e new ] && [ ! -e out ] || fail "left behind: $(ls)"; }
row E1.1 "a new file and a device that is not there" second_missing
out_is_file() { echo mine >out; victim out; ends "3|2" "$assay" run read.toml --quiet --out out --only ./new --size 4MiB
  [ ! -e new ] || fail "left behind"; }
row E1.2 "--out is a file" out_is_file
killed_making() { [ "$1" != -HUP ] || [ -z "$(trap -p HUP)" ] || skip "under nohup"
  "$assay" run read.toml --quiet --out out --only ./new --size 2GiB & pid=$!; sleep "$2"; kill "$1" $pid
  wait $pid 2>/dev/null || true; [ ! -e out/run.json ] || skip "the file was there sooner"; [ ! -e new ] || fail "left behind"; [ -z "$(ls -A out 2>/dev/null | grep -v '^log$\|^series$')" ]
  ends 0 "$assay" run read.toml --quiet --out out --only ./new --size 4MiB; }
for signal in -INT -TERM -HUP -KILL; do
  row E1.3 "ended by $signal while a file is made; the same command then works" killed_making $signal 0.3
done
no_room() { need_root; image i 16; ext4 i; attach i; mounted "$device" m
  refused "$assay" run read.toml --quiet --out out --only m/new --size 1GiB; [ ! -e m/new ] && [ ! -e out ]; }
row E1.4 "no room for the file" no_room
dev_shm() { [ -d /dev/shm ] || skip "no /dev/shm"; name=/dev/shm/attack.$$; undo "rm -f $name $name.assay"
  ends "0|3" "$assay" run read.toml --quiet --out out --only "$name" --size 1MiB
  ! grep -q "no device" .err || fail "$(cat .err)"; }
row X1 "a file in /dev/shm is a file" dev_shm
in_memory() { mounted none t -t tmpfs; image t/i 16; attach t/i; attach "$device"
  ends 0 "$assay" run read.toml --quiet --out out --only "$device"; grep -q '/t/i is in memory' out/cells.json; }
row X18.2 "a loop device on a loop device on a file in memory is measured, and said to be in memory" in_memory
# warned COUNT WORD DEVICE: a run that reads from the device has a warning with this word in so many of its cells.
warned() { rm -rf out; ends 0 "$assay" run read.toml --out out --only "$3"; local found; found=$(grep -o '"warnings": *\[[^]]*\]' out/cells.json | grep -c -- "$2") || true
  [ "$found" = "$1" ] || fail "$found warnings of $2: $(cat .out)"; [ "$1" = 0 ] || says "$2"; }
direct() { [ "$(cat "/sys/block/${device#/dev/}/loop/dio")" = 1 ] || skip "no direct I/O of loop devices here"; }
cached_loop() { noise i 8; sync i; attach i --direct-io=off; warned 1 "losetup --direct-io=on $device" "$device"; losetup --direct-io=on "$device"; direct
  warned 0 direct-io "$device"; warned 0 written "$device"; }
row X18.3 "a loop device that goes through the page cache is measured with a warning" cached_loop
cached_below() { need mkfs.ext4; noise i 8; attach i --direct-io=off; local below=$device; mkfs.ext4 -q "$below" >/dev/null; mounted "$below" m; "$assay" run read.toml --quiet --out made --only m/f --size 1MiB
  warned 1 "losetup --direct-io=on $below" m/f; }
row X18.4 "so is a file on a loop device that goes through the page cache" cached_below
holes_behind() { noise i 8; fallocate --punch-hole --offset 4MiB --length 1MiB i || skip "no holes"; attach i --direct-io=on; direct; warned 1 "never written" "$device"
  attach i --direct-io=on --sizelimit 4MiB; warned 0 "never written" "$device"; }
row X18.5 "a loop device on a file with holes is read with a warning, unless it does not reach them" holes_behind
btrfs_below() { need mkfs.btrfs; noise i 160; attach i --direct-io=off; local below=$device; mkfs.btrfs -q "$below" >/dev/null; mounted "$below" m
  "$assay" run read.toml --quiet --out made --only m/f --size 1MiB; warned 1 "losetup --direct-io=on $below" m/f; }
row X18.6 "so is a file on a btrfs on such a loop device" btrfs_below
served() { need_root; need bindfs; mkdir s b; bindfs s b 2>/dev/null || skip "no FUSE"; undo "umount -l $PWD/b"; noise s/f 4; warned 1 FUSE b/f; attach b/f; warned 1 FUSE "$device"; }
row X18.7 "a file that a program serves, and a loop device on it, are measured with a warning" served
overlay_in_memory() { need_root; mkdir l t m; mounted none t -t tmpfs; mkdir t/u t/w
  mount -t overlay none m -o lowerdir=l,upperdir=t/u,workdir=t/w 2>/dev/null || skip "no overlay"; undo "umount -l $PWD/m"; noise m/f 4; warned 1 "in memory" m/f; }
row X18.8 "a file on an overlay whose upper layer is in memory is measured with a warning" overlay_in_memory
compressed_behind() { need mkfs.btrfs; image x 192; attach x --direct-io=on; direct; mkfs.btrfs -q "$device"; mounted "$device" m -o compress-force=zstd; yes mine | head -c 16M >m/i; sync
  attach m/i --direct-io=on; direct; sed -i 's/^range.*//; s/^pattern.*/pattern = "random"/; s/^measure.*/measure = { requests = 65536 }/' read.toml; warned 1 "read only" "$device"; }
row X18.9 "a loop device on a compressed file is measured with a warning" compressed_behind
switched() { noise i 8; sync i; attach i --direct-io=off; sed 's/^measure.*/measure = { time = "3s" }/' read.toml >timed.toml; during timed.toml "$device"
  losetup --direct-io=on "$device"; direct; run_ends 0; grep -q "losetup --direct-io=on $device" out/cells.json || fail "no warning"; }
row X18.10 "a loop device that is switched to direct I/O during a cell is measured with a warning" switched
blank() { "$assay" run read.toml --quiet --out one --only ./keep --size 1MiB; noise './keep ' 1; cp './keep ' copy; victim keep
  refused "$assay" run write.toml --quiet --out out --only './keep ' --write './keep '; says file-not-ours
  ends 0 "$assay" run read.toml --quiet --out out --only './keep ,./keep'; grep -q '"written": *"./keep "' out/run.json
  for list in ' ./keep' './keep,./new ' 'sim:ssd-m, ./keep'; do ends 2 "$assay" run write.toml --quiet --out none --only "$list" --write ./keep --size 1MiB; says "blanks"; done; cmp './keep ' copy; [ ! -e none ] && [ ! -e 'new ' ] && [ ! -e new ]; }
row X20 "a target whose name ends with a blank is not the one without" blank
misspelt() { for p in /dev/assay-none /dev/assay/none; do
  refused "$assay" run read.toml --quiet --out out --only $p --size 1MiB; [ ! -e $p ] || fail "made $p"; done; }
row X2 "a device that is not there is not made" misspelt
for what in / /dev/null /dev/zero /dev/full; do
  special() { ends "2|3" "$assay" run write.toml --quiet --out out --only "$1" --write "$1" --size 1MiB; }
  row X3 "$what as a target" special $what
done
fifo() { mkfifo p; victim p; ends "2|3" "$assay" run write.toml --quiet --out out --only ./p --write ./p; }
row X4 "a FIFO as a target" fifo
socket() { need python3; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'; victim s
  ends "2|3" "$assay" run write.toml --quiet --out out --only ./s --write ./s; }
row X5 "a socket as a target" socket
