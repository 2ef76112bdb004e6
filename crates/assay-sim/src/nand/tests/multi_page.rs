//! Programs of several pages, and blocks of one bit a cell: a nanosecond before and after.

use super::*;
use assay_spec::device::SlcSpec;

/// Three pages a program, of three bits a cell.
fn three() -> NandSpec {
    let slc = SlcSpec { bits: 3, read: us(20), program: us(200) };
    NandSpec { pages_per_block: 6, pages_per_program: 3, slc: Some(slc), ..spec() }
}

/// The first pages of a plane of 48.
fn at(page: u32) -> Ppa {
    Ppa { plane: 0, page }
}

#[test]
fn pages_wait_for_the_last_of_their_program_and_are_one() {
    let mut bed = Bed::new(three());
    (0..2).for_each(|page| bed.nand.program(at(page), HOST, tok(page), NO_OP));
    bed.until(us(5000));
    assert!(bed.seen.is_empty() && bed.nand.is_idle(), "nothing is on the chip");
    assert!(bed.nand.chips.is_buffered(at(1)) && !bed.nand.chips.is_buffered(at(2)));
    bed.nand.program(at(2), HOST, tok(2), NO_OP);
    assert!(!bed.nand.chips.is_buffered(at(1)));
    // Three pages over the bus, and one program.
    let end = us(5000 + 300 + 900);
    bed.until(end - Nanos(1));
    assert!(bed.seen.is_empty());
    bed.until(end);
    let all = [0, 1, 2].map(|token| (Programmed(tok(token), 0), end));
    assert_eq!(bed.seen, all);
    assert_eq!(bed.nand.chips.counts.programs[HOST as usize], 3);
}

#[test]
fn a_short_program_takes_the_bus_for_what_it_has() {
    let mut bed = Bed::new(three());
    (0..2).for_each(|page| bed.nand.program(at(page), HOST, tok(page), NO_OP));
    assert!(!bed.nand.program_short(0, 1), "nothing ends there");
    assert!(bed.nand.program_short(0, 2));
    assert!(!bed.nand.program_short(0, 2), "once");
    assert_eq!(bed.when(Programmed(tok(1), 0)), us(200 + 900));
}

#[test]
fn moved_pages_are_programmed_when_all_of_them_have_come() {
    let mut bed = Bed::new(three());
    for page in 6..9 {
        let read = bed.nand.read(at(page - 6), Cause::Collect, Token::NONE);
        bed.nand.program_from(at(page), Cause::Collect, at(page - 6), &[read]);
    }
    // Its own reads come before on its plane: three times 150 us.
    let busy = us(3 * 150 + 300 + 900);
    bed.until(busy - Nanos(1));
    assert!(!bed.nand.is_idle());
    bed.until(busy);
    assert!(bed.nand.is_idle());
}

#[test]
fn one_bit_a_cell_is_faster_and_one_page_a_program() {
    let mut bed = Bed::new(three());
    bed.nand.chips.use_as_slc(0, true);
    bed.nand.program(at(0), HOST, tok(1), NO_OP);
    assert_eq!(bed.when(Programmed(tok(1), 0)), us(100 + 200));
    bed.nand.read(at(0), HOST, tok(2));
    assert_eq!(bed.when(Read(tok(2))), us(300 + 20 + 100));
    // What has been asked for stays what it is.
    bed.nand.read(at(1), HOST, tok(3));
    bed.nand.chips.use_as_slc(0, false);
    bed.nand.read(at(2), HOST, tok(4));
    assert_eq!(bed.when(Read(tok(3))), us(420 + 20 + 100));
    assert_eq!(bed.when(Read(tok(4))), us(540 + 50 + 100));
}

#[test]
fn a_physical_page_is_sensed_once_for_all_its_parts() {
    // Two parts a physical page, three of which are programmed in one go.
    let spec = NandSpec { pages_per_program: 6, ..three() };
    let mut bed = Bed::new(spec);
    for (token, page) in [(1, 0), (2, 1), (3, 2), (4, 1)] {
        bed.nand.read(at(page), HOST, tok(token));
    }
    assert_eq!(bed.when(Read(tok(1))), us(150));
    assert_eq!(bed.when(Read(tok(2))), us(150 + 100), "the other part");
    assert_eq!(bed.when(Read(tok(3))), us(250 + 150), "another page");
    assert_eq!(bed.when(Read(tok(4))), us(400 + 150), "which took the register");
    (6..12).for_each(|page| bed.nand.program(at(page), HOST, tok(page), NO_OP));
    let end = us(550 + 600 + 900);
    assert_eq!(bed.when(Programmed(tok(6), 0)), end);
    bed.nand.read(at(1), HOST, tok(5));
    assert_eq!(bed.when(Read(tok(5))), end + us(150), "and so did the program");
}
