//! Reads that go before others, and what is left for them.

use super::*;
use crate::nand::{Observed, Observer, Operation};
use assay_spec::device::{SlcSpec, SuspendSpec};
use std::sync::{Arc, Mutex};

/// 20 us until the array can be read, 10 to go on, twice at most.
fn leaving() -> NandSpec {
    let suspend = SuspendSpec { suspend: us(20), resume: us(10), max_admissions: 2 };
    NandSpec { suspend: Some(suspend), ..spec() }
}

/// A drive whose first plane is programming a page from 100 us to 1000.
fn programming(spec: NandSpec) -> Bed {
    let mut bed = Bed::new(spec);
    bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
    bed.until(us(100));
    bed
}

#[test]
fn a_program_is_left_for_a_read_and_gone_on_with() {
    let mut bed = programming(leaving());
    bed.until(us(500)).read(ppa(0, 4), HOST, tok(2));
    // 20 to leave it, 50 to sense, 100 on the bus; 10 to go on while the page is there.
    assert_eq!(bed.when(Read(tok(2))), us(670));
    assert_eq!(bed.when(Programmed(tok(1), 0)), us(570 + 10 + 500));
    assert_eq!(bed.nand.suspensions(), Some(1));
    assert_eq!(bed.nand.busy()[0], us(900 + 20 + 50 + 10), "each counts");
    let mut bed = programming(spec());
    bed.until(us(500)).read(ppa(0, 4), HOST, tok(2));
    assert_eq!(bed.when(Read(tok(2))), us(1150), "waits for the program if nothing can be left");
}

#[test]
fn what_is_left_counts_as_busy_while_it_goes_on() {
    // From 100 to 500 it programs, leaves that until 520, senses until 570, and goes on with it.
    let busy = [(510, 410), (540, 440), (575, 475), (600, 500), (1080, 980)];
    for (index, (mark, before)) in busy.into_iter().enumerate() {
        let mut bed = programming(leaving());
        bed.until(us(500)).read(ppa(0, 4), HOST, tok(2));
        bed.until(us(mark)).mark();
        for (at, by) in &busy[index..] {
            assert_eq!(bed.until(us(*at)).busy()[0], us(by - before), "{mark} to {at}");
        }
    }
}

#[test]
fn nothing_is_left_that_is_done_as_soon() {
    for (at, read, programmed) in [(us(980), us(1150), us(1000)), (us(979), us(1149), us(1080))] {
        let mut bed = programming(leaving());
        bed.until(at).read(ppa(0, 4), HOST, tok(2));
        let programmed = if at == us(979) { us(1049 + 10 + 21) } else { programmed };
        assert_eq!((bed.when(Read(tok(2))), bed.when(Programmed(tok(1), 0))), (read, programmed));
    }
}

#[test]
fn an_erase_is_left_so_often_and_each_time_for_all_that_wait() {
    let mut bed = Bed::new(leaving());
    bed.nand.erase(ppa(0, 0), HOST);
    bed.until(us(100)).read(ppa(0, 4), HOST, tok(1));
    bed.until(us(110)).read(ppa(0, 5), HOST, tok(2));
    // Gone on with at 320: it has had 100 of 3000, and 70 since 330.
    bed.until(us(400)).read(ppa(0, 6), HOST, tok(3));
    assert_eq!(bed.until(us(600)).suspensions(), Some(2));
    // Without a register more, a page is not sensed while another is on its way.
    assert_eq!(bed.seen[..2], [(Read(tok(1)), us(270)), (Read(tok(2)), us(420))]);
    bed.until(us(700)).read(ppa(0, 7), HOST, tok(4));
    bed.until(us(1000)).read(ppa(0, 8), HOST, tok(5));
    bed.when(Read(tok(5)));
    let at = |event| bed.seen.iter().find(|(seen, _)| *seen == event).expect("seen").1;
    // Left again for the third; not for the fourth and the fifth, which go first when it is done:
    // at 470 + 10 + (3000 - 100 - 70).
    assert_eq!(
        [at(Read(tok(3))), at(Read(tok(4))), at(Read(tok(5)))],
        [us(570), us(3460), us(3610)]
    );
}

#[test]
fn what_stays_left_counts_as_often() {
    let mut bed = programming(leaving());
    bed.until(us(500)).read(ppa(0, 4), HOST, tok(2));
    // They come while it reads: one more time, and then no more.
    bed.until(us(560)).read(ppa(0, 5), HOST, tok(3));
    bed.until(us(700)).read(ppa(0, 6), HOST, tok(4));
    assert_eq!(bed.when(Read(tok(3))), us(820), "the latch is free at 670");
    assert_eq!(bed.when(Programmed(tok(1), 0)), us(720 + 10 + 500));
    assert_eq!(bed.when(Read(tok(4))), us(1230 + 150));
    assert_eq!(bed.nand.suspensions(), Some(1));
}

#[test]
fn a_page_is_not_read_before_it_is_in_the_cells() {
    let mut bed = programming(leaving());
    bed.nand.program(ppa(0, 1), HOST, tok(2), NO_OP);
    bed.until(us(500)).read(ppa(0, 0), HOST, tok(3));
    bed.nand.read(ppa(0, 1), HOST, tok(4));
    assert_eq!(bed.when(Programmed(tok(1), 0)), us(1000));
    assert_eq!(bed.when(Programmed(tok(2), 0)), us(2000));
    assert_eq!((bed.when(Read(tok(3))), bed.when(Read(tok(4)))), (us(2150), us(2300)));
}

#[test]
fn of_a_page_that_is_being_moved_the_old_copy_is_read() {
    let mut bed = programming(leaving());
    // Behind the program: a copy within the plane, and the erase of the block that it comes from.
    bed.nand.copy_back(ppa(0, 4), ppa(0, 8), Cause::Collect);
    bed.nand.erase(ppa(0, 4), Cause::Collect);
    bed.until(us(500)).read(ppa(0, 8), HOST, tok(2));
    assert_eq!(bed.when(Read(tok(2))), us(670));
    assert_eq!(bed.nand.suspensions(), Some(1));
    // While it is being copied, which is not left; the erase is next, but waits.
    let mut bed = programming(leaving());
    bed.nand.copy_back(ppa(0, 4), ppa(0, 8), Cause::Collect);
    bed.nand.erase(ppa(0, 4), Cause::Collect);
    bed.until(us(1500)).read(ppa(0, 8), HOST, tok(2));
    assert_eq!((bed.when(Read(tok(2))), bed.nand.now()), (us(1950 + 150), us(2100 + 3000)));
    // Of a page that is written there afterwards nothing is there yet.
    let mut bed = programming(leaving());
    bed.nand.copy_back(ppa(0, 4), ppa(0, 8), Cause::Collect);
    bed.nand.erase(ppa(0, 8), Cause::Collect);
    bed.nand.program(ppa(0, 8), HOST, tok(3), NO_OP);
    bed.until(us(500)).read(ppa(0, 8), HOST, tok(2));
    assert_eq!(bed.when(Read(behind(2))), bed.when(Programmed(behind(3), 0)) + us(150));
}

#[test]
fn an_old_copy_that_is_being_erased_is_not_read() {
    let mut bed = programming(leaving());
    // To another plane, and the erase does not wait for that.
    bed.nand.program_from(ppa(1, 8), Cause::Collect, ppa(0, 4), &[]);
    bed.nand.program_from(ppa(1, 9), Cause::Collect, ppa(0, 5), &[]);
    bed.nand.erase(ppa(0, 4), Cause::Collect);
    bed.until(us(990)).read(ppa(1, 9), HOST, tok(2));
    bed.until(us(1200)).read(ppa(1, 9), HOST, tok(3));
    // Until 1150 it waits for the first; then what is being written is all there is.
    assert_eq!(bed.when(Read(tok(2))), us(1150));
    assert_eq!(bed.when(Read(behind(3))), us(2000 + 100 + 150));
}

#[test]
fn an_erase_does_not_overtake_a_read_of_its_block() {
    let mut bed = programming(leaving());
    let least = SuspendSpec { suspend: us(20), resume: us(10), max_admissions: 1 };
    let mut once = programming(NandSpec { suspend: Some(least), ..spec() });
    for bed in [&mut bed, &mut once] {
        bed.until(us(500)).read(ppa(0, 4), HOST, tok(2));
        // What else is there goes on, so these wait; of others on the plane one has its turn.
        bed.until(us(530)).read(ppa(0, 5), HOST, tok(3));
        bed.until(us(540)).read(ppa(0, 8), HOST, tok(4));
        bed.nand.erase(ppa(0, 4), HOST);
        bed.nand.program(ppa(0, 4), HOST, tok(5), NO_OP);
    }
    let at = |bed: &mut Bed| {
        [Read(tok(3)), Read(tok(4)), Programmed(tok(5), 0)].map(|event| bed.when(event))
    };
    // The two are sensed at 670 and 820, and the program goes on until 870 + 10 + 500.
    assert_eq!(at(&mut bed), [us(820), us(970), us(1380 + 3000 + 1000)]);
    // It goes on at 570, until 1080; sensed at 1130 and 1280, and then the erase.
    assert_eq!(at(&mut once), [us(1230), us(1380), us(1280 + 3000 + 1000)]);
}

#[test]
fn an_erase_waits_for_a_read_that_is_not_let_in_yet() {
    let mut bed = programming(leaving());
    bed.until(us(990)).read(ppa(0, 4), HOST, tok(2));
    // That is sensed from 1000 to 1050.
    bed.until(us(1010)).read(ppa(0, 5), HOST, tok(3));
    bed.nand.erase(ppa(0, 4), HOST);
    bed.nand.erase(ppa(0, 8), HOST);
    assert_eq!((bed.when(Read(tok(2))), bed.when(Read(tok(3)))), (us(1150), us(1300)));
    assert_eq!(bed.nand.now(), us(1300 + 2 * 3000));
}

#[test]
fn what_has_its_turn_is_left_for_those_that_came_meanwhile() {
    let mut bed = programming(leaving());
    bed.until(us(990)).read(ppa(0, 4), HOST, tok(2));
    // That is sensed from 1000 to 1050, and on the bus until 1150; the latch is free then.
    bed.until(us(1010)).read(ppa(0, 5), HOST, tok(3));
    bed.nand.erase(ppa(0, 8), HOST);
    assert_eq!((bed.when(Read(tok(2))), bed.when(Read(tok(3)))), (us(1150), us(1300)));
    assert_eq!(bed.nand.suspensions(), Some(1));
    assert_eq!(bed.nand.now(), us(1200 + 10 + 3000));
}

#[test]
fn an_erase_for_idle_time_waits_for_such_a_read_too() {
    let mut bed = programming(leaving());
    bed.until(us(990)).read(ppa(0, 4), HOST, tok(2));
    bed.until(us(1010)).read(ppa(0, 5), HOST, tok(3));
    bed.nand.erase_when_idle(ppa(0, 4), HOST);
    bed.nand.erase_when_idle(ppa(0, 8), HOST);
    assert_eq!((bed.when(Read(tok(2))), bed.when(Read(tok(3)))), (us(1150), us(1300)));
    // The second is sensed from 1150 to 1200; what the erases do is begun then.
    assert_eq!(bed.nand.now(), us(1200 + 2 * 3000));
}

#[test]
fn a_page_is_loaded_while_a_read_is_sensed_for_the_latch() {
    let mut bed = programming(NandSpec { cache_register: true, ..leaving() });
    bed.until(us(500)).read(ppa(0, 4), HOST, tok(2));
    // Sensed from 520 to 570.
    bed.until(us(530));
    bed.nand.program(ppa(0, 1), HOST, tok(3), NO_OP);
    assert_eq!((bed.when(Loaded(tok(3))), bed.when(Read(tok(2)))), (us(630), us(730)));
}

#[test]
fn others_have_their_turn_between_reads() {
    let mut bed = programming(leaving());
    bed.until(us(990));
    // They wait for the program's last 10 us.
    bed.nand.read(ppa(0, 4), HOST, tok(2));
    bed.nand.read(ppa(0, 5), Cause::Ahead, tok(3));
    bed.until(us(1010)).read(ppa(0, 6), HOST, tok(4));
    assert_eq!(bed.when(Read(tok(2))), us(1150));
    // The read ahead was before the second one, and its page is on the bus after the
    // first.
    assert_eq!((bed.when(Read(tok(3))), bed.when(Read(tok(4)))), (us(1250), us(1350)));
}

#[test]
fn a_second_register_lets_reads_follow_each_other() {
    let mut bed = programming(NandSpec { cache_register: true, ..leaving() });
    bed.until(us(500));
    (2..5).for_each(|n| _ = bed.nand.read(ppa(0, n + 2), HOST, tok(n)));
    // Sensed at 570, 620, and 720, when the second is off the array.
    let at = [Read(tok(2)), Read(tok(3)), Read(tok(4))].map(|event| bed.when(event));
    assert_eq!(at, [us(670), us(770), us(870)]);
    // The first alone was there when it began to be left; the third is off the array at 770.
    assert_eq!(bed.when(Programmed(tok(1), 0)), us(770 + 10 + 500));
}

#[test]
fn planes_that_program_together_are_left_together() {
    for cache_register in [false, true] {
        let die = NandSpec { planes_per_die: 2, plane_mode: PlaneMode::MultiPlane, ..leaving() };
        let mut bed = Bed::new(NandSpec { cache_register, ..die });
        bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
        bed.nand.program(ppa(4, 0), HOST, tok(2), NO_OP);
        // Loaded one after the other, and begun at 200.
        bed.until(us(300)).read(ppa(4, 4), HOST, tok(3));
        assert_eq!(bed.when(Read(tok(3))), us(470));
        let ends = [Programmed(tok(1), 0), Programmed(tok(2), 4)].map(|event| bed.when(event));
        assert_eq!(ends, [us(370 + 10 + 800); 2]);
        // What any of them writes is not there yet.
        let mut bed = Bed::new(NandSpec { cache_register, ..die });
        bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
        bed.nand.program(ppa(4, 0), HOST, tok(2), NO_OP);
        bed.until(us(300)).read(ppa(4, 0), HOST, tok(3));
        assert_eq!(bed.when(Read(tok(3))), us(1100 + 150));
    }
}

#[test]
fn a_page_of_the_map_that_somebody_waits_for_goes_first_too() {
    let mut bed = programming(leaving());
    bed.until(us(500)).read(ppa(0, 4), Cause::Map, tok(2));
    bed.nand.read(ppa(0, 5), Cause::Map, Token::NONE);
    assert_eq!(bed.when(Read(tok(2))), us(670));
    // The other one is the drive's own.
    assert_eq!(bed.nand.now(), us(1080 + 150));
}

/// Whether something was gone on with or left, on which plane, from when to when.
type Part = (bool, u32, Nanos, Nanos);

#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Part>>>);

impl Told {
    fn put(&self, goes_on: bool, operation: &Operation) {
        let Operation { plane, start, end, .. } = *operation;
        self.0.lock().expect("nobody panics").push((goes_on, plane, start, end));
    }
}

impl Observer for Told {
    fn observe(&mut self, observed: Observed) {
        match observed {
            Observed::Suspended(operation) => self.put(false, &operation),
            Observed::Resumed(operation) => self.put(true, &operation),
            _ => {}
        }
    }
}

#[test]
fn observers_are_told_of_every_plane() {
    let both = NandSpec { planes_per_die: 2, plane_mode: PlaneMode::MultiPlane, ..leaving() };
    let mut bed = Bed::new(both);
    let told = Told::default();
    bed.nand.observe(Box::new(told.clone()));
    bed.nand.program(ppa(0, 0), HOST, tok(1), NO_OP);
    bed.nand.program(ppa(4, 0), HOST, tok(2), NO_OP);
    bed.until(us(300)).read(ppa(4, 4), HOST, tok(3));
    bed.when(Read(tok(3)));
    let (left, on) = ((us(300), us(320)), (us(370), us(1180)));
    let all = [(false, 0, left), (false, 4, left), (true, 0, on), (true, 4, on)];
    let all = all.map(|(goes_on, plane, (start, end))| (goes_on, plane, start, end));
    assert_eq!(*told.0.lock().expect("nobody panics"), all);
}

#[test]
fn each_program_is_left_as_often() {
    let mut bed = programming(leaving());
    bed.nand.program(ppa(0, 1), HOST, tok(2), NO_OP);
    bed.until(us(200)).read(ppa(0, 4), HOST, tok(3));
    bed.until(us(500)).read(ppa(0, 5), HOST, tok(4));
    bed.until(us(800)).read(ppa(0, 6), HOST, tok(5));
    // The first has been left twice, for 80 us each, and the third read waits for it.
    assert_eq!(bed.until(us(1200)).suspensions(), Some(2));
    bed.until(us(1600)).read(ppa(0, 7), HOST, tok(6));
    bed.until(us(1900)).read(ppa(0, 8), HOST, tok(7));
    assert_eq!(bed.when(Read(tok(5))), us(1160 + 150));
    assert_eq!(bed.nand.suspensions(), Some(4));
}

#[test]
fn a_physical_page_is_sensed_once_for_reads_in_a_row() {
    let two = NandSpec { pages_per_program: 2, ..leaving() };
    let slc = SlcSpec { bits: 1, read: us(50), program: us(900) };
    let mut bed = Bed::new(NandSpec { slc: Some(slc), ..two });
    bed.nand.read(ppa(0, 2), HOST, tok(1));
    bed.nand.read(ppa(0, 3), HOST, tok(2));
    assert_eq!([Read(tok(1)), Read(tok(2))].map(|event| bed.when(event)), [us(150), us(250)]);
    // After a program the latch has what was there before.
    bed.nand.program(ppa(0, 2), HOST, tok(3), NO_OP);
    bed.nand.program(ppa(0, 3), HOST, tok(4), NO_OP);
    let programmed = bed.when(Programmed(tok(4), 0));
    bed.nand.read(ppa(0, 3), HOST, tok(5));
    assert_eq!(bed.when(Read(tok(5))), programmed + us(150));
}
