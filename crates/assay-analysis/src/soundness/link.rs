//! More bandwidth than the link can carry: what was measured did not pass through it.
//!
//! The rate of the link is known for modelled drives. Each direction is compared with it
//! separately, so that a link that carries both at a time causes no fault. Work on files is left
//! out if memory may have answered: `cache` checks that.

use super::case::{Case, Fault};
use assay_spec::Op;
use assay_spec::array::{MemberTarget, parse_linux};
use assay_spec::experiment::FileWork;
use assay_spec::units::three_digits;

/// The allowed ratio to the link's rate, since data sheets round rates.
const ROOM: f64 = 1.01;

pub(super) fn check(case: &Case<'_>) -> Option<Fault> {
    let direct = |w: &FileWork| matches!(w, FileWork::Records(records) if records.is_direct);
    if case.workload.and_then(|w| w.files.as_ref()).is_some_and(|w| !direct(w)) {
        return None;
    }
    let [drive] = &case.drives[..] else { return None };
    if !is_one_drive(case) {
        return None;
    }
    let limit = drive.link.rate.0 as f64;
    let rate = |op: Op| {
        let of_repeat = |r: &assay_spec::record::RepeatRecord| {
            let bytes: u64 = r.ops.iter().filter(|o| o.op == op).map(|o| o.bytes.0).sum();
            bytes as f64 / (r.elapsed.0 as f64 * 1e-9)
        };
        case.cell.repeats.iter().map(of_repeat).fold(f64::INFINITY, f64::min)
    };
    let fastest = [Op::Read, Op::Write].map(rate).into_iter().fold(0.0, f64::max);
    if !fastest.is_finite() || fastest <= ROOM * limit {
        return None;
    }
    let (got, can) = (three_digits(fastest * 1e-6), three_digits(limit * 1e-6));
    Some(Fault {
        statement: format!(
            "{got} MB/s came over a link of {can} MB/s: not all of it came from the drive"
        ),
        evidence: vec![
            format!("{}: {got} MB/s in one direction, in every repeat", case.cell.id),
            format!("link of {}: {can} MB/s", drive.name),
        ],
        threshold: format!("more than {ROOM} times the link's rate"),
        hint: "look for a cache in front of the drive, for a confusion of units (bits and bytes, \
               MB and MiB), or for a link that is faster than the spec says",
    })
}

/// Returns `true` if exactly one drive is on the link. The number of specs does not show that: an
/// array of equal drives also has only one.
fn is_one_drive(case: &Case<'_>) -> bool {
    let Some(target) = case.target else { return false };
    let alone = |linux: assay_spec::linux::LinuxSpec| {
        let [one] = linux.drives() else { return false };
        matches!(one.target, MemberTarget::Drive(_))
    };
    case.is_of_kind("model")
        || (case.is_of_kind("linux") && parse_linux(&target.written).is_ok_and(alone))
}
