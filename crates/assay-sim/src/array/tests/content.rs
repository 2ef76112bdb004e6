//! Tests with a model of the contents: what a job has read must determine what it writes and
//! returns.
//!
//! Each 512 bytes of a member are one element of GF(2^8). What a job reads is kept as an equation
//! for the row's data: a data chunk is its own element, P the sum, Q the sum weighted by powers of
//! 2 (H. P. Anvin, The mathematics of RAID-6). What it writes is computed from these equations
//! alone, by elimination, which does not depend on how plans are made. If something cannot be
//! computed, the test panics; if it is computed from what another job has changed meanwhile, a
//! later read returns wrong data.

use super::super::layout::{Layout, Role, each};
use super::*;
use assay_spec::Rate;
use assay_spec::array::Rebuild;
use proptest::prelude::*;
use std::collections::BTreeMap;

const UNIT: u64 = 512;
const CHUNK: Bytes = Bytes(4 * UNIT);
const ROWS: u64 = 12;

/// Multiplies in GF(2^8).
fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 != 0 { 0x1d } else { 0 };
        b >>= 1;
    }
    product
}

fn power(a: u8, n: u32) -> u8 {
    (0..n).fold(1, |p, _| times(p, a))
}

/// Returns the weights of the data elements of a row in the chunk with `role`.
fn weights(layout: &Layout, role: Role) -> Vec<u8> {
    let of = |column: usize| match role {
        Role::Data(own) => u8::from(own == column),
        Role::P => 1,
        Role::Q => power(2, column as u32),
    };
    (0..layout.columns()).map(of).collect()
}

/// Computes Σ `weights` × data from equations of the same form, if they determine it.
fn solve(equations: &[(Vec<u8>, u8)], weights: &[u8]) -> Option<u8> {
    let (mut rows, mut wanted) = (equations.to_vec(), (weights.to_vec(), 0));
    for column in 0..weights.len() {
        let Some(at) = rows.iter().position(|(w, _)| w[column] != 0) else { continue };
        let pivot = rows.swap_remove(at);
        let inverse = power(pivot.0[column], 254);
        let reduce = |row: &mut (Vec<u8>, u8)| {
            let factor = times(row.0[column], inverse);
            row.0.iter_mut().zip(&pivot.0).for_each(|(w, p)| *w ^= times(factor, *p));
            row.1 ^= times(factor, pivot.1);
        };
        rows.iter_mut().for_each(reduce);
        reduce(&mut wanted);
    }
    wanted.0.iter().all(|w| *w == 0).then_some(wanted.1)
}

#[test]
fn elimination_finds_what_is_determined_and_nothing_else() {
    let p = (vec![1, 1, 1], 7 ^ 9 ^ 11);
    assert_eq!(solve(&[(vec![1, 0, 0], 7), p.clone(), (vec![0, 1, 0], 9)], &[0, 0, 1]), Some(11));
    assert_eq!(solve(&[(vec![1, 0, 0], 7), p], &[0, 0, 1]), None);
}

/// The task of a job, and the data that it has read.
struct Knowledge {
    tag: Option<u32>,
    op: Op,
    range: Range,
    /// By unit of the chunks: the equations that were read, as weights and value.
    equations: BTreeMap<u64, Vec<(Vec<u8>, u8)>>,
}

/// The members' contents, and what the host has written.
struct Model {
    layout: Layout,
    members: Vec<Vec<u8>>,
    /// The data that the host has written.
    data: Vec<u8>,
    jobs: BTreeMap<u32, Knowledge>,
    /// By tag: the value that a write in flight writes.
    values: BTreeMap<u32, u8>,
    /// The number of steps of the trace that the model has followed.
    seen: usize,
}

impl Model {
    fn new(layout: Layout) -> Model {
        let units = layout.rows * layout.chunk.0 / UNIT;
        Model {
            layout,
            members: vec![vec![0; units as usize]; layout.members],
            data: vec![0; (layout.capacity().0 / UNIT) as usize],
            jobs: BTreeMap::new(),
            values: BTreeMap::new(),
            seen: 0,
        }
    }

    fn role(&self, row: u64, member: usize) -> Role {
        let holds = |role: &Role| self.layout.holders(row, *role) & 1 << member != 0;
        self.layout.roles().find(holds).expect("each chunk has a role")
    }

    /// Returns the place of a unit of a data column in the host's data.
    fn place(&self, row: u64, column: u64, unit: u64) -> usize {
        let bytes = self.layout.width().0 * row + self.layout.chunk.0 * column + unit * UNIT;
        (bytes / UNIT) as usize
    }

    /// Returns the columns whose `unit` lies within a range.
    fn asked(&self, range: Range, unit: u64) -> Vec<u64> {
        let (from, to) = (range.from.0, range.from.0 + range.length.0);
        let at = |column: &u64| column * self.layout.chunk.0 + unit * UNIT;
        (0..self.layout.columns() as u64).filter(|c| (from..to).contains(&at(c))).collect()
    }

    fn follow(&mut self, array: &Array) {
        for step in &array.trace[self.seen..] {
            match *step {
                Trace::Planned { job, tag, op, range } => {
                    let equations = BTreeMap::new();
                    self.jobs.insert(job, Knowledge { tag, op, range, equations });
                }
                Trace::Ended { job, part } => self.ended(job, part),
                Trace::Done { job } => self.done(job),
            }
        }
        self.seen = array.trace.len();
    }

    fn ended(&mut self, job: u32, part: MemberRequest) {
        let units = self.layout.chunk.0 / UNIT;
        for place in part.offset.0 / UNIT..(part.offset.0 + part.length.0) / UNIT {
            let (row, unit) = (place / units, place % units);
            let weights = weights(&self.layout, self.role(row, part.member));
            if part.op == Op::Read {
                let value = self.members[part.member][place as usize];
                let job = self.jobs.get_mut(&job).unwrap();
                assert_eq!(row, job.range.row);
                job.equations.entry(unit).or_default().push((weights, value));
            } else {
                self.members[part.member][place as usize] = self.computed(job, unit, &weights);
            }
        }
    }

    /// Returns the value that a writing job puts at `unit` of a chunk with these weights.
    fn computed(&self, job: u32, unit: u64, weights: &[u8]) -> u8 {
        let Knowledge { tag, range, equations, .. } = &self.jobs[&job];
        let (mut old, mut new) = (weights.to_vec(), 0);
        if let Some(tag) = tag {
            for column in self.asked(*range, unit) {
                new ^= times(std::mem::take(&mut old[column as usize]), self.values[tag]);
            }
        }
        let known = equations.get(&unit).map_or(&[][..], Vec::as_slice);
        new ^ solve(known, &old).expect("what was read determines what is written")
    }

    /// Ends a job: its writes become the host's data; what it read must be what was written last.
    fn done(&mut self, job: u32) {
        let Knowledge { tag, op, range, equations } = self.jobs.remove(&job).unwrap();
        let Some(tag) = tag else { return };
        for unit in 0..self.layout.chunk.0 / UNIT {
            for column in self.asked(range, unit) {
                let place = self.place(range.row, column, unit);
                if op == Op::Write {
                    self.data[place] = self.values[&tag];
                    continue;
                }
                let weights = weights(&self.layout, Role::Data(column as usize));
                let known = equations.get(&unit).expect("something was read");
                let found = solve(known, &weights).expect("what was read determines the answer");
                assert_eq!(found, self.data[place], "row {} column {column}", range.row);
            }
        }
    }

    /// Checks that every chunk on a member in use agrees with the host's data.
    fn check(&self, array: &Array) {
        for row in 0..self.layout.rows {
            let missing = array.missing_in(row);
            for unit in 0..self.layout.chunk.0 / UNIT {
                for role in self.layout.roles() {
                    let data = |c: usize| self.data[self.place(row, c as u64, unit)];
                    let all = weights(&self.layout, role).into_iter().enumerate();
                    let right = all.fold(0, |sum, (c, w)| sum ^ times(w, data(c)));
                    let place = (self.layout.chunk.0 / UNIT * row + unit) as usize;
                    for member in each(self.layout.holders(row, role) & !missing) {
                        assert_eq!(self.members[member][place], right, "{row} {role:?} {member}");
                    }
                }
            }
        }
    }
}

/// Serves random reads and writes, up to eight at a time, none of which overlap. `failed` members
/// fail on the way.
fn work(level: Level, members: usize, seed: u64, failed: usize, rebuild: Option<Rebuild>) {
    let mut numbers = Numbers(seed);
    // The drives have different speeds, so that operations pass each other.
    let speeds: Vec<u64> = (0..64).map(|_| 1 + numbers.below(9)).collect();
    let next = std::cell::Cell::new(0);
    let drive = || {
        let i = next.replace(next.get() + 1);
        Fixed::new(CHUNK * ROWS, Nanos(1000 * speeds[i % 64]), Nanos(1))
    };
    let mut array = array(level, members, CHUNK, drive, rebuild);
    let mut model = Model::new(array.layout);
    let units = array.capacity().0 / UNIT;
    let (mut fail_at, count) = (Some(numbers.below(300)), 400);
    let mut open: BTreeMap<u32, std::ops::Range<u64>> = BTreeMap::new();
    let (mut now, mut asked, mut completions) = (Nanos::ZERO, 0, Vec::new());
    while asked < count || !open.is_empty() {
        let tag = (0..8).find(|tag| !open.contains_key(tag));
        if let Some(tag) = tag.filter(|_| asked < count) {
            let from = numbers.below(units);
            let longest = 1 << numbers.below(7);
            let to = (from + 1 + numbers.below(longest)).min(units);
            if open.values().all(|r| r.end <= from || to <= r.start) {
                let op = if numbers.below(3) == 0 { Op::Read } else { Op::Write };
                let (offset, length) = (Bytes(from * UNIT), Bytes((to - from) * UNIT));
                model.values.insert(tag, numbers.below(256) as u8);
                open.insert(tag, from..to);
                array.submit(now, Request { tag, op, offset, length, fua: false });
            }
            asked += 1;
        } else {
            now = array.next_event().expect("a request is in flight");
        }
        if failed > 0 && fail_at.take_if(|at| *at <= asked).is_some() {
            array.fail(now, failed);
        }
        array.advance(now, &mut completions);
        model.follow(&array);
        array.check();
        for completion in completions.drain(..) {
            assert_eq!(completion.error, 0);
            assert!(open.remove(&completion.tag).is_some(), "ended twice");
        }
    }
    model.check(&array);
    while let Some(at) = array.next_event() {
        array.advance(at, &mut completions);
        model.follow(&array);
    }
    model.check(&array);
    assert!(array.locks.is_empty(), "every row is free again");
    assert!(rebuild.is_none() || failed == 0 || array.missing == 0, "the spares are filled");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn reads_return_the_last_write_before_and_after_failures_and_while_rebuilding(
        level in 0_usize..7, more in 0_usize..4, seed in any::<u64>(), failed in 0_usize..4,
        rebuild in 0_u64..4,
    ) {
        let level = Level::ALL[level];
        let members = level.members_min() + if level.is_paired() { more / 2 * 2 } else { more };
        let failed = failed.min(level.failures_max(members));
        let rebuild = match rebuild {
            0 => None,
            1 => Some(Rebuild::Idle),
            n => Some(Rebuild::Rate(Rate(n * 10_000_000))),
        };
        work(level, members, seed, failed, rebuild);
    }
}
