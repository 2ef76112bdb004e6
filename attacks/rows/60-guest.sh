# Stacks that this machine's kernel may lack (mappings, arrays, btrfs over two drives), in a guest of ours,
# whose kernel has them. Its drives are modelled, and what is refused there is refused here.

guest_of() { # guest_of EXPECTED SCRIPT: the script sets $target and $victim; what assay does must be EXPECTED
  "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests: \`assay linux build\`"
  cat >guest.sh <<GUEST
set -e
cd /run
fail() { echo "failed: \$*"; exit 9; }
need() { for tool in "\$@"; do command -v "\$tool" >/dev/null || { echo "skip: no \$tool"; exit 77; }; done; }
victim=/dev/vda
$2
before=\$(sha256sum <\$victim)
code=0
set -- --destroy "\${target##*/}"
[ -z "\${undestroyed-}" ] && [ "$1" = refused ] || set --
"$assay" run $PWD/write.toml --quiet --out /run/out --only \$target --write \$target "\$@" >/run/said 2>&1 || code=\$?
cat /run/said
after=\$(sha256sum <\$victim)
case "$1 \$code" in
  "refused 3") [ "\$before" = "\$after" ] || fail "the victim was changed"
    ! grep -q destroy-mismatch /run/said || fail "refused for another reason" ;;
  "written 0") ;;
  *) fail "exit status \$code, not $1" ;;
esac
GUEST
  local code=0
  timeout 100 "$assay" linux run --drive "sim:$here/drive.toml" --drive "sim:$here/drive.toml" --fresh --quiet \
    --out guest-out -- sh "$PWD/guest.sh" >.out 2>.err </dev/null || code=$?
  [ $code != 77 ] || skip "$(tail -n 1 .out)"
  [ $code = 0 ] || fail "$(cat .out .err)"
}
linear='need dmsetup; sectors=16384
dmsetup create --noudevsync --noudevrules low --table "0 $sectors linear /dev/vda 2048"'
row M1 "a drive under a mapping" guest_of refused "$linear; target=/dev/vda"
row M2 "a mounted mapping" guest_of refused "$linear
  need mkfs.ext4; mkfs.ext4 -q /dev/dm-0; mkdir m; mount /dev/dm-0 m; target=/dev/dm-0"
row M3 "another mapping on the same bytes as a mounted one" guest_of refused "$linear
  need mkfs.ext4; mkfs.ext4 -q /dev/dm-0; mkdir m; mount /dev/dm-0 m
  dmsetup create --noudevsync --noudevrules other --table '0 4096 linear /dev/vda 4096'; target=/dev/dm-1"
row M4 "another mapping on other bytes of the same drive" guest_of written "$linear
  dmsetup create --noudevsync --noudevrules other --table '0 8192 linear /dev/vda 20480'; target=/dev/dm-1"
row M5 "a striped mapping over a drive that is in use" guest_of refused "$linear
  need mkfs.ext4; mkfs.ext4 -q /dev/dm-0; mkdir m; mount /dev/dm-0 m
  dmsetup create --noudevsync --noudevrules s --table '0 8192 striped 2 128 /dev/vdb 0 /dev/vda 2048'; target=/dev/dm-1"
row M6 "a mapping on a mapping that is in use" guest_of refused "$linear
  dmsetup create --noudevsync --noudevrules mid --table '0 8192 linear /dev/dm-0 0'
  dmsetup create --noudevsync --noudevrules top --table '0 4096 linear /dev/dm-0 4096'
  need mkfs.ext4; mkfs.ext4 -q /dev/dm-1; mkdir m; mount /dev/dm-1 m; target=/dev/dm-2"
row M7 "a loop device on a drive under a mapping" guest_of refused "$linear
  need losetup; target=\$(losetup --find --show /dev/vda)"
array='need mdadm; mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=1.2 --assume-clean /dev/vda /dev/vdb >/dev/null 2>&1'
row M8 "a member of a running array" guest_of refused "$array; target=/dev/vda"
row M9 "a loop device on a member of a running array" guest_of refused "$array; target=\$(losetup --find --show /dev/vda)"
row M10 "a stopped array's member" guest_of refused "$array; mdadm --stop /dev/md0 >/dev/null 2>&1; target=/dev/vda; undestroyed=1"
row M11 "a mounted array" guest_of refused "$array; need mkfs.ext4; mkfs.ext4 -q /dev/md0; mkdir m; mount -o ro /dev/md0 m; target=/dev/md0; victim=/dev/md0"
row M12 "an array that is free" guest_of written "$array; target=/dev/md0"
for metadata in 0.90 1.0 1.1; do
  row M13 "a stopped array's member, metadata $metadata" guest_of refused "need mdadm
    mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --metadata=$metadata --assume-clean /dev/vda /dev/vdb >/dev/null 2>&1
    mdadm --stop /dev/md0 >/dev/null 2>&1; target=/dev/vda; undestroyed=1"
done
row M14 "the second drive of a mounted btrfs" guest_of refused "need mkfs.btrfs
  mkfs.btrfs -q -f /dev/vda /dev/vdb; btrfs device scan >/dev/null 2>&1 || true; mkdir m; mount /dev/vda m; target=/dev/vdb; victim=/dev/vdb"
row M15 "swap on an array" guest_of refused "$array; need mkswap swapon; mkswap -q /dev/md0 >/dev/null; swapon /dev/md0; target=/dev/vda"
for kind in ext2 ext3 ext4 xfs btrfs jfs nilfs2 reiserfs f2fs; do
  force=-F; case $kind in xfs|btrfs|f2fs) force=-f ;; jfs|nilfs2) force= ;; reiserfs) force=-ff ;; esac
  row M16 "$kind, mounted" guest_of refused "need mkfs.$kind; mkfs.$kind -q $force /dev/vda >/dev/null 2>&1 || { echo 'skip: mkfs failed'; exit 77; }
    mkdir m; mount -t $kind -o ro /dev/vda m || { echo 'skip: no mount'; exit 77; }; target=/dev/vda"
  row M17 "$kind, and a loop device on it" guest_of refused "need mkfs.$kind; mkfs.$kind -q $force /dev/vda >/dev/null 2>&1 || { echo 'skip: mkfs failed'; exit 77; }
    mkdir m; mount -t $kind -o ro /dev/vda m || { echo 'skip: no mount'; exit 77; }; target=\$(losetup --find --show /dev/vda)"
done

# D12: attempts of a guest to change its host.
escape() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  mkdir v; echo mine >v/x; victim v/x v
  "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out guest-out -- sh -c "cd $PWD/v; $1" >.out 2>.err </dev/null || true
  [ ! -e v/new ] || fail "made on the host"; }
while read -r words; do row D12 "$words" escape "$words"; done <<'WAYS'
mount -o remount,rw /; touch new; echo evil >x; rm x
mkdir /run/h; mount -t hostfs -o / none /run/h; touch /run/h$PWD/new; echo evil >/run/h$PWD/x
mount --bind / /run; mount -o remount,rw,bind /run; touch /run$PWD/new; rm -f /run$PWD/x
mount -o remount,rw /; chmod 777 x; chown 1:1 x; touch -d 2001-01-01 x; truncate -s 0 x; mv x y; ln x new; mkdir new
ln -s / /run/shared/l; echo evil >/run/shared/l$PWD/x; mount -t hostfs -o /run/shared/l none /run/mnt; echo evil >/run/mnt$PWD/x
WAYS
image_of() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  ends "$1" "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out "out-$RANDOM" --image "${@:2}" -- sh -c 'dd if=/dev/zero of=/dev/vda bs=4k count=4 2>/dev/null; echo x >/dev/vda; sync'; }
image_strange() { truncate -s 320M f; echo mine | dd of=f conv=notrunc status=none; victim f; image_of 3 f; }
row I1 "linux run --image with a file of somebody else" image_strange
image_link() { truncate -s 320M v; ln -s v f; victim v f; image_of 3 f; }
row I2 "the same through a symlink" image_link
image_node() { noise i 2; attach i; victim i; image_of 3 "$device"; }
row I3 "linux run --image with a block device" image_node
image_ours() { image_of 0 f; image_of 0 f; }
row I4 "an image that assay made is used again" image_ours
image_target() { "$assay" run read.toml --quiet --out one --only ./f --size 320MiB; need mkfs.ext4; mkfs.ext4 -q -F f; victim f; image_of 3 f; says "as an image"; }
row I15 "a target of assay's with a file system on it, as an image" image_target
image_as_target() { image_of 0 f; victim f; writes ./f; says "as a target"; }
row I16 "an image of assay's as a target" image_as_target
image_named() { truncate -s 320M f; image_of 0 f --write f; }
row I5 "an image of somebody else that --write names" image_named
image_saved() { need filefrag; image_of 0 f; filefrag -v f | grep -q delalloc && fail "what the guest wrote is in memory alone"; true; }
output_gone() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  ends 3 "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out -- sh -c 'echo lost; rm /run/shared/stdout'; says "did not leave the file .stdout"; }
row I10 "a guest that removes its own output" output_gone
row I9 "what a guest wrote to an image is on the disk when it has ended" image_saved
image_busy() { image_of 0 f; attach f; victim f; image_of 3 f; }
row I6 "an image that is behind a loop device" image_busy
images_of() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; echo mine >v; victim v
  ends 3 "$assay" linux run --drive "sim:$here/drive.toml" --drive "sim:$here/drive.toml" --quiet --out out --image new --image "$1" -- true
  [ ! -e new ] && [ ! -e out ] || fail "left: $(ls)"; }
row I7 "a new image beside one that is refused" images_of v
row I8 "one new image for two drives" images_of new
image_inside() { "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  ends 2 "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out --image out/command.json -- true
  says "would lie in the run directory"; [ ! -e out ] || fail "left: $(ls -A out)"; }
row I13 "an image that has the name of the record in the run directory" image_inside
image_lost() { "$assay" linux status >/dev/null 2>&1 || skip "no guest kernel"
  "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out lo --image im -- \
    sh -c 'echo mine >/dev/vda; sync; i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done' >.out 2>.err & run=$!
  undo "kill -9 $run"; for _ in $(seq 200); do [ -s im ] && break; sleep 0.05; done; sleep 1; eval "$1"; run_ends 3; says linux-image-lost; }
row I14 "an image that is removed while the guest runs" image_lost 'rm im'
row I14 "an image that is cut while the guest runs" image_lost 'truncate -s 4096 im'
row I14 "another file in the place of the image" image_lost 'echo mine >other; mv other im; victim im'

# raw_until SIGNAL: the shell of a guest on a terminal; SIGNAL ends assay, and the terminal is as it was.
raw_until() { need python3; "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; cat >lent.py <<'P'
import os, pty, signal, subprocess, sys, termios, time
wanted, program = getattr(signal, sys.argv[1]), sys.argv[2:]
ours, theirs = pty.openpty()
before = termios.tcgetattr(theirs)
child = subprocess.Popen(program, stdin=theirs, stdout=theirs, start_new_session=True)
end = time.time() + 30
while termios.tcgetattr(theirs)[3] & termios.ECHO and time.time() < end: time.sleep(0.05)
assert not termios.tcgetattr(theirs)[3] & termios.ECHO, "the terminal is not lent"
time.sleep(0.5)
child.send_signal(wanted)
try: assert child.wait(30) == -wanted, f"it ended with {child.returncode}"
finally: child.kill()
assert termios.tcgetattr(theirs) == before, "the terminal is in raw mode"
P
  ends 0 python3 lent.py "$1" "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out --shell; }
for signal in SIGQUIT SIGABRT SIGALRM SIGUSR1 SIGSEGV SIGRTMIN; do
  row I11 "$signal ends a shell on a terminal" raw_until $signal
done

# What a guest closes to all must go with its directory, also for a user who is not root.
closed_by_guest() { local as=; "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"; mkdir t; export TMPDIR=$PWD/t
  [ "$(id -u)" != 0 ] || { need setpriv; chmod 755 .; chmod 777 t; mkdir cache; cp -r "$(dirname "$("$assay" linux status --json | sed -n 's/.*"path": *"\(.*\)".*/\1/p')")" cache/linux
    export ASSAY_CACHE=$PWD/cache HOME=$PWD/t; chmod -R a+rX cache; as="setpriv --reuid=65533 --regid=65533 --clear-groups"; $as test -x "$assay" -a -w t || skip "others may not come here"; }
  ends 0 $as "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out t/out -- sh -c "$1"
  rm -r t/out; [ -z "$(ls -A t)" ] || fail "left: $(find t)"; }
row I16 "a guest closes a directory that it shares" closed_by_guest 'mkdir /run/shared/a; touch /run/shared/a/b; chmod 0 /run/shared/a'

# The ext2 of a guest has no attributes. This one has 16 inodes: with four files, one is left for the target.
sidecar_full() { need mke2fs; "$assay" linux status >/dev/null 2>&1 || skip "no kernel for guests"
  ends 0 "$assay" linux run --drive "sim:$here/drive.toml" --quiet --out out -- sh -c "cd /run; mkdir t
    mke2fs -qt ext2 -N 16 /dev/vda 1M; mount /dev/vda t; touch t/1 t/2 t/3 t/4
    '$assay' run '$PWD/read.toml' --quiet --out o --only t/s --size 64KiB; [ \$? = 3 ] && ls t"
  says "s.assay cannot be made"; [ "$(tr '\n' ' ' <.out)" = "1 2 3 4 lost+found " ] || fail "left: $(cat .out)"; }
row I12 "no attributes, and no room for the sidecar" sidecar_full
