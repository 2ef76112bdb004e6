//! Groups of cells whose targets differ in the number of drives and in nothing else.

use crate::load::Run;
use assay_spec::array::{ArraySpec, Level, MemberSpec, parse, parse_linux};
use assay_spec::linux::{BlockDevice, LinuxSpec, Settings};
use assay_spec::record::CellRecord;

/// Cells that differ only in the number of drives.
pub(super) struct Group<'r> {
    /// The title for people: `btrfs, md-raid0 of x25-m-g2-at-perc-6i, seq-rd`.
    pub title: String,
    /// The number of drives and the cell, in ascending order.
    pub cells: Vec<(usize, &'r CellRecord)>,
}

/// The properties that must be equal: all of a target but the number of its drives and its name.
#[derive(Clone, PartialEq)]
struct CellKind {
    experiment: String,
    workload: String,
    settings: Option<Settings>,
    /// Whether the kernel makes the array.
    by_kernel: bool,
    /// The array, without its members.
    array: ArraySpec,
    member: MemberSpec,
    /// The machine, which precedes the target in a cell's name.
    host: String,
}

/// Returns every group with at least three numbers of drives, in the order of its first cell.
pub(super) fn groups(run: &Run) -> Vec<Group<'_>> {
    let mut found: Vec<(CellKind, Vec<(usize, &CellRecord)>)> = Vec::new();
    let mut alone = Vec::new();
    for cell in run.cells.iter().filter(|c| c.skipped.is_none() && !c.repeats.is_empty()) {
        let Some((kind, count)) = kind(run, cell) else { continue };
        if count == 1 {
            alone.push((kind, cell));
            continue;
        }
        match found.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, cells)) => cells.push((count, cell)),
            None => found.push((kind, vec![(count, cell)])),
        }
    }
    found.into_iter().filter_map(|(kind, cells)| group(&kind, cells, &alone)).collect()
}

fn group<'r>(
    kind: &CellKind,
    mut cells: Vec<(usize, &'r CellRecord)>,
    alone: &[(CellKind, &'r CellRecord)],
) -> Option<Group<'r>> {
    // A single drive joins a group as a RAID-0 of one, unless a card makes the arrays.
    let joins = kind.array.level == Level::Raid0 && kind.array.controller.is_none();
    let same = |k: &CellKind| joins && like_alone(kind) == *k;
    cells.extend(alone.iter().find(|(k, _)| same(k)).map(|(_, cell)| (1, *cell)));
    cells.sort_by_key(|(count, _)| *count);
    let mut counts: Vec<usize> = cells.iter().map(|(count, _)| *count).collect();
    counts.dedup();
    (counts.len() >= 3).then(|| Group { title: title(kind), cells })
}

/// Returns the kind that a single drive must have to join a group.
fn like_alone(kind: &CellKind) -> CellKind {
    CellKind { by_kernel: false, array: plain(), ..kind.clone() }
}

/// Returns an array in which everything is the default.
fn plain() -> ArraySpec {
    ArraySpec {
        level: Level::Raid0,
        members: Vec::new(),
        chunk: assay_spec::array::CHUNK,
        has_chunk: false,
        failed: 0,
        fail_at: None,
        rebuild: None,
        controller: None,
    }
}

fn kind(run: &Run, cell: &CellRecord) -> Option<(CellKind, usize)> {
    let target = run.target(&cell.target)?;
    let host = cell.target.strip_suffix(&target.name).unwrap_or_default().to_owned();
    let (settings, by_kernel, array) = match target.kind.as_str() {
        "array" => (None, false, parse(&target.written).ok()?),
        "linux" => {
            let LinuxSpec { device, mut settings } = parse_linux(&target.written).ok()?;
            settings.name = None;
            let (by_kernel, array) = match device {
                BlockDevice::Array(array) => (true, array),
                BlockDevice::Drive(member) => (false, of_member(member)),
                BlockDevice::RaidZ(_) => return None,
            };
            (Some(settings), by_kernel, array)
        }
        "model" => {
            let text = format!("jbod({})", target.written);
            (None, false, of_member(parse(&text).ok()?.members.first()?.clone()))
        }
        _ => return None,
    };
    let (member, count) = (array.members.first()?.clone(), array.members.len());
    if array.members.iter().any(|m| *m != member) {
        return None;
    }
    // A chunk size is the same whether it is written or the default.
    let array = ArraySpec { members: Vec::new(), has_chunk: false, ..array };
    let (experiment, workload) = (cell.experiment.clone(), cell.workload.clone());
    Some((CellKind { experiment, workload, settings, by_kernel, array, member, host }, count))
}

/// Returns the array that a card shows as one drive, or the drive as an array of one.
fn of_member(member: MemberSpec) -> ArraySpec {
    use assay_spec::array::MemberTarget;
    match (&member.target, &member.controller) {
        (MemberTarget::Array(array), None) => (**array).clone(),
        _ => ArraySpec { members: vec![member], ..plain() },
    }
}

fn title(kind: &CellKind) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(kind.settings.iter().map(|s| s.filesystem.unwrap_or("raw").to_owned()));
    let md = if kind.by_kernel { "md-" } else { "" };
    let by = kind.array.controller.as_ref().map_or_else(String::new, |c| format!(" by {c}"));
    parts.push(format!("{md}{}{by} of {}", kind.array.level.name(), kind.member.name()));
    parts.push(kind.workload.clone());
    parts.join(", ")
}
