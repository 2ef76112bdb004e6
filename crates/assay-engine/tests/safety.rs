//! The safety layer on loop devices: whatever is refused stays byte for byte as it was.
//!
//! Needs root, losetup, mkfs.ext4 and mkswap; a machine without them skips, and says so.

#![allow(clippy::print_stdout)] // a skipped test says why

mod loop_device;

use assay_engine::error::{Error, ErrorKind};
use assay_engine::safety::{Intent, May, survey};
use assay_engine::target::block::{self, Kind, Opened};
use assay_spec::Bytes;
use loop_device::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

fn dir() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn write(path: &Path) -> Intent {
    Intent { write: Some(path.to_owned()), writes: true, writes_if_new: true, ..Intent::default() }
}

fn refused(result: Result<Opened, Error>, id: &str) -> Error {
    let Err(error) = result else { panic!("opened, where {id} was expected") };
    assert_eq!((error.id, error.kind), (id, ErrorKind::Environment), "{error}");
    assert!(!error.hint.is_empty());
    error
}

#[test]
fn a_mounted_partition_and_its_disk_are_refused_by_any_name() {
    let (dir, size) = (dir(), 16 * MIB);
    let image = image(dir.path(), size);
    partition_table(&image, size);
    let Some(disk) = Loop::new(&image, &["--partscan"]) else { return };
    let Some(partition) = disk.partition() else { return };
    let Some(_) = tool("mkfs.ext4", &["-q", partition.to_str().unwrap()]) else { return };
    let Some(mounted) = Mounted::new(&partition, &dir.path().join("point")) else { return };
    let before = hash(&image);
    let link = dir.path().join("link");
    symlink(&partition, &link).unwrap();
    for path in [&link, &partition, &disk.0] {
        // Not even naming what is lost helps.
        let destroy = Some(disk.name());
        let error =
            refused(block::open(path, &Intent { destroy, ..write(path) }), "device-mounted");
        assert!(error.message.contains("mounted at"), "{error}");
    }
    // The user meant the partition and typed the link: the same device, so this is no mismatch.
    refused(block::open(&partition, &write(&link)), "device-mounted");
    let what = survey().into_iter().find(|d| d.name == disk.name()).unwrap().may;
    assert!(matches!(what, May::Refused { id: "device-mounted", .. }), "{what}");
    // Reading is allowed.
    assert_eq!(block::open(&disk.0, &Intent::default()).unwrap().kind, Kind::BlockDevice);
    drop(mounted);
    // Unmounted, the partition table still protects it.
    refused(block::open(&disk.0, &write(&disk.0)), "device-signature");
    assert_eq!(hash(&image), before);
}

#[test]
fn a_file_system_is_destroyed_only_by_name() {
    let dir = dir();
    let image = image(dir.path(), 16 * MIB);
    let Some(_) = tool("mkfs.ext4", &["-q", image.to_str().unwrap()]) else { return };
    let Some(device) = Loop::new(&image, &[]) else { return };
    let before = hash(&image);
    let error = refused(block::open(&device.0, &write(&device.0)), "device-signature");
    assert!(error.message.contains("ext2/3/4") && error.hint.contains(&device.name()));
    let other = Intent { destroy: Some("loop999".into()), ..write(&device.0) };
    refused(block::open(&device.0, &other), "destroy-mismatch");
    let without = Intent { write: None, ..write(&device.0) };
    refused(block::open(&device.0, &without), "write-not-allowed");
    let elsewhere = write(Path::new("/dev/null"));
    refused(block::open(&device.0, &elsewhere), "write-mismatch");
    assert_eq!(hash(&image), before);
    let word = error.hint.rsplit(' ').next().unwrap().to_owned();
    let named = Intent { destroy: Some(word), ..write(&device.0) };
    assert!(block::open(&device.0, &named).is_ok());
    // The name of a device may come to be another's, so it is not enough.
    let kernel_name = Intent { destroy: Some(device.name()), ..write(&device.0) };
    refused(block::open(&device.0, &kernel_name), "destroy-mismatch");
}

#[test]
fn a_device_behind_another_loop_device_is_refused() {
    let dir = dir();
    let image = image(dir.path(), 4 * MIB);
    let Some(lower) = Loop::new(&image, &[]) else { return };
    let before = hash(&image);
    let Some(upper) = Loop::new(&lower.0, &[]) else { return };
    let error = refused(block::open(&lower.0, &write(&lower.0)), "device-mounted");
    assert!(error.message.contains(&upper.name()), "{error}");
    drop(upper);
    assert_eq!(hash(&image), before);
}

#[test]
fn active_swap_is_refused() {
    let dir = dir();
    let image = image(dir.path(), 4 * MIB);
    let Some(_) = tool("mkswap", &[image.to_str().unwrap()]) else { return };
    let Some(device) = Loop::new(&image, &[]) else { return };
    let before = swap_header(&image);
    let Some(swap) = Swap::new(&device.0) else { return };
    let error = refused(block::open(&device.0, &write(&device.0)), "device-mounted");
    assert!(error.message.contains("swap"), "{error}");
    drop(swap);
    refused(block::open(&device.0, &write(&device.0)), "device-signature");
    assert_eq!(swap_header(&image), before);
}

#[test]
fn the_disk_of_the_system_is_refused() {
    let root = fs::metadata("/").unwrap().dev();
    let number = format!("/sys/dev/block/{}:{}", libc::major(root), libc::minor(root));
    let Ok(name) = fs::canonicalize(number) else {
        println!("skipped: / is not on a block device");
        return;
    };
    let node = Path::new("/dev").join(name.file_name().unwrap());
    if !node.exists() {
        println!("skipped: no {}", node.display());
        return;
    }
    // Refused by number, before anything is opened.
    refused(block::open(&node, &write(&node)), "device-system");
    let error =
        refused(block::open(&node, &Intent { write: None, ..write(&node) }), "write-not-allowed");
    assert!(!error.hint.contains("--write"), "the hint asks for what will be refused");
}

#[test]
fn a_misspelt_device_is_not_created() {
    let dir = dir();
    let link = dir.path().join("link");
    symlink("/dev", &link).unwrap();
    for path in ["/dev/assay-no-such", "/dev/assay-no/such"].map(PathBuf::from) {
        let intent = Intent { size: Some(Bytes(MIB)), ..write(&path) };
        refused(block::open(&path, &intent), "no-such-device");
        assert!(!path.exists());
    }
    let through = link.join("assay-no-such");
    let intent = Intent { size: Some(Bytes(MIB)), ..write(&through) };
    refused(block::open(&through, &intent), "no-such-device");
    assert!(!Path::new("/dev/assay-no-such").exists());
}

#[test]
fn a_file_of_somebody_else_is_read_but_not_written() {
    let dir = dir();
    let path = image(dir.path(), MIB);
    let before = hash(&path);
    refused(block::open(&path, &write(&path)), "file-not-ours");
    refused(block::open(&path, &Intent { write: None, ..write(&path) }), "write-not-allowed");
    assert_eq!(block::open(&path, &Intent::default()).unwrap().capacity, Bytes(MIB));
    assert_eq!(hash(&path), before);
}

#[test]
fn a_new_file_is_full_of_noise_and_ours_from_then_on() {
    let dir = dir();
    let path = dir.path().join("new");
    let none = Intent { writes: true, writes_if_new: true, ..Intent::default() };
    let Err(error) = block::open(&path, &none) else { panic!("made without a size") };
    assert_eq!((error.id, path.exists()), ("size-needed", false));
    let sized = Intent { size: Some(Bytes(3 * MIB + 4096)), ..none.clone() };
    let mut opened = block::open(&path, &sized).unwrap();
    assert!(opened.created && opened.kind == Kind::File);
    assert!(!path.exists(), "it has no name before it is whole");
    opened.make().unwrap();
    assert_eq!(opened.capacity, Bytes(3 * MIB + 4096));
    drop(opened);
    let contents = fs::read(&path).unwrap();
    assert!(contents.chunks(4096).all(|page| page.iter().filter(|b| **b == 0).count() < 100));
    assert!(!block::open(&path, &write(&path)).unwrap().created);
    refused(block::open(&path, &sized), "write-not-allowed");
    let lost = dir.path().join("no/such");
    refused(block::open(&lost, &sized), "no-such-directory");
    let slash = dir.path().join("a-directory/");
    refused(block::open(&slash, &sized), "no-such-directory");
    let huge = Intent { size: Some(Bytes(1 << 60)), ..none };
    let path = dir.path().join("huge");
    refused(block::open(&path, &huge), "target-create");
    assert!(!path.exists(), "what was begun is removed");
}

#[test]
fn a_clean_free_device_is_opened_and_claimed() {
    let dir = dir();
    let image = image(dir.path(), 4 * MIB);
    let Some(device) = Loop::new(&image, &[]) else { return };
    let opened = block::open(&device.0, &write(&device.0)).unwrap();
    assert_eq!((opened.kind, opened.capacity), (Kind::BlockDevice, Bytes(4 * MIB)));
    assert_eq!(opened.identity.kernel_name, Some(device.name()));
    refused(block::open(&device.0, &write(&device.0)), "device-busy");
    drop(opened);
    drop(device);
    let Some(device) = Loop::new(&image, &["--read-only"]) else { return };
    refused(block::open(&device.0, &write(&device.0)), "device-readonly");
}

#[test]
fn other_things_are_no_targets() {
    for path in ["/dev/null", "/"] {
        refused(block::open(Path::new(path), &Intent::default()), "not-a-target");
    }
    refused(block::open(Path::new("/proc/cpuinfo"), &Intent::default()), "no-direct-io");
}
