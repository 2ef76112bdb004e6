//! Tests that layouts are bijections, and that plans need the reads and writes of the textbook.

use super::super::layout::{Layout, Members, Role, each};
use super::super::plan::{Lost, Plan, Range};
use assay_spec::Bytes;
use assay_spec::array::Level;
use proptest::prelude::*;

const CHUNK: Bytes = Bytes(4096);

fn layout(level: Level, members: usize) -> Layout {
    Layout::new(level, members, CHUNK, CHUNK * 64)
}

/// Returns layouts of every level but JBOD, with some numbers of members.
fn layouts() -> impl Iterator<Item = Layout> {
    let rows = Level::ALL.into_iter().filter(|level| *level != Level::Jbod);
    rows.flat_map(|level| {
        let least = level.members_min();
        let fits = move |n: &usize| !level.is_paired() || n.is_multiple_of(2);
        (least..least + 6).filter(fits).map(move |n| layout(level, n))
    })
}

#[test]
fn each_chunk_of_each_member_has_one_role() {
    for layout in layouts() {
        for row in 0..layout.rows.min(20) {
            let mut seen: Members = 0;
            for role in layout.roles() {
                let holders = layout.holders(row, role);
                assert_eq!(seen & holders, 0, "{layout:?} {row} {role:?}");
                seen |= holders;
            }
            assert_eq!(seen.count_ones() as usize, layout.members, "{layout:?} {row}");
        }
        let copies = if layout.has_parity() { 1 } else { layout.members / layout.columns() };
        assert_eq!(layout.holders(0, Role::Data(0)).count_ones() as usize, copies);
        assert_eq!(layout.capacity(), layout.chunk * layout.columns() as u64 * layout.rows);
    }
}

#[test]
fn a_jbod_is_one_member_after_the_other() {
    let jbod = layout(Level::Jbod, 3);
    assert_eq!((jbod.rows, jbod.width(), jbod.capacity()), (3, CHUNK * 64, CHUNK * 192));
    let mut plan = Plan::default();
    for row in 0..3 {
        let range = Range { row, from: CHUNK, length: CHUNK * 3 };
        plan.write(&jbod, range, 0).expect("nothing is missing");
        assert!(plan.reads.is_empty());
        let parts: Vec<_> = plan.writes.iter().map(|p| (p.member, p.offset, p.length)).collect();
        assert_eq!(parts, [(row as usize, CHUNK, CHUNK * 3)], "in one piece");
    }
}

#[test]
fn parity_goes_round_left_symmetrically() {
    // Rows of the figure in md(4) for five members: the members with D0 to D3 and P.
    let expected = [[0, 1, 2, 3, 4], [4, 0, 1, 2, 3], [3, 4, 0, 1, 2], [2, 3, 4, 0, 1]];
    let raid5 = layout(Level::Raid5, 5);
    for (row, places) in expected.iter().enumerate() {
        let found: Vec<usize> =
            raid5.roles().flat_map(|role| each(raid5.holders(row as u64, role))).collect();
        assert_eq!(found, places, "row {row}");
    }
}

/// Plans a write in row 0; returns the numbers of its reads and writes.
fn plan_write(layout: &Layout, from: u64, length: u64, missing: Members) -> (usize, usize) {
    let mut plan = Plan::default();
    let range = Range { row: 0, from: Bytes(from), length: Bytes(length) };
    plan.write(layout, range, missing).expect("not lost");
    (plan.reads.len(), plan.writes.len())
}

#[test]
fn small_writes_cost_what_the_textbook_says() {
    // (reads, writes) of 512 bytes.
    for n in 4..10 {
        assert_eq!(plan_write(&layout(Level::Raid5, n), 0, 512, 0), (2, 2));
    }
    assert_eq!(plan_write(&layout(Level::Raid4, 6), 0, 512, 0), (2, 2));
    // With three members, reading the other data chunk is cheaper.
    assert_eq!(plan_write(&layout(Level::Raid5, 3), 0, 512, 0), (1, 2));
    assert_eq!(plan_write(&layout(Level::Raid6, 8), 0, 512, 0), (3, 3));
    assert_eq!(plan_write(&layout(Level::Raid10, 6), 0, 512, 0), (0, 2));
    assert_eq!(plan_write(&layout(Level::Raid01, 6), 0, 512, 0), (0, 2));
    assert_eq!(plan_write(&layout(Level::Raid1, 3), 0, 512, 0), (0, 3));
    assert_eq!(plan_write(&layout(Level::Raid0, 5), 0, 512, 0), (0, 1));
}

#[test]
fn larger_writes_read_what_is_fewer_and_whole_rows_nothing() {
    let raid5 = layout(Level::Raid5, 6);
    let width = raid5.width().0;
    assert_eq!(plan_write(&raid5, 0, width, 0), (0, 6), "a whole row");
    assert_eq!(plan_write(&raid5, 0, width - CHUNK.0, 0), (1, 5), "all but one column");
    assert_eq!(plan_write(&raid5, 0, 2 * CHUNK.0, 0), (3, 3), "two of five columns");
    // The end of one chunk and the start of the next use both ends of the parity chunk.
    assert_eq!(plan_write(&raid5, CHUNK.0 - 512, 1024, 0), (4, 4));
}

#[test]
fn degraded_requests_cost_what_the_textbook_says() {
    let raid5 = layout(Level::Raid5, 5);
    let mut plan = Plan::default();
    let range = |column: u64| Range { row: 0, from: CHUNK * column, length: Bytes(512) };
    plan.read(&raid5, range(0), 1, &|_, _| 0).unwrap();
    assert_eq!(plan.reads.len(), 4, "every other member");
    plan.read(&raid5, range(1), 1, &|_, _| 0).unwrap();
    assert_eq!(plan.reads.len(), 1, "not touched by the failure");
    // A write to the failed column reads the other columns, and writes the parity.
    assert_eq!(plan_write(&raid5, 0, 512, 1), (3, 1));
    // A write to another column is as before the failure.
    assert_eq!(plan_write(&raid5, CHUNK.0, 512, 1), (2, 2));
    // If the parity is lost, there is nothing to update.
    assert_eq!(plan_write(&raid5, 0, 512, 1 << 4), (0, 1));
    assert_eq!(plan.read(&raid5, range(0), 0b11, &|_, _| 0), Err(Lost));
    assert_eq!(plan.write(&raid5, range(0), 0b11), Err(Lost));
    let raid6 = layout(Level::Raid6, 6);
    plan.read(&raid6, range(0), 0b010_010, &|_, _| 0).unwrap();
    assert_eq!(plan.reads.len(), 4);
}

#[test]
fn a_raid01_loses_a_side_and_a_raid10_one_of_a_pair() {
    assert_eq!(layout(Level::Raid01, 6).lost_with(1), 0b000_111);
    assert_eq!(layout(Level::Raid01, 6).lost_with(4), 0b111_000);
    assert_eq!(layout(Level::Raid10, 6).lost_with(4), 0b010_000);
    for layout in layouts() {
        let most = layout.level.failures_max(layout.members);
        let lost = layout.victims(most).fold(0, |set, i| set | layout.lost_with(i));
        let range = Range { row: 0, from: Bytes::ZERO, length: layout.width() };
        let mut plan = Plan::default();
        let first = |members: Members, _: Bytes| members.trailing_zeros() as usize;
        plan.read(&layout, range, lost, &first).expect("as many as promised");
    }
}

proptest! {
    #[test]
    fn parts_lie_within_the_row_apart_and_on_members_that_are_there(
        which in 0_usize..40, row in 0_u64..64, from in 0_u64..10_000, length in 1_u64..10_000,
        failed in 0_usize..3, write in any::<bool>(),
    ) {
        let all: Vec<Layout> = layouts().collect();
        let layout = all[which % all.len()];
        let row = row % layout.rows;
        let from = from * 512 % layout.width().0;
        let length = (length * 512).min(layout.width().0 - from);
        let count = failed.min(layout.level.failures_max(layout.members));
        let missing = layout.victims(count).fold(0, |set, i| set | layout.lost_with(i));
        let range = Range { row, from: Bytes(from), length: Bytes(length) };
        let mut plan = Plan::default();
        let first = |members: Members, _: Bytes| members.trailing_zeros() as usize;
        if write {
            plan.write(&layout, range, missing).unwrap();
        } else {
            plan.read(&layout, range, missing, &first).unwrap();
            prop_assert!(plan.writes.is_empty());
        }
        for parts in [&plan.reads, &plan.writes] {
            for (i, part) in parts.iter().enumerate() {
                prop_assert_eq!(missing & 1 << part.member, 0);
                prop_assert!(part.offset >= layout.chunk * row);
                prop_assert!(part.offset + part.length <= layout.chunk * (row + 1));
                let apart = |p: &super::super::plan::MemberRequest| {
                    p.member != part.member
                        || p.offset > part.offset + part.length
                        || part.offset > p.offset + p.length
                };
                prop_assert!(parts[..i].iter().all(apart), "{:?}", parts);
            }
        }
    }
}
