//! Tests of the persistent cache against a model of the platter with the version of each sector.

use super::*;
use proptest::prelude::*;

const BAND: u64 = 8;
const LAST: u64 = 100;
const SIZE: u64 = 31;
const OVERHEAD: u64 = 2;
/// The content of a sector without data of the host.
const NOTHING: u32 = u32::MAX;

/// A log, the contents of the platter, and the newest data of the host.
struct Bed {
    log: PersistentLog,
    /// By number of a sector: its content.
    platter: Vec<u32>,
    /// By sector of the host: its newest content.
    newest: Vec<u32>,
    version: u32,
}

impl Bed {
    fn new(most: u32) -> Bed {
        let newest: Vec<u32> = (0..LAST as u32).collect();
        let mut platter = newest.clone();
        platter.resize((LAST + SIZE) as usize, NOTHING);
        let log = PersistentLog::new(BAND, LAST, SIZE, OVERHEAD, most);
        Bed { log, platter, newest, version: 0 }
    }

    /// Gives sectors of the host new contents, and returns these.
    fn write(&mut self, sectors: std::ops::Range<u64>) -> Vec<u32> {
        // No two sectors, or versions of one, have the same content.
        self.version += 1;
        let written = sectors.map(|sector| {
            self.newest[sector as usize] = self.version * LAST as u32 + sector as u32;
            self.newest[sector as usize]
        });
        written.collect()
    }

    /// Puts contents on the platter.
    fn put(&mut self, number: u64, what: &[u32]) {
        self.platter[number as usize..][..what.len()].copy_from_slice(what);
    }

    /// Cleans until there is room for an entry, and appends it.
    fn append(&mut self, extents: &[(u64, u64)]) {
        while !self.log.fits(extents) {
            assert!(self.clean(), "an empty log has room");
        }
        let (start, data) = self.log.append(extents);
        let mut entry = Vec::new();
        for (first, end) in extents {
            entry.extend(self.write(*first..*end));
        }
        assert_eq!(entry.len() as u64, data);
        entry.resize(entry.len() + OVERHEAD as usize, NOTHING);
        self.put(start, &entry);
    }

    /// Cleans a band, using only what the plan reads. Returns `false` if the log is empty.
    fn clean(&mut self) -> bool {
        let Some(plan) = self.log.oldest_band() else { return false };
        let is_read =
            |number| plan.reads.iter().any(|p| (p.number..p.number + p.sectors).contains(&number));
        let sectors = plan.first..plan.end;
        let places: Vec<u64> = sectors.map(|sector| self.log.place(sector)).collect();
        assert!(places.iter().all(|place| is_read(*place)), "something is not read: {plan:?}");
        let band: Vec<u32> = places.iter().map(|place| self.platter[*place as usize]).collect();
        self.put(plan.first, &band);
        self.log.forget(plan.first, plan.end);
        let whole = Piece { number: plan.first, sectors: plan.end - plan.first, logged: false };
        assert_eq!(self.log.pieces(plan.first, plan.end), [whole], "the band is not whole");
        true
    }

    fn check(&self) {
        self.log.check();
        let mut at = 0;
        for piece in self.log.pieces(0, LAST) {
            for number in piece.number..piece.number + piece.sectors {
                assert_eq!(self.log.place(at), number, "of sector {at}");
                assert_eq!(piece.logged, number >= LAST);
                assert_eq!(self.log.logged_after(at) == at, piece.logged);
                let (is, wanted) = (self.platter[number as usize], self.newest[at as usize]);
                assert_eq!(is, wanted, "sector {at} is not the newest");
                at += 1;
            }
        }
        assert_eq!(at, LAST);
    }
}

/// A step of a test: extents are appended, a band is cleaned, or a stream writes a band.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<(u64, u64)>),
    Clean,
    Band(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let extents = proptest::collection::vec((0..LAST, 1..4_u64), 1..4).prop_map(|mut extents| {
        extents.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::new();
        let mut room = BAND;
        for (first, sectors) in extents {
            let from = first.max(apart.last().map_or(0, |(_, end)| *end));
            let end = (first + sectors).min(LAST).min(from + room);
            if from < end {
                room -= end - from;
                apart.push((from, end));
            }
        }
        Step::Append(apart)
    });
    let band = (0..LAST.div_ceil(BAND)).prop_map(|band| Step::Band(band * BAND));
    let step = prop_oneof![8 => extents, 1 => Just(Step::Clean), 1 => band];
    proptest::collection::vec(step, 1..120)
}

proptest! {
    /// After any steps, the newest version of every sector is where the map says.
    #[test]
    fn nothing_is_lost(steps in steps(), most in 12_u32..60) {
        let mut bed = Bed::new(most);
        for step in steps {
            match step {
                Step::Append(extents) if extents.is_empty() => {}
                Step::Append(extents) => bed.append(&extents),
                Step::Clean => drop(bed.clean()),
                Step::Band(first) => {
                    let end = bed.log.band_end(first);
                    let band = bed.write(first..end);
                    bed.put(first, &band);
                    bed.log.forget(first, end);
                }
            }
            bed.check();
        }
        while bed.clean() {
            bed.check();
        }
        prop_assert_eq!((bed.log.live(), bed.log.used, bed.log.extents()), (0, 0, 0));
        prop_assert_eq!(&bed.platter[..LAST as usize], &bed.newest[..]);
    }
}

#[test]
fn the_band_with_the_oldest_data_is_cleaned_first() {
    let mut bed = Bed::new(60);
    for first in [40, 9, 70] {
        bed.append(&[(first, first + 1)]);
    }
    // The data of the oldest entry is overwritten, so that it does not count any more.
    bed.append(&[(40, 41)]);
    let plan = bed.log.oldest_band().unwrap();
    assert_eq!((plan.first, plan.end), (8, 16));
    let home = Piece { number: 8, sectors: 8, logged: false };
    let logged = Piece { number: LAST + 1 + OVERHEAD, sectors: 1, logged: true };
    assert_eq!(plan.reads, [home, logged], "what is at home in one go, then the log");
}

#[test]
fn a_band_that_lies_in_the_log_is_not_read_at_home() {
    let mut bed = Bed::new(60);
    bed.append(&[(16, 24)]);
    let plan = bed.log.oldest_band().unwrap();
    assert_eq!(plan.reads, [Piece { number: LAST, sectors: 8, logged: true }]);
}

#[test]
fn the_log_is_full_to_the_sector_and_the_map_to_the_extent() {
    // Three entries of 8 sectors and 2 of overhead take 30 of 31 sectors.
    let mut bed = Bed::new(60);
    for first in [0, 8] {
        bed.append(&[(first, first + 8)]);
    }
    assert!(bed.log.fits(&[(16, 25)]));
    assert!(!bed.log.fits(&[(16, 26)]));
    bed.append(&[(16, 24)]);
    assert!(!bed.log.fits(&[(24, 25)]), "one sector is left");
    // A new extent may split an old one, so that two places of the map must be free.
    let mut bed = Bed::new(3);
    bed.append(&[(1, 2)]);
    assert!(bed.log.fits(&[(9, 10)]));
    bed.append(&[(9, 10)]);
    assert!(!bed.log.fits(&[(17, 18)]));
}
