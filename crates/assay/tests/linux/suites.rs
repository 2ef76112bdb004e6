//! What file systems, elevators and arrays do in a guest, twice.

use super::{cells_of, guest, is_full, no_guests, two_at_a_time};
use crate::command::{assay, temporary};
use std::process::Command;
use std::sync::Mutex;

const FILESYSTEMS: [&str; 9] =
    ["ext2", "ext3", "ext4", "reiserfs", "nilfs2", "btrfs", "xfs", "jfs", "f2fs"];
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "bfq", "kyber"];

/// Makes a file system, writes a large file and many small ones, mounts it again with nothing
/// cached, compares all contents, and checks it where there is a tool for that.
const FILESYSTEM: &str = r#"
fs=$1 dev=/dev/vda at=/run/mnt
case $fs in
  ext*) mkfs.$fs -q -F $dev ;;
  reiserfs) mkfs.reiserfs -q -ff $dev >/dev/null 2>&1 ;;
  jfs) mkfs.jfs -q $dev >/dev/null ;;
  *) mkfs.$fs -f $dev >/dev/null 2>&1 ;;
esac
mount -t $fs $dev $at
dd if=/bin/bash of=$at/large bs=64k conv=fsync 2>/dev/null
mkdir $at/small
i=0
while [ $i -lt 200 ]; do echo "$i of $fs" >$at/small/$i; i=$((i + 1)); done
sync
(cd $at && md5sum large small/* >/run/sums)
umount $at
echo 3 >/proc/sys/vm/drop_caches
mount -t $fs $dev $at
(cd $at && md5sum --quiet -c /run/sums && md5sum large)
umount $at
case $fs in
  ext*) fsck.$fs -f -n $dev >/dev/null 2>&1 ;;
  reiserfs) reiserfsck --check -y -q $dev >/dev/null 2>&1 ;;
  xfs) xfs_repair -n $dev >/dev/null 2>&1 ;;
  jfs) fsck.jfs -n -f $dev >/dev/null 2>&1 ;;
  f2fs) fsck.f2fs $dev >/dev/null 2>&1 ;;
  btrfs) btrfs check $dev >/dev/null 2>&1 ;;
esac
"#;

/// Makes an array, writes to it, lets a drive fail, reads, puts it back and waits until it is
/// whole.
const ARRAY: &str = r#"
level=$1
mdadm --create /dev/md0 --run --level=$level --raid-devices=4 --metadata=1.0 --bitmap=none \
  /dev/vda /dev/vdb /dev/vdc /dev/vdd 2>/dev/null
mdadm --wait /dev/md0 || true
mkfs.ext4 -q -F /dev/md0
mount -t ext4 /dev/md0 /run/mnt
dd if=/bin/bash of=/run/mnt/file bs=64k conv=fsync 2>/dev/null
sum=$(md5sum </run/mnt/file)
again() { echo 3 >/proc/sys/vm/drop_caches; test "$(md5sum </run/mnt/file)" = "$sum"; }
mdadm /dev/md0 --fail /dev/vdb --remove /dev/vdb 2>/dev/null
again
dd if=/bin/sh of=/run/mnt/other bs=4k conv=fsync 2>/dev/null
mdadm --zero-superblock /dev/vdb
mdadm /dev/md0 --add /dev/vdb 2>/dev/null
mdadm --wait /dev/md0 || true
grep -q '\[UUUU\]' /proc/mdstat
again
umount /run/mnt
mdadm --stop /dev/md0 2>/dev/null
echo $sum
"#;

/// An array without redundancy says that it has lost something.
const LOSS: &str = r#"
mdadm --create /dev/md0 --run --level=0 --raid-devices=2 --metadata=1.0 \
  /dev/vda /dev/vdb 2>/dev/null
mdadm /dev/md0 --fail /dev/vdb 2>/dev/null && exit 1
mdadm --stop /dev/md0 2>/dev/null
mdadm --zero-superblock /dev/vdb
mdadm --assemble /dev/md0 /dev/vda /dev/vdb 2>&1 && exit 1
echo lost
"#;

#[test]
fn nine_file_systems_under_four_elevators_twice() {
    if no_guests() {
        return;
    }
    let sum = Mutex::new(None);
    let schedulers = if is_full() { SCHEDULERS.len() } else { 1 };
    two_at_a_time(FILESYSTEMS.len() * schedulers, |index| {
        let fs = FILESYSTEMS[index / schedulers];
        let scheduler = SCHEDULERS[index % SCHEDULERS.len()];
        let directory = temporary();
        let run = || guest(directory.path(), 1, &["--scheduler", scheduler], FILESYSTEM, &[fs]);
        let (first, second) = (run(), run());
        assert!(first.1 == second.1, "{fs} under {scheduler}: another log the second time");
        assert!(first.0.ends_with("large\n"), "{fs} under {scheduler}: {}", first.0);
        let mut sum = sum.lock().unwrap();
        let sum = sum.get_or_insert_with(|| first.0.clone());
        assert_eq!(*sum, first.0, "{fs} under {scheduler}: other contents");
    });
}

#[test]
fn arrays_lose_a_drive_and_get_it_back_twice() {
    if no_guests() {
        return;
    }
    let levels: &[&str] = if is_full() { &["1", "10", "4", "5", "6"] } else { &["10", "6"] };
    two_at_a_time(levels.len(), |index| {
        let directory = temporary();
        let run = || guest(directory.path(), 4, &[], ARRAY, &[levels[index]]);
        let (first, second) = (run(), run());
        assert!(first.1 == second.1, "level {}: another log the second time", levels[index]);
    });
}

#[test]
fn an_array_without_redundancy_reports_its_loss() {
    if no_guests() {
        return;
    }
    let (said, _) = guest(temporary().path(), 2, &[], LOSS, &[]);
    assert!(said.ends_with("lost\n"), "{said}");
}

/// ZFS is a process of the guest, which is ended and started again where others are unmounted.
const POOL: &str = r#"
format = 1
name = "pool"
question = "What does a pool give?"
log = false
targets = ["linux(fs=zfs, raid-z(sim:x25-m-g2*3), memory=384MiB, name=pool)"]

[[workload]]
name = "seq-rd"
file = "read"
size = "64KiB"
length = "128MiB"
expect = ["requests == 2048", "drive_read_bytes > 40000000"]

# Nothing that git writes before the process ends is synced.
[[workload]]
name = "git"
file = "git"
files = 300
directories = 20
length = "13kB"
tags = 3
changes = 20
merge_changes = 40
merge_every = 2
expect = ["requests == 2"]
"#;

#[test]
fn a_pool_is_read_after_its_process_has_ended() {
    if no_guests() {
        return;
    }
    let dir = temporary();
    std::fs::write(dir.path().join("pool.toml"), POOL).unwrap();
    let output = assay(dir.path(), &["run", "pool.toml", "--quiet", "--out", "out"]);
    let talk = String::from_utf8_lossy(&output.stderr);
    if talk.contains("`zfs-fuse` is not installed") {
        return println!("skipped: zfs-fuse is not installed");
    }
    assert_eq!(output.status.code(), Some(0), "{talk}");
}

/// Writes the drive from start to end, each time other bytes, until it refuses; then what it has
/// refused must not be there, and what it took before must.
const WORN: &str = r#"
dev=/dev/vda bs=65536 pass=0
while pass=$((pass + 1)); do
  tr '\0' "\\$(printf %03o $pass)" </dev/zero |
    dd of=$dev bs=$bs count=768 iflag=fullblock oflag=direct 2>/run/said || break
  test $pass -lt 200
done
taken=$(sed -n 's/^\([0-9]*\)+.* records out$/\1/p' /run/said)
byte() { dd if=$dev bs=$bs skip=$1 count=1 iflag=direct 2>/dev/null | od -An -tu1 -N1 | tr -d ' '; }
test "$(byte $taken)" = $((pass - 1))
test $taken = 0 || test "$(byte $((taken - 1)))" = $pass
echo "$pass passes"
"#;

#[test]
fn what_a_worn_drive_refuses_is_not_on_it() {
    if no_guests() {
        return;
    }
    let dir = temporary();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let drive = format!("sim:{}", root.join("examples/devices/mortal-ssd.toml").display());
    let (said, _) = guest(dir.path(), 0, &["--drive", &drive], WORN, &[]);
    // Blocks take 40 erases, give or take 5 %.
    let passes: u32 = said.trim().trim_end_matches(" passes").parse().expect("a number");
    assert!((30..60).contains(&passes), "{said}");
}

/// A thread of jfs yields the processor until a request of another thread has ended.
const JFS: &str = r#"
format = 1
name = "jfs"
question = "Does time pass while a thread yields?"
repeats = 1
scale = "1/16"
targets = ["linux(fs=jfs, sim:wd-raptor, processor=core-2-2660, partition=32GiB)"]
[[workload]]
name = "git"
file = "git"
files = 29000
directories = 1800
length = "13kB"
tags = 6
changes = 70
merge_changes = 900
merge_every = 3
background = true
"#;

#[test]
fn time_passes_while_a_thread_of_jfs_yields() {
    if no_guests() {
        return;
    }
    let mut command = Command::new("timeout");
    cells_of(command.arg("300").arg(env!("CARGO_BIN_EXE_assay")), JFS);
}
