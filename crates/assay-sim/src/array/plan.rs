//! Plans of the requests to the members of one row: reads first, then writes.
//!
//! *Reads* go to the member that has the data; what a failed one held is computed from the others.
//! *Writes* of a whole row need no reads. Smaller ones read either what they overwrite and the
//! parities (read-modify-write), or what they do not overwrite (reconstruct-write), whichever needs
//! fewer members; after failures, if neither is enough, they read all that determines the row. The
//! choice is made for each range of offsets over which the same columns are written, as md does for
//! each page. Adjacent parts on one member are then joined to one request.
//!
//! *Invariants.* The data read determines what is written; a missing member gets no request; every
//! part lies within its row. A test computes the contents from the reads (`tests/content.rs`).

use super::layout::{Layout, Members, Role, each};
use assay_spec::{Bytes, Op};

/// A request to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemberRequest {
    pub(crate) member: usize,
    pub(crate) op: Op,
    /// The byte address on the member.
    pub(crate) offset: Bytes,
    pub(crate) length: Bytes,
}

/// A range of a row's data bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) row: u64,
    pub(crate) from: Bytes,
    pub(crate) length: Bytes,
}

/// The reads of a job and the writes that follow them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) reads: Vec<MemberRequest>,
    pub(crate) writes: Vec<MemberRequest>,
}

/// The error that more members are missing than the row can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

/// A range of offsets within chunks over which a request touches the same columns.
struct Band {
    from: Bytes,
    to: Bytes,
    columns: u64,
}

impl Plan {
    pub(crate) fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
    }

    /// Plans to read `range` without `missing` members; `choose` picks one of the copies' members
    /// for the offset of the data on them.
    pub(crate) fn read(
        &mut self,
        layout: &Layout,
        range: Range,
        missing: Members,
        choose: &dyn Fn(Members, Bytes) -> usize,
    ) -> Result<(), Lost> {
        self.clear();
        for (column, from, to) in pieces(layout, range) {
            let holders = layout.holders(range.row, Role::Data(column));
            let here = holders & !missing;
            if here != 0 {
                let place = layout.place(range.row) + from;
                let member = if holders == here && holders.is_power_of_two() {
                    here.trailing_zeros() as usize
                } else {
                    choose(here, place)
                };
                self.reads.push(part(layout, range.row, member, Op::Read, from, to));
            } else if layout.has_parity() {
                let sources = determining(layout, range.row, missing)?;
                self.push_reads(layout, range.row, sources, from, to);
            } else {
                return Err(Lost);
            }
        }
        join(&mut self.reads);
        Ok(())
    }

    /// Plans to write `range` without `missing` members.
    pub(crate) fn write(
        &mut self,
        layout: &Layout,
        range: Range,
        missing: Members,
    ) -> Result<(), Lost> {
        self.clear();
        for Band { from, to, columns } in bands(layout, range) {
            let mut targets = 0;
            for column in each(columns) {
                let here = layout.holders(range.row, Role::Data(column)) & !missing;
                if here == 0 && !layout.has_parity() {
                    return Err(Lost);
                }
                targets |= here;
            }
            if layout.has_parity() {
                let parities = parities(layout, range.row) & !missing;
                let sources = update_sources(layout, range.row, columns, parities, missing)?;
                self.push_reads(layout, range.row, sources, from, to);
                targets |= parities;
            }
            let write = |member| part(layout, range.row, member, Op::Write, from, to);
            self.writes.extend(each(targets).map(write));
        }
        join(&mut self.reads);
        join(&mut self.writes);
        Ok(())
    }

    /// Plans to fill the chunks of `targets` in `row`. `missing` includes `targets`.
    pub(crate) fn rebuild(
        &mut self,
        layout: &Layout,
        row: u64,
        targets: Members,
        missing: Members,
    ) -> Result<(), Lost> {
        self.clear();
        let (from, to) = (Bytes::ZERO, layout.chunk);
        if layout.has_parity() {
            let sources = determining(layout, row, missing)?;
            self.push_reads(layout, row, sources, from, to);
        } else {
            for role in layout.roles() {
                let holders = layout.holders(row, role);
                if holders & targets != 0 {
                    let source = each(holders & !missing).next().ok_or(Lost)?;
                    self.push_reads(layout, row, 1 << source, from, to);
                }
            }
        }
        join(&mut self.reads);
        let write = |member| part(layout, row, member, Op::Write, from, to);
        self.writes.extend(each(targets).map(write));
        Ok(())
    }

    fn push_reads(&mut self, layout: &Layout, row: u64, members: Members, from: Bytes, to: Bytes) {
        let read = |member| part(layout, row, member, Op::Read, from, to);
        self.reads.extend(each(members).map(read));
    }
}

/// Makes the request for `from..to`, offsets within the chunk of `row` on `member`.
fn part(layout: &Layout, row: u64, member: usize, op: Op, from: Bytes, to: Bytes) -> MemberRequest {
    assert!(from < to && to <= layout.chunk, "within the chunk");
    MemberRequest { member, op, offset: layout.place(row) + from, length: to - from }
}

/// Returns the columns that a range touches, each with the offsets within its chunk.
fn pieces(layout: &Layout, range: Range) -> impl Iterator<Item = (usize, Bytes, Bytes)> {
    let (chunk, from, to) = (layout.chunk.0, range.from.0, range.from.0 + range.length.0);
    assert!(range.length.0 > 0 && to <= layout.width().0, "within the row");
    (from / chunk..to.div_ceil(chunk)).map(move |column| {
        let (start, end) = (column * chunk, (column + 1) * chunk);
        (column as usize, Bytes(from.max(start) - start), Bytes(to.min(end) - start))
    })
}

/// Returns the ranges of offsets over which `range` touches the same columns: three at most.
fn bands(layout: &Layout, range: Range) -> impl Iterator<Item = Band> {
    let mut cuts = [Bytes::ZERO; 4];
    let (mut first, mut last) = (None, None);
    for (_, from, to) in pieces(layout, range) {
        first.get_or_insert((from, to));
        last = Some((from, to));
    }
    let (first, last) = (first.expect("not empty"), last.expect("not empty"));
    cuts[..4].copy_from_slice(&[first.0, first.1, last.0, last.1]);
    cuts.sort_unstable();
    let between = (0..3).map(move |i| (cuts[i], cuts[i + 1])).filter(|(from, to)| from < to);
    let layout = *layout;
    let band = move |(from, to)| {
        let touched = pieces(&layout, range).filter(|(_, a, b)| *a <= from && to <= *b);
        let columns = touched.fold(0, |set, (column, ..)| set | 1 << column);
        Band { from, to, columns }
    };
    // The end of one chunk and the start of the next leave a band without columns between them.
    between.map(band).filter(|band| band.columns != 0)
}

fn parities(layout: &Layout, row: u64) -> Members {
    layout.holders(row, Role::P) | layout.holders(row, Role::Q)
}

/// Returns as many members as there are columns, data first: together they determine the row.
fn determining(layout: &Layout, row: u64, missing: Members) -> Result<Members, Lost> {
    let held = layout.roles().map(|role| layout.holders(row, role) & !missing);
    let mut sources: Members = 0;
    for holder in held {
        if sources.count_ones() < layout.columns() as u32 {
            sources |= holder;
        }
    }
    if sources.count_ones() < layout.columns() as u32 { Err(Lost) } else { Ok(sources) }
}

/// Returns the members to read so that `parities` can be computed after `columns` are written.
fn update_sources(
    layout: &Layout,
    row: u64,
    columns: u64,
    parities: Members,
    missing: Members,
) -> Result<Members, Lost> {
    if parities == 0 {
        return if missing.count_ones() as usize > layout.parities() { Err(Lost) } else { Ok(0) };
    }
    let (mut written, mut others) = (0, 0);
    for column in 0..layout.columns() {
        let holder = layout.holders(row, Role::Data(column));
        *(if columns & 1 << column == 0 { &mut others } else { &mut written }) |= holder;
    }
    let modify = (written & missing == 0).then_some(written | parities);
    let reconstruct = (others & missing == 0).then_some(others);
    let fewest = modify.into_iter().chain(reconstruct).min_by_key(|set| set.count_ones());
    fewest.map_or_else(|| determining(layout, row, missing), Ok)
}

/// Joins requests that touch or overlap on a member.
fn join(parts: &mut Vec<MemberRequest>) {
    if parts.len() < 2 {
        return;
    }
    parts.sort_unstable_by_key(|p| (p.member, p.offset, p.length));
    let mut kept = 0;
    for i in 1..parts.len() {
        let (last, next) = (parts[kept], parts[i]);
        let last_end = last.offset + last.length;
        if last.member == next.member && next.offset <= last_end {
            let end = last_end.max(next.offset + next.length);
            parts[kept].length = end - last.offset;
        } else {
            kept += 1;
            parts[kept] = next;
        }
    }
    parts.truncate(kept + 1);
}
