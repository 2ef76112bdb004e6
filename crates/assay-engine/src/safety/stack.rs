//! Layers of storage: maps the bytes of a device to the devices and files that it lies on.
//!
//! *Invariants.* Ranges are in bytes of the store that they belong to. Unknown ranges count as all
//! bytes: a mapping whose table cannot be read overlaps all of its slaves.

use super::loops::Loop;
use super::store::{Extent, Store};
use super::sysfs::Device;
use assay_fs::DeviceNumber;
use assay_linux::child::{brief, tool};
use assay_linux::kernel::tool_path;
use std::process::Stdio;
use std::time::Duration;

/// Returns the extents that `device` directly lies on.
pub(crate) fn below(device: &Device, loops: &[Loop]) -> Vec<Extent> {
    if let Some(disk) = device.parent() {
        let start = device.number_at("start").unwrap_or(0).saturating_mul(512);
        let bytes = start..start.saturating_add(device.size().0);
        return vec![Extent { store: Store::Device(disk.number), bytes }];
    }
    if let Some(found) = loops.iter().find(|l| l.device.number == device.number) {
        return found.behind().cloned().into_iter().collect();
    }
    let slaves = device.slaves();
    let whole = || slaves.iter().map(|slave| Extent::all(Store::Device(slave.number))).collect();
    match device.mapped_name() {
        Some(_) if !slaves.is_empty() => table_of(device).unwrap_or_else(whole),
        _ => whole(),
    }
}

/// Returns the extents that a mapped device lies on, from its table. Returns `None` if the table
/// cannot be read, or has other targets than linear and striped ones.
fn table_of(device: &Device) -> Option<Vec<Extent>> {
    let DeviceNumber { major, minor } = device.number;
    let mut command = tool(tool_path("dmsetup")?);
    command.args(["table", "--major", &major.to_string(), "--minor", &minor.to_string()]);
    let most = Duration::from_secs(10);
    let output = brief(command.stdin(Stdio::null()), most, || false).ok()?;
    table(std::str::from_utf8(&output.stdout).ok()?)
}

/// Parses a device-mapper table of linear and striped targets. Returns `None` if it has others.
fn table(text: &str) -> Option<Vec<Extent>> {
    const SECTOR: u64 = 512;
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let length: u64 = words.nth(1)?.parse().ok()?;
        let parts = match words.next()? {
            "linear" => 1,
            "striped" => {
                let parts: u64 = words.next()?.parse().ok().filter(|n| *n > 0)?;
                words.next()?;
                parts
            }
            _ => return None,
        };
        for _ in 0..parts {
            let number = DeviceNumber::parse(words.next()?)?;
            let start = words.next()?.parse::<u64>().ok()?.checked_mul(SECTOR)?;
            let length = length.div_ceil(parts).checked_mul(SECTOR)?;
            let bytes = start..start.checked_add(length)?;
            found.push(Extent { store: Store::Device(number), bytes });
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Returns `start` and all extents that it lies on, down to disks and to the files behind loop
/// devices. The device of the file system that holds such a file is not included.
pub(crate) fn foundation_of(start: Extent, loops: &[Loop]) -> Vec<Extent> {
    let mut found = vec![start];
    let mut next = 0;
    while let Some(extent) = found.get(next).cloned() {
        next += 1;
        let Store::Device(number) = extent.store else { continue };
        let Some(device) = Device::find(number) else { continue };
        // A partition or loop device maps its bytes in order, so the used part is known.
        let is_linear =
            device.parent().is_some() || loops.iter().any(|l| l.device.number == device.number);
        for under in below(&device, loops) {
            let part = if is_linear { under.part(&extent.bytes) } else { under };
            if !found.contains(&part) {
                found.push(part);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    fn on(minor: u32, bytes: Range<u64>) -> Extent {
        Extent { store: Store::Device(DeviceNumber { major: 8, minor }), bytes }
    }

    #[test]
    fn extents_overlap_if_they_share_a_byte() {
        assert!(on(1, 0..10).overlaps(&on(1, 9..20)));
        assert!(!on(1, 0..10).overlaps(&on(1, 10..20)));
        assert!(!on(1, 0..10).overlaps(&on(2, 0..10)));
        assert!(Extent::all(on(1, 0..0).store).overlaps(&on(1, 5..6)));
        assert_eq!(on(1, 100..200).part(&(10..u64::MAX)), on(1, 110..200));
        assert_eq!(on(1, 100..u64::MAX).part(&(10..20)), on(1, 110..120));
    }

    #[test]
    fn tables_of_linear_and_striped_targets_say_where_they_lie() {
        let linear = "0 2048 linear 8:17 384\n2048 1024 linear 8:33 0\n";
        let expected = [on(17, 196_608..1_245_184), on(33, 0..524_288)];
        assert_eq!(table(linear).unwrap(), expected);
        let striped = table("0 4096 striped 2 128 8:17 0 8:33 64").unwrap();
        assert_eq!(striped, [on(17, 0..1_048_576), on(33, 32_768..1_081_344)]);
    }

    #[test]
    fn a_table_that_is_not_understood_is_not_guessed_at() {
        let texts = [
            "0 10 crypt aes-xts-plain64 :64:logon:x 0 8:17 4096",
            "0 10 linear 8:17 0\n10 10 thin 253:2 1",
            "0 10 linear 8:17",
            "0 10 striped 0 128 8:17 0",
            "x",
            "",
            "0 18446744073709551615 linear 8:17 18446744073709551615",
        ];
        for text in texts {
            assert_eq!(table(text), None, "{text}");
        }
    }
}
