//! The safety layer on loop devices: whatever is refused stays byte for byte as it was.
//!
//! Needs root, losetup, mkfs.ext4 and mkswap; a machine without them skips, and says so.

#![allow(clippy::print_stdout)] // a skipped test says why

use assay_engine::error::{Error, ErrorKind};
use assay_engine::safety::{Intent, May, survey};
use assay_engine::target::block::{self, Kind, Opened};
use assay_spec::Bytes;
use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;

fn dir() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// What a tool printed, or `None` (said aloud) if it is missing or failed.
fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(name).args(arguments).output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => {
            println!("skipped: {name}: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        Err(error) => {
            println!("skipped: {name}: {error}");
            None
        }
    }
}

/// A loop device, detached when dropped.
struct Loop(PathBuf);

impl Loop {
    fn new(backing: &Path, options: &[&str]) -> Option<Loop> {
        let backing = backing.to_str()?;
        let arguments = [&["--find", "--show"], options, &[backing]].concat();
        tool("losetup", &arguments).map(|name| Loop(PathBuf::from(name)))
    }

    fn name(&self) -> String {
        self.0.file_name().unwrap().to_string_lossy().into_owned()
    }

    fn partition(&self, number: u32) -> PathBuf {
        PathBuf::from(format!("{}p{number}", self.0.display()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("partx").arg("--delete").arg(&self.0).output();
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A mount, undone when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(device: &Path, point: &Path) -> Option<Mounted> {
        fs::create_dir_all(point).unwrap();
        // Read-only without replaying the journal, so that the image stays as it is.
        let arguments = ["-o", "ro,noload", device.to_str()?, point.to_str()?];
        tool("mount", &arguments).map(|_| Mounted(point.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

/// Active swap, switched off when dropped.
struct Swap(CString);

impl Swap {
    fn new(device: &Path) -> Option<Swap> {
        let path = c_path(device);
        // SAFETY: the path is a C string that outlives the call.
        if unsafe { libc::swapon(path.as_ptr(), 0) } == 0 {
            return Some(Swap(path));
        }
        println!("skipped: swapon: {}", std::io::Error::last_os_error());
        None
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        // SAFETY: the path is a C string that outlives the call.
        unsafe { libc::swapoff(self.0.as_ptr()) };
    }
}

/// An empty image of `size`.
fn image(dir: &Path, size: u64) -> PathBuf {
    let path = dir.join("image");
    fs::write(&path, vec![0; size as usize]).unwrap();
    path
}

/// Writes a partition table with one Linux partition from 1 MiB to the end.
fn partition_table(image: &Path, size: u64) {
    let mut sector = [0_u8; 512];
    sector[450] = 0x83;
    sector[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    sector[458..462].copy_from_slice(&((size / 512) as u32 - 2048).to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::OpenOptions::new().write(true).open(image).unwrap().write_all_at(&sector, 0).unwrap();
}

/// FNV-1a of a file.
fn hash(path: &Path) -> u64 {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
    fs::read(path).unwrap().iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn write(path: &Path) -> Intent {
    Intent { write: Some(path.to_owned()), writes: true, ..Intent::default() }
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
    let partition = disk.partition(1);
    // A kernel built without partition tables takes partitions from a tool.
    if !partition.exists() {
        let _ = Command::new("partx").arg("--add").arg(&disk.0).output();
    }
    if !partition.exists() {
        println!("skipped: the kernel made no {}", partition.display());
        return;
    }
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
    let named = Intent { destroy: Some(device.name()), ..write(&device.0) };
    assert!(block::open(&device.0, &named).is_ok());
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
    let before = hash(&image);
    let Some(swap) = Swap::new(&device.0) else { return };
    let error = refused(block::open(&device.0, &write(&device.0)), "device-mounted");
    assert!(error.message.contains("swap"), "{error}");
    drop(swap);
    refused(block::open(&device.0, &write(&device.0)), "device-signature");
    assert_eq!(hash(&image), before);
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
    let none = Intent { writes: true, ..Intent::default() };
    let Err(error) = block::open(&path, &none) else { panic!("made without a size") };
    assert_eq!((error.id, path.exists()), ("size-needed", false));
    let sized = Intent { size: Some(Bytes(3 * MIB + 4096)), ..none.clone() };
    let opened = block::open(&path, &sized).unwrap();
    assert!(opened.created && opened.kind == Kind::File);
    assert_eq!(opened.capacity, Bytes(3 * MIB + 4096));
    let contents = fs::read(&path).unwrap();
    assert!(contents.chunks(4096).all(|page| page.iter().filter(|b| **b == 0).count() < 100));
    drop(opened);
    assert!(!block::open(&path, &write(&path)).unwrap().created);
    refused(block::open(&path, &sized), "write-not-allowed");
    let lost = dir.path().join("no/such");
    refused(block::open(&lost, &sized), "no-such-directory");
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
