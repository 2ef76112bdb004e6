//! The page cache answered: memory was measured, not the drive.
//!
//! If the target reports the bytes that its drives transferred (a guest), the check compares them
//! with the bytes that were read or written. Otherwise a file that fits into memory is enough,
//! unless it was dropped from memory before it was read.

use super::case::{Case, Fault};
use assay_spec::array::parse_linux;
use assay_spec::experiment::{CacheReset, FileWork, Records, Sync};
use assay_spec::units::human_size;
use assay_spec::{Bytes, Op};

/// The share of the data from memory above which it is a fault.
const SHARE: f64 = 0.05;

const HINT: &str = "use `direct = true` to bypass the page cache, a file of at least twice the \
                    memory, or less memory (`memory=` of `linux(…)`)";

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    let work = match case.workload?.files.as_ref()? {
        FileWork::Records(work) if work.is_direct => return None,
        FileWork::Records(work) => Some(work),
        _ => None,
    };
    // Writes that were never synced are in memory, as far as the drives wrote less.
    let writes = work.is_some_and(|w| w.operation.writes());
    if writes && work.is_some_and(|w| w.sync != Sync::Never) {
        return None;
    }
    let (op, told, verb) = match writes {
        true => (Op::Write, "drive_write_bytes", "written"),
        false => (Op::Read, "drive_read_bytes", "read"),
    };
    let asked = bytes(case, op);
    let (share, source) = match told_by_drives(case, told) {
        Some(drives) => (
            1.0 - drives / asked,
            format!("its drives: {} {verb}", human_size(Bytes(drives as u64))),
        ),
        None => expected(case, work?)?,
    };
    if asked <= 0.0 || share <= SHARE {
        return None;
    }
    let mut evidence =
        vec![format!("{}: {} {verb}", case.cell.id, human_size(Bytes(asked as u64))), source];
    if let (Some(work), Some(memory)) = (work, memory(case)) {
        let length = human_size(work.length);
        evidence.push(format!("a file of {length}, a memory of {}", human_size(memory)));
    }
    Some(Fault {
        statement: format!(
            "about {:.0} % of the data that was {verb} stayed in the page cache: the result is \
             that of the memory, not of the drive",
            100.0 * share
        ),
        evidence,
        threshold: format!("more than {:.0} % from memory", 100.0 * SHARE),
        hint: HINT,
    })
}

/// Returns the bytes of one kind of request, over all repeats.
fn bytes(case: &Case<'_>, op: Op) -> f64 {
    let of_kind = case.cell.repeats.iter().flat_map(|r| &r.ops).filter(|o| o.op == op);
    of_kind.map(|o| o.bytes.0 as f64).sum()
}

/// Returns the sum over all repeats of a number that the target reports.
fn told_by_drives(case: &Case<'_>, name: &str) -> Option<f64> {
    let one = |r: &assay_spec::record::RepeatRecord| {
        r.device.iter().find(|(told, _)| told == name).map(|(_, value)| *value)
    };
    case.cell.repeats.iter().map(one).sum()
}

/// Returns the memory of the machine or guest that the target is in.
fn memory(case: &Case<'_>) -> Option<Bytes> {
    if case.is_of_kind("directory") {
        return Some(case.run.record.host.memory).filter(|m| *m > Bytes::ZERO);
    }
    let written = &case.target.filter(|t| t.kind == "linux")?.written;
    parse_linux(written).ok().map(|linux| linux.settings.memory)
}

/// Returns the share that memory answers and the reason, if the file fits into memory. Used where
/// the drives do not count their transfers.
fn expected(case: &Case<'_>, work: &Records) -> Option<(f64, String)> {
    let is_kept = work.operation.writes() || work.between == CacheReset::Nothing;
    (work.length < memory(case)? && is_kept)
        .then(|| (1.0, "the file was neither dropped from the cache nor synced".to_owned()))
}
