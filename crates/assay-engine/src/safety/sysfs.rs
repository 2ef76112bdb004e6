//! Block devices as `/sys` describes them: partitions, holders, slaves, loops and identity.
//!
//! Follows the kernel's Documentation/ABI/stable/sysfs-block. *Invariants.* Devices are told apart
//! by number, never by name or path. Nothing here opens a device.

use assay_fs::DeviceNumber;
use assay_spec::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// A block device: a disk, a partition, or something stacked on others.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) number: DeviceNumber,
    /// The kernel's name, e.g. `nvme0n1p2`.
    pub(crate) name: String,
    dir: PathBuf,
}

/// The number of sectors written and discarded on a device since it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    sectors: u64,
    discarded: u64,
}

impl Written {
    /// Returns the bytes written and discarded since the count `before`.
    pub(crate) fn since(self, before: Written) -> Bytes {
        let sectors = self.sectors.wrapping_sub(before.sectors);
        let discarded = self.discarded.wrapping_sub(before.discarded);
        Bytes(sectors.wrapping_add(discarded).saturating_mul(512))
    }
}

impl Device {
    /// Returns the device with `number`, if it exists.
    pub(crate) fn find(number: DeviceNumber) -> Option<Device> {
        let link = format!("/sys/dev/block/{}:{}", number.major, number.minor);
        Device::at(Path::new(&link))
    }

    /// A device that no machine has.
    #[cfg(test)]
    pub(crate) fn of_number(number: DeviceNumber) -> Device {
        Device { number, name: number.minor.to_string(), dir: PathBuf::new() }
    }

    fn at(link: &Path) -> Option<Device> {
        let dir = fs::canonicalize(link).ok()?;
        let number = DeviceNumber::parse(&fs::read_to_string(dir.join("dev")).ok()?)?;
        let name = dir.file_name()?.to_string_lossy().into_owned();
        Some(Device { number, name, dir })
    }

    /// Returns all disks and stacked devices, without partitions, sorted by name.
    pub(crate) fn all() -> Vec<Device> {
        children(Path::new("/sys/block"))
    }

    /// Returns the path where its node should be.
    pub(crate) fn node(&self) -> PathBuf {
        // In names such as `cciss/c0d0`, sysfs has an exclamation mark for the slash.
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// Returns the name, followed for a mapped device by the mapping's name in parentheses.
    pub(crate) fn title(&self) -> String {
        match self.mapped_name() {
            Some(name) => format!("{} ({name})", self.name),
            None => self.name.clone(),
        }
    }

    /// Returns the name that a mapped device was given when it was made.
    pub(crate) fn mapped_name(&self) -> Option<String> {
        self.text("dm/name")
    }

    /// Returns the UUID that a mapped device was given when it was made, e.g. by LVM.
    pub(crate) fn mapping_uuid(&self) -> Option<String> {
        self.text("dm/uuid")
    }

    /// Returns the disk that this is a partition of.
    pub(crate) fn parent(&self) -> Option<Device> {
        self.dir.join("partition").exists().then(|| Device::at(self.dir.parent()?)).flatten()
    }

    /// Returns the disk that this is a partition of, or the device itself.
    pub(crate) fn disk(&self) -> Device {
        self.parent().unwrap_or_else(|| self.clone())
    }

    /// Returns the partitions that the kernel knows.
    pub(crate) fn partitions(&self) -> Vec<Device> {
        let mut found = children(&self.dir);
        found.retain(|device| device.dir.join("partition").exists());
        found
    }

    /// Returns the devices that are built on this one: dm, md, bcache.
    pub(crate) fn holders(&self) -> Vec<Device> {
        children(&self.dir.join("holders"))
    }

    /// Returns the devices that this one is built on.
    pub(crate) fn slaves(&self) -> Vec<Device> {
        children(&self.dir.join("slaves"))
    }

    /// Returns `true` if it is a loop device to which the kernel sends no flush, because somebody
    /// has said that it has no cache. The file behind it does have one.
    pub(crate) fn is_loop_without_flush(&self) -> bool {
        let disk = self.disk();
        let cache = disk.text("queue/write_cache");
        // A device that is only read has no cache.
        let is_written = disk.backing_file().is_some() && !disk.is_read_only();
        is_written && cache.as_deref() == Some("write through")
    }

    /// Returns the path of the file or device behind a loop device.
    pub(crate) fn backing_file(&self) -> Option<PathBuf> {
        self.text("loop/backing_file").map(PathBuf::from)
    }

    /// Returns `true` if the kernel says that nothing is behind it, as a loop device.
    pub(crate) fn is_detached(&self) -> bool {
        match fs::read(self.dir.join("loop/backing_file")) {
            Ok(name) => name.is_empty(),
            Err(e) => matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)),
        }
    }

    /// Returns `true` if the kernel takes no writes for it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.text("ro").is_some_and(|ro| ro != "0")
    }

    /// Returns `true` for a rotating disk; `None` if the kernel does not say.
    pub(crate) fn is_rotational(&self) -> Option<bool> {
        Some(self.disk().text("queue/rotational")? != "0")
    }

    /// Returns the size, which sysfs counts in sectors of 512 bytes whatever the block size is.
    pub(crate) fn size(&self) -> Bytes {
        let sectors = self.text("size").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        Bytes(sectors.saturating_mul(512))
    }

    /// Returns the logical block size.
    pub(crate) fn block_size(&self) -> Option<Bytes> {
        let size = self.disk().text("queue/logical_block_size")?.parse().ok()?;
        Some(Bytes(size))
    }

    /// Returns the model name of the disk.
    pub(crate) fn model(&self) -> Option<String> {
        self.disk().text("device/model").or_else(|| self.disk().text("device/name"))
    }

    /// Returns the serial number of the disk, from wherever its driver shows it.
    pub(crate) fn serial(&self) -> Option<String> {
        let disk = self.disk();
        let scsi = || {
            // A header of four bytes precedes the number in ASCII.
            let page = fs::read(disk.dir.join("device/vpd_pg80")).ok()?;
            non_empty(&String::from_utf8_lossy(page.get(4..)?))
        };
        let udev = || {
            let number = disk.number;
            let path = format!("/run/udev/data/b{}:{}", number.major, number.minor);
            let record = fs::read_to_string(path).ok()?;
            non_empty(record.lines().find_map(|line| line.strip_prefix("E:ID_SERIAL_SHORT="))?)
        };
        disk.text("device/serial").or_else(|| disk.text("serial")).or_else(scsi).or_else(udev)
    }

    /// Returns the world wide name of the disk, from wherever its driver shows it.
    pub(crate) fn world_wide_name(&self) -> Option<String> {
        let disk = self.disk();
        disk.text("wwid").or_else(|| disk.text("device/wwid"))
    }

    /// Returns the UUID that the partition table gives a partition.
    pub(crate) fn partition_uuid(&self) -> Option<String> {
        self.parent()?;
        let number = self.number;
        let record = format!("/run/udev/data/b{}:{}", number.major, number.minor);
        let line = |text: String, key: &str| {
            non_empty(text.lines().find_map(|line| line.strip_prefix(key))?)
        };
        let of_kernel = self.text("uevent").and_then(|text| line(text, "PARTUUID="));
        of_kernel.or_else(|| line(fs::read_to_string(record).ok()?, "E:ID_PART_ENTRY_UUID="))
    }

    /// Returns `true` if the kernel counts nothing, because somebody has switched that off. Drivers
    /// without request queues do not have the switch.
    pub(crate) fn has_no_counts(&self) -> bool {
        let disk = self.disk();
        disk.dir.join("mq").exists() && disk.text("queue/iostats").is_some_and(|on| on == "0")
    }

    /// Returns the sectors written and discarded, by all users. The kernel counts a request before
    /// it reports its completion.
    pub(crate) fn written(&self) -> Option<Written> {
        let stat = self.text("stat")?;
        let mut fields = stat.split_whitespace().map(|field| field.parse().unwrap_or(0));
        let sectors = fields.nth(6)?;
        // Six fields are skipped: four of write time and the queue, and requests and merges of
        // discards.
        Some(Written { sectors, discarded: fields.nth(6).unwrap_or(0) })
    }

    /// Returns the bytes read, by all users, since the machine was started. Returns `None` if the
    /// kernel does not count them.
    pub(crate) fn bytes_read(&self) -> Option<Bytes> {
        let stat = self.text("stat").filter(|_| !self.has_no_counts())?;
        let sectors: u64 = stat.split_whitespace().nth(2)?.parse().ok()?;
        (sectors > 0).then(|| Bytes(sectors.saturating_mul(512)))
    }

    /// Returns the sectors written and discarded on a disk outside of its partitions. The counts
    /// are read one after the other, so while somebody writes to a partition it takes several
    /// tries. Returns `None` if all tries fail.
    pub(crate) fn written_past_partitions(&self) -> Option<Written> {
        const TRIES: u32 = 100;
        let of_partitions = || {
            let add = |sum: Written, one: Written| Written {
                sectors: sum.sectors.wrapping_add(one.sectors),
                discarded: sum.discarded.wrapping_add(one.discarded),
            };
            let all = self.partitions();
            all.iter().filter_map(Device::written).fold(Written::default(), add)
        };
        let mut before = of_partitions();
        for _ in 0..TRIES {
            let all = self.written()?;
            let now = of_partitions();
            if now == before {
                return Some(Written {
                    sectors: all.sectors.wrapping_sub(now.sectors),
                    discarded: all.discarded.wrapping_sub(now.discarded),
                });
            }
            before = now;
        }
        None
    }

    /// Reads an attribute that is a number.
    pub(crate) fn number_at(&self, attribute: &str) -> Option<u64> {
        self.text(attribute)?.parse().ok()
    }

    fn text(&self, attribute: &str) -> Option<String> {
        let bytes = fs::read(self.dir.join(attribute)).ok()?;
        non_empty(&String::from_utf8_lossy(&bytes))
    }
}

fn non_empty(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the devices in or linked from a directory, sorted by name; none if it does not exist.
fn children(dir: &Path) -> Vec<Device> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    // `device`, `subsystem` and other links lead elsewhere; only block devices have a file `size`
    // beside their file `dev`.
    let is_block = |path: &PathBuf| path.join("dev").exists() && path.join("size").exists();
    paths.iter().filter(|path| is_block(path)).filter_map(|path| Device::at(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_kernel_writes_them() {
        assert_eq!(DeviceNumber::parse("254:17\n"), Some(DeviceNumber { major: 254, minor: 17 }));
        for text in ["", "7", "7:", ":1", "a:b", "-1:2", "7:1:2"] {
            assert_eq!(DeviceNumber::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_read_as_the_kernel_holds_them() {
        let number = |major, minor| DeviceNumber { major, minor };
        assert_eq!(DeviceNumber::from_kernel(0xfe00), number(254, 0));
        assert_eq!(DeviceNumber::from_kernel(0x0010_0710), number(7, 0x110));
    }

    #[test]
    fn every_disk_of_this_machine_is_found_again_by_number() {
        for device in Device::all() {
            let again = Device::find(device.number).map(|d| d.name);
            assert_eq!(again, Some(device.name));
        }
    }
}
