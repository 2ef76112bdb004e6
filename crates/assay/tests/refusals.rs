//! Through the command line, whatever is refused stays byte for byte as it was.
//!
//! On loop devices: mounted, partitioned, formatted, stacked, swapped to; the system's own disk;
//! names that do not exist; files of somebody else. Each ends with exit code 3, the reason and a
//! hint. Needs root, losetup, mkfs.ext4 and mkswap; a machine without them skips, and says so.

#![allow(clippy::print_stdout)] // a skipped test says why

#[path = "../../assay-engine/tests/loop_device/mod.rs"]
mod loop_device;

mod command;

use command::assay;
use loop_device::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// A short version of `quick` for files: two workloads that read, two that write.
const SHORT: &str = r#"
format = 1
name = "short"
question = "What does a file give?"
targets = []

[[workload]]
name = "rnd-rd"
read_share = 1.0
size = "4KiB"
pattern = "random"
jobs = 4
measure = { time = "500ms" }

[[workload]]
name = "seq-rd"
read_share = 1.0
size = "256KiB"
pattern = "sequential"
measure = { time = "500ms" }

[[workload]]
name = "rnd-wr"
read_share = 0.0
size = "4KiB"
pattern = "random"
jobs = 4
measure = { time = "500ms" }

[[workload]]
name = "half"
read_share = 0.5
size = "4KiB"
pattern = "random"
measure = { time = "500ms" }
"#;

fn temporary() -> tempfile::TempDir {
    let dir = command::temporary();
    fs::write(dir.path().join("short.toml"), SHORT).unwrap();
    dir
}

/// Runs `quick` with `--write` on `path`; it must be refused for the reason `id`, said in `words`.
fn refused(dir: &Path, path: &Path, options: &[&str], id: &str, words: &str) {
    let path = path.to_str().unwrap();
    let fixed = ["run", "quick", "--only", path, "--write", path, "--out", "refused"];
    let output = assay(dir, &[&fixed, options].concat());
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{path}: {talk}");
    let reason = talk.lines().find(|l| l.starts_with(&format!("error[{id}]: ")));
    assert!(reason.is_some_and(|l| l.contains(words)), "{path}: {id}, {words}: {talk}");
    let hint = talk.lines().find_map(|l| l.strip_prefix("hint: "));
    assert!(hint.is_some_and(|h| !h.trim().is_empty()), "{path}: {talk}");
    assert!(output.stdout.is_empty(), "{path}: {output:?}");
    assert!(!dir.join("refused").exists(), "{path}: a refused run leaves no run directory");
}

#[test]
fn a_mounted_partition_and_its_disk() {
    let (dir, size) = (temporary(), 16 * MIB);
    let image = image(dir.path(), size);
    partition_table(&image, size);
    let Some(disk) = Loop::new(&image, &["--partscan"]) else { return };
    let Some(partition) = disk.partition() else { return };
    let Some(_) = tool("mkfs.ext4", &["-q", partition.to_str().unwrap()]) else { return };
    let point = dir.path().join("point");
    let Some(_mounted) = Mounted::new(&partition, &point) else { return };
    let before = hash(&image);
    let link = dir.path().join("link");
    symlink(&partition, &link).unwrap();
    let words = format!("mounted at {}", point.canonicalize().unwrap().display());
    for path in [&link, &partition, &disk.0] {
        refused(dir.path(), path, &[], "device-mounted", &words);
        // Not even naming what is lost helps.
        let destroy = ["--destroy", &disk.name()];
        refused(dir.path(), path, &destroy, "device-mounted", &words);
    }
    assert_eq!(hash(&image), before);
}

#[test]
fn a_device_with_a_file_system() {
    let dir = temporary();
    let image = image(dir.path(), 16 * MIB);
    let Some(_) = tool("mkfs.ext4", &["-q", image.to_str().unwrap()]) else { return };
    let Some(device) = Loop::new(&image, &[]) else { return };
    let before = hash(&image);
    refused(dir.path(), &device.0, &[], "device-signature", "holds an ext2/3/4 file system");
    let other = ["--destroy", "loop999"];
    refused(dir.path(), &device.0, &other, "destroy-mismatch", "loop999");
    assert_eq!(hash(&image), before);
}

#[test]
fn a_device_behind_another_loop_device() {
    let dir = temporary();
    let image = image(dir.path(), 4 * MIB);
    let Some(lower) = Loop::new(&image, &[]) else { return };
    let before = hash(&image);
    let Some(upper) = Loop::new(&lower.0, &[]) else { return };
    refused(dir.path(), &lower.0, &[], "device-mounted", &upper.name());
    drop(upper);
    assert_eq!(hash(&image), before);
}

#[test]
fn active_swap() {
    let dir = temporary();
    let image = image(dir.path(), 4 * MIB);
    let Some(_) = tool("mkswap", &[image.to_str().unwrap()]) else { return };
    let Some(device) = Loop::new(&image, &[]) else { return };
    let before = swap_header(&image);
    let Some(swap) = Swap::new(&device.0) else { return };
    refused(dir.path(), &device.0, &[], "device-mounted", "swap");
    drop(swap);
    refused(dir.path(), &device.0, &[], "device-signature", "swap");
    assert_eq!(swap_header(&image), before);
}

/// The device node that `/` is mounted from, by its number.
fn system_node() -> Option<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let root = table.lines().map(fields).rfind(|f| f.get(4).is_some_and(|point| point == "/"))?;
    let name = fs::canonicalize(format!("/sys/dev/block/{}", root[2])).ok()?;
    let node = Path::new("/dev").join(name.file_name()?);
    node.exists().then_some(node)
}

#[test]
fn the_disk_of_the_system() {
    let Some(node) = system_node() else {
        println!("skipped: / is not on a block device with a node");
        return;
    };
    // Safe to ask: refused by number before anything is opened for writing; and if that failed, the
    // claim on a mounted device would.
    let dir = temporary();
    let word = node.file_name().unwrap().to_string_lossy().into_owned();
    refused(dir.path(), &node, &[], "device-system", "carries this system");
    refused(dir.path(), &node, &["--destroy", &word], "device-system", &word);
}

#[test]
fn a_misspelt_device_is_not_created() {
    let dir = temporary();
    let link = dir.path().join("link");
    symlink("/dev", &link).unwrap();
    let through = link.join("assay-no-such");
    let paths = ["/dev/assay-no-such", "/dev/assay-no/such"].map(PathBuf::from);
    for path in paths.iter().chain([&through]) {
        for options in [&[] as &[&str], &["--size", "1MiB"]] {
            refused(dir.path(), path, options, "no-such-device", path.to_str().unwrap());
            assert!(!path.exists());
        }
    }
}

#[test]
fn a_file_of_somebody_else() {
    let dir = temporary();
    let path = image(dir.path(), 2 * MIB);
    let before = hash(&path);
    for options in [&[] as &[&str], &["--size", "1MiB"], &["--destroy", "image"]] {
        refused(dir.path(), &path, options, "file-not-ours", "assay did not make");
    }
    assert_eq!(hash(&path), before);
    // A copy of one of assay's own is not assay's own either.
    let copy = dir.path().join("copy");
    let ours = dir.path().join("ours");
    measured(dir.path(), "made", &["--only", "ours", "--size", "1MiB"]);
    fs::write(&copy, fs::read(&ours).unwrap()).unwrap();
    refused(dir.path(), &copy, &[], "file-not-ours", "assay did not make");
    assert_eq!(hash(&copy), hash(&ours));
}

/// Runs the short experiment; for every workload, the reason why it was skipped, if it was.
fn measured(dir: &Path, out: &str, options: &[&str]) -> Vec<(String, Option<String>)> {
    let fixed = ["run", "short.toml", "--quiet", "--out", out];
    let output = assay(dir, &[&fixed, options].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(dir.join(out).join("cells.json")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&text).unwrap();
    let one = |cell: &serde_json::Value| {
        let name = cell["workload"].as_str().unwrap().to_owned();
        let skipped = cell["skipped"].as_str().map(str::to_owned);
        let repeats = cell["repeats"].as_array().unwrap().len();
        assert_eq!(repeats, usize::from(skipped.is_none()), "{name}");
        (name, skipped)
    };
    cells["cells"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn without_write_an_existing_file_is_only_read() {
    let dir = temporary();
    let path = image(dir.path(), 4 * MIB);
    let before = hash(&path);
    let cells = measured(dir.path(), "out", &["--only", "image"]);
    let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["rnd-rd", "seq-rd", "rnd-wr", "half"]);
    for (name, skipped) in &cells {
        match skipped {
            None => assert!(name.ends_with("-rd"), "{name} was measured"),
            Some(why) => {
                let said = "the workload writes, but assay writes only to files that it made";
                assert!(why == said && !name.ends_with("-rd"), "{why}");
            }
        }
    }
    assert_eq!(hash(&path), before);
}

#[test]
fn a_new_file_is_made_measured_and_measured_again() {
    let dir = temporary();
    let path = dir.path().join("new.img");
    let all_measured = |cells: &[(String, Option<String>)]| {
        assert!(cells.len() == 4 && cells.iter().all(|c| c.1.is_none()), "{cells:?}");
    };
    let sized = ["--only", "new.img", "--size", "16MiB"];
    all_measured(&measured(dir.path(), "first", &sized));
    assert_eq!(fs::metadata(&path).unwrap().len(), 16 * MIB);
    let between = hash(&path);
    // Once there, it is not written to without being asked.
    let cells = measured(dir.path(), "second", &sized);
    let skipped: Vec<&str> = cells.iter().filter_map(|c| c.1.as_deref()).collect();
    assert_eq!(skipped, ["the workload writes, but `--write new.img` is not given"; 2]);
    assert_eq!(hash(&path), between);
    let write = ["--only", "new.img", "--write", "new.img"];
    all_measured(&measured(dir.path(), "third", &write));
    assert_ne!(hash(&path), between);
    assert_eq!(fs::metadata(&path).unwrap().len(), 16 * MIB);
}
