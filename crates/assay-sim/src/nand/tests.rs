//! Every rule of the chips and buses, a nanosecond before and after.

mod multi_page;
mod suspension;

use super::*;
use crate::lpn::Lpn;
use assay_spec::device::{PlaneMode, ProgramTime};
use assay_spec::{Bytes, Rate};

fn spec() -> NandSpec {
    NandSpec {
        channels: 2,
        dies_per_channel: 2,
        planes_per_die: 1,
        plane_mode: PlaneMode::Independent,
        blocks_per_plane: 8,
        pages_per_block: 4,
        page: Bytes(4096),
        read: Nanos::from_micros(50),
        program: ProgramTime::uniform(Nanos::from_micros(900)),
        erase: Nanos::from_millis(3),
        bus: Rate(40_960_000),
        cache_register: false,
        pages_per_program: 1,
        slc: None,
        suspend: None,
    }
}

const HOST: Cause = Cause::Host;

/// The token of an operation on logical page `page`.
fn tok(page: u32) -> Token {
    Token::new(Waiter::Request(0), Lpn(page))
}

/// The same, after collection.
fn behind(page: u32) -> Token {
    tok(page).behind_collection()
}

fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// The first pages of a plane of 32.
fn ppa(plane: u32, page: u32) -> Ppa {
    Ppa { plane, page: plane * 32 + page }
}

impl Nand {
    /// Asks for a program that needs nothing.
    pub(crate) fn program(&mut self, ppa: Ppa, cause: Cause, token: Token, old: u32) {
        self.program_with(ppa, cause, token, &[], old);
    }
}

/// Chips, and what was noticed when.
struct Bed {
    nand: Nand,
    seen: Vec<(FlashEvent, Nanos)>,
}

impl Bed {
    fn new(spec: NandSpec) -> Bed {
        Bed { nand: Nand::new(&spec, 0), seen: Vec::new() }
    }

    /// Lets everything up to `until` happen.
    fn until(&mut self, until: Nanos) -> &mut Nand {
        let mut flash_events = Vec::new();
        while let Some((queue, slot)) = self.nand.chips.events.pop(until) {
            self.nand.on_event(queue, slot, &mut flash_events);
            let now = self.nand.now();
            self.seen.extend(flash_events.drain(..).map(|n| (n, now)));
        }
        if until != Nanos::NEVER {
            self.nand.chips.events.pass(until);
        }
        &mut self.nand
    }

    /// Lets everything happen; when this was noticed.
    fn when(&mut self, event: FlashEvent) -> Nanos {
        self.until(Nanos::NEVER);
        assert!(self.nand.is_idle());
        let seen = self.seen.iter().find(|(n, _)| *n == event);
        seen.unwrap_or_else(|| panic!("{event:?} is not in {:?}", self.seen)).1
    }
}

use FlashEvent::{Loaded, Programmed, Read};

#[test]
fn a_read_is_sense_and_shift() {
    let mut bed = Bed::new(spec());
    bed.until(Nanos(7)).read(ppa(0, 0), HOST, tok(1));
    assert_eq!(bed.when(Read(tok(1))), Nanos(7 + 50_000 + 100_000));
}

#[test]
fn planes_on_one_channel_share_the_bus_and_on_two_do_not() {
    let mut bed = Bed::new(spec());
    for (token, plane) in [(1, 0), (2, 2), (3, 1)] {
        bed.nand.read(ppa(plane, 0), HOST, tok(token));
    }
    assert_eq!(bed.when(Read(tok(2))), us(250), "waits for the bus");
    assert_eq!(bed.when(Read(tok(3))), us(150), "another bus");
}

#[test]
fn the_bus_goes_to_who_is_ready_first_not_to_who_asked_first() {
    let mut bed = Bed::new(spec());
    bed.nand.erase(ppa(0, 0), HOST);
    bed.nand.read(ppa(0, 0), HOST, tok(1));
    // Ready a nanosecond after the read of plane 0 is, or at least a nanosecond before.
    let mut late = Bed::new(spec());
    late.nand.erase(ppa(0, 0), HOST);
    late.nand.read(ppa(0, 0), HOST, tok(1));
    bed.until(Nanos(2_999_999)).read(ppa(2, 0), HOST, tok(2));
    late.until(Nanos(3_000_001)).read(ppa(2, 0), HOST, tok(2));
    assert_eq!(
        (bed.when(Read(tok(2))), bed.when(Read(tok(1)))),
        (Nanos(3_149_999), Nanos(3_249_999))
    );
    assert_eq!((late.when(Read(tok(1))), late.when(Read(tok(2)))), (us(3150), us(3250)));
}

#[test]
fn a_program_holds_the_plane_and_frees_the_bus() {
    let mut bed = Bed::new(spec());
    for (token, plane, page) in [(1, 0, 0), (2, 2, 0), (3, 0, 1)] {
        bed.nand.program(ppa(plane, page), HOST, tok(token), NO_OP);
    }
    assert_eq!((bed.when(Loaded(tok(1))), bed.when(Programmed(tok(1), 0))), (us(100), us(1000)));
    assert_eq!(bed.when(Loaded(tok(2))), us(200), "only the bus is shared");
    assert_eq!(bed.when(Loaded(tok(3))), us(1100), "the register holds the data");
}

#[test]
fn a_read_waits_for_the_program_before_it_to_the_nanosecond() {
    for (at, end) in [(999_999, 1_150_000), (1_000_000, 1_150_000), (1_000_001, 1_150_001)] {
        let mut bed = Bed::new(spec());
        bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
        bed.until(Nanos(at)).read(ppa(0, 0), HOST, tok(2));
        assert_eq!(bed.when(Read(tok(2))), Nanos(end));
    }
}

#[test]
fn a_cache_register_takes_data_while_the_array_programs() {
    let mut bed = Bed::new(NandSpec { cache_register: true, ..spec() });
    (0..3).for_each(|page| bed.nand.program(ppa(0, page), HOST, tok(page), NO_OP));
    assert_eq!((bed.when(Loaded(tok(1))), bed.when(Programmed(tok(1), 0))), (us(200), us(1900)));
    assert_eq!(bed.when(Loaded(tok(2))), us(1100), "when the second begins its program");
}

#[test]
fn a_cache_register_lets_the_next_page_be_sensed_during_the_shift() {
    let ends = |cache_register| {
        let mut bed = Bed::new(NandSpec { cache_register, ..spec() });
        for page in 0..4 {
            bed.nand.read(ppa(0, page), HOST, tok(page));
        }
        [0, 1, 2, 3].map(|token| bed.when(Read(tok(token))))
    };
    assert_eq!(ends(true), [us(150), us(250), us(350), us(450)], "the bus is the limit");
    assert_eq!(ends(false), [us(150), us(300), us(450), us(600)], "sense and shift in turn");
}

#[test]
fn a_plane_keeps_the_order_of_its_operations() {
    // A read behind a program that waits in the cache register must not overtake it.
    let mut bed = Bed::new(NandSpec { cache_register: true, ..spec() });
    bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
    bed.nand.program(ppa(0, 1), HOST, tok(2), NO_OP);
    bed.nand.read(ppa(0, 1), HOST, tok(3));
    bed.nand.erase(ppa(0, 4), HOST);
    bed.nand.program(ppa(0, 4), HOST, tok(4), NO_OP);
    assert_eq!(bed.when(Programmed(tok(2), 0)), us(1900));
    assert_eq!(bed.when(Read(tok(3))), us(1900 + 150));
    assert_eq!(bed.when(Programmed(tok(4), 0)), us(1950 + 3000 + 900));
}

#[test]
fn every_second_page_is_slow_if_the_cells_are() {
    let slow = NandSpec { program: ProgramTime { fast: us(300), slow: us(1500) }, ..spec() };
    let mut bed = Bed::new(slow);
    (0..4).for_each(|page| bed.nand.program(ppa(0, page), HOST, tok(page), NO_OP));
    let took = [0, 1, 2, 3].map(|t| bed.when(Programmed(tok(t), 0)) - bed.when(Loaded(tok(t))));
    assert_eq!(took, [us(300), us(1500), us(300), us(1500)]);
}

/// Planes 0 and 2 are the two planes of the first die.
fn two_planes(plane_mode: PlaneMode, cache_register: bool) -> NandSpec {
    NandSpec { dies_per_channel: 1, planes_per_die: 2, plane_mode, cache_register, ..spec() }
}

#[test]
fn planes_of_a_serial_die_take_turns_and_of_a_multi_plane_die_program_together() {
    let ends = |mode, cache| {
        let mut bed = Bed::new(two_planes(mode, cache));
        bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
        bed.nand.program(ppa(2, 0), HOST, tok(2), NO_OP);
        [bed.when(Programmed(tok(1), 0)), bed.when(Programmed(tok(2), 2))]
    };
    for cache in [false, true] {
        assert_eq!(ends(PlaneMode::Independent, cache), [us(1000), us(1100)]);
        // The first waits for the second to be loaded: one program for both.
        assert_eq!(ends(PlaneMode::MultiPlane, cache), [us(1100), us(1100)]);
        assert_eq!(ends(PlaneMode::Serial, cache), [us(1000), us(1900)]);
    }
}

#[test]
fn only_programs_of_the_same_page_are_one() {
    let mut bed = Bed::new(two_planes(PlaneMode::MultiPlane, false));
    bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
    bed.nand.program(ppa(2, 1), HOST, tok(2), NO_OP);
    assert_eq!(bed.when(Programmed(tok(1), 0)), us(1000));
    assert_eq!(bed.when(Programmed(tok(2), 2)), us(1900));
}

#[test]
fn programs_released_together_begin_when_the_last_is_loaded() {
    let mut bed = Bed::new(NandSpec { channels: 1, dies_per_channel: 2, ..spec() });
    let [first, second] = [0, 1].map(|p| bed.nand.program_held(ppa(p, 0), HOST, tok(p)));
    bed.until(us(50)).release_together(vec![first, second]);
    // Both shift in, one after the other, 100 us each; then both program.
    assert_eq!(bed.when(Programmed(tok(0), 0)), us(1100));
    assert_eq!(bed.when(Programmed(tok(1), 1)), us(1100));
}

#[test]
fn a_held_program_begins_when_it_is_released() {
    for (release, end) in [(us(50), us(1000)), (us(100), us(1000)), (us(500), us(1400))] {
        let mut bed = Bed::new(spec());
        let program = bed.nand.program_held(ppa(0, 0), HOST, tok(1));
        bed.until(release).release(&[program]);
        assert_eq!((bed.when(Loaded(tok(1))), bed.when(Programmed(tok(1), 0))), (us(100), end));
    }
}

#[test]
fn a_program_waits_for_the_reads_that_its_data_comes_from() {
    let mut bed = Bed::new(spec());
    let reads = [0, 1, 2].map(|plane| bed.nand.read(ppa(plane, 0), HOST, Token::NONE));
    bed.nand.program_after(ppa(3, 0), HOST, tok(1), &reads);
    assert_eq!(bed.when(Loaded(tok(1))), us(250 + 100), "planes 0 and 2 share a bus");
}

#[test]
fn copy_back_and_erase_use_no_bus() {
    let mut bed = Bed::new(spec());
    bed.nand.copy_back(ppa(0, 0), ppa(0, 8), Cause::Collect);
    bed.nand.copy_back(ppa(0, 1), ppa(0, 9), Cause::Collect);
    bed.nand.erase(ppa(0, 0), Cause::Collect);
    bed.nand.read(ppa(0, 8), HOST, tok(1));
    bed.nand.read(ppa(2, 0), HOST, tok(2));
    assert_eq!(bed.when(Read(tok(2))), us(150));
    assert_eq!(bed.when(Read(behind(1))), us(2 * 950 + 3000 + 150));
    let (collect, counts) = (Cause::Collect as usize, &bed.nand.chips.counts);
    assert_eq!((counts.reads[collect], counts.programs[collect]), (2, 2));
    assert_eq!((counts.erases[collect], counts.reads[HOST as usize]), (1, 2));
    assert_eq!(bed.nand.busy(), [us(2 * 950 + 3000 + 100), us(200)]);
}

#[test]
fn an_erase_that_can_wait_begins_when_its_plane_is_idle() {
    let end = us(100 + 900 + 3000);
    // The plane programs; a read that comes by the end of the program goes first.
    for (read_at, done) in [(us(1000) - Nanos(1), us(1150)), (us(1000) + Nanos(1), end + us(150))] {
        let mut bed = Bed::new(spec());
        bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
        bed.nand.erase_when_idle(ppa(0, 4), HOST);
        bed.until(read_at).read(ppa(0, 0), HOST, tok(2));
        assert_eq!(bed.when(FlashEvent::Read(tok(2))), done);
        bed.until(Nanos::NEVER);
        let erased = if done < end { done + us(3000) } else { done };
        assert_eq!(bed.nand.now(), erased);
        assert!(bed.nand.is_idle());
    }
}

#[test]
fn a_block_is_erased_before_it_is_written() {
    let mut bed = Bed::new(spec());
    bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
    bed.nand.erase_when_idle(ppa(0, 4), HOST);
    bed.nand.erase_when_idle(ppa(0, 8), HOST);
    bed.nand.program(ppa(0, 8), HOST, tok(2), NO_OP);
    // The block that is written is erased at once, the other when nothing is left to do.
    let written = us(1000 + 3000 + 1000);
    assert_eq!(bed.when(FlashEvent::Programmed(tok(2), 0)), written);
    bed.until(Nanos::NEVER);
    assert_eq!(bed.nand.now(), written + us(3000));
}

#[test]
fn who_waits_behind_collection_is_marked_and_timed() {
    let mut bed = Bed::new(spec());
    bed.nand.copy_back(ppa(0, 0), ppa(0, 1), Cause::Collect);
    // Two reads behind it, one of its own plane and one of another, and one that is not the host's.
    bed.nand.read(ppa(0, 2), HOST, tok(1));
    bed.nand.read(ppa(0, 2), Cause::Partial, tok(2));
    bed.nand.read(ppa(1, 2), HOST, tok(3));
    let copied = us(50 + 900);
    let reads = bed.until(copied).waited_behind(copied)[0];
    assert_eq!(reads, (1, us(950 - 150)), "less what it takes alone");
    bed.until(copied + us(149));
    let read = FlashEvent::Read(behind(1));
    assert!(!bed.seen.iter().any(|(event, _)| *event == read));
    bed.until(copied + us(150));
    assert!(bed.seen.contains(&(read, copied + us(150))), "{:?}", bed.seen);
    assert!(
        bed.seen.iter().any(|(event, _)| *event == FlashEvent::Read(tok(3))),
        "its plane is free"
    );
    assert_eq!(bed.until(us(9_000)).waited_behind(us(9_000))[0], (1, copied));
    // An erase is collection's, too; the plane is free of it when it has ended, not before.
    bed.nand.erase(ppa(0, 0), Cause::Wear);
    bed.until(us(11_999)).program(ppa(0, 4), HOST, tok(5), NO_OP);
    bed.until(us(12_000)).program(ppa(0, 5), HOST, tok(6), NO_OP);
    bed.until(us(20_000));
    let loaded = |event| bed.seen.iter().find(|(n, _)| *n == event).map(|(_, at)| *at);
    assert_eq!(loaded(FlashEvent::Loaded(behind(5))), Some(us(12_100)));
    assert_eq!(loaded(FlashEvent::Loaded(tok(6))), Some(us(12_100 + 900 + 100)));
    assert_eq!(bed.nand.waited_behind(us(20_000))[1], (1, us(1)));
}
