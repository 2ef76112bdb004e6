//! Every rule of the chips and buses, a nanosecond before and after.

use super::*;
use assay_spec::Bytes;

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
        program: Nanos::from_micros(900),
        program_slow: Nanos::from_micros(900),
        erase: Nanos::from_millis(3),
        bus: Bytes(40_960_000),
        cache_register: false,
    }
}

const HOST: Cause = Cause::Host;

fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// The first pages of a plane of 32.
fn spot(plane: u32, page: u32) -> Spot {
    Spot { plane, page: plane * 32 + page }
}

#[test]
fn a_read_is_sense_and_shift() {
    assert_eq!(Nand::new(&spec()).read(spot(0, 0), Nanos(7), HOST), Nanos(7 + 50_000 + 100_000));
}

#[test]
fn planes_on_one_channel_share_the_bus_and_on_two_do_not() {
    let mut n = Nand::new(&spec());
    n.read(spot(0, 0), Nanos::ZERO, HOST);
    assert_eq!(n.read(spot(2, 0), Nanos::ZERO, HOST), us(250), "waits for the bus");
    assert_eq!(n.read(spot(1, 0), Nanos::ZERO, HOST), us(150), "another bus");
}

#[test]
fn a_bus_is_free_until_the_data_is_sensed() {
    let mut n = Nand::new(&spec());
    n.erase(spot(0, 0), Nanos::ZERO, HOST);
    assert_eq!(n.read(spot(0, 0), Nanos::ZERO, HOST), us(3150));
    // The bus is planned for 3050 to 3150; before that a whole page fits, or 30 of them.
    assert_eq!(n.read(spot(2, 0), Nanos::ZERO, HOST), us(150));
    let late = us(2901);
    assert_eq!(n.read(spot(2, 1), late, HOST), us(3150 + 100), "a microsecond too late to fit");
    assert_eq!(Nand::new(&spec()).read(spot(2, 1), us(2900), HOST), us(3050));
}

#[test]
fn a_program_holds_the_plane_and_frees_the_bus() {
    let mut n = Nand::new(&spec());
    let p = n.program(spot(0, 0), Nanos::ZERO, HOST);
    assert_eq!((p.in_register, p.in_cells), (us(100), us(1000)));
    assert_eq!(n.load(spot(2, 0), Nanos::ZERO, HOST), us(200), "only the bus is shared");
    assert_eq!(n.load(spot(0, 1), Nanos::ZERO, HOST), us(1100), "the register holds the data");
}

#[test]
fn a_read_waits_for_the_program_before_it_to_the_nanosecond() {
    for (at, end) in [(us(999), us(1150)), (us(1000), us(1150)), (us(1001), us(1151))] {
        let mut n = Nand::new(&spec());
        n.program(spot(0, 0), Nanos::ZERO, HOST);
        assert_eq!(n.read(spot(0, 0), at, HOST), end);
    }
}

#[test]
fn a_cache_register_takes_data_while_the_array_programs() {
    let mut n = Nand::new(&NandSpec { cache_register: true, ..spec() });
    n.program(spot(0, 0), Nanos::ZERO, HOST);
    let second = n.program(spot(0, 1), Nanos::ZERO, HOST);
    assert_eq!((second.in_register, second.in_cells), (us(200), us(1900)));
    let third = n.program(spot(0, 2), Nanos::ZERO, HOST);
    assert_eq!(third.in_register, us(1100), "until the second begins its program");
}

#[test]
fn a_cache_register_lets_the_next_page_be_sensed_during_the_shift() {
    let mut n = Nand::new(&NandSpec { cache_register: true, ..spec() });
    let ends: Vec<Nanos> = (0..3).map(|i| n.read(spot(0, i), Nanos::ZERO, HOST)).collect();
    assert_eq!(ends, [us(150), us(250), us(350)], "the bus is the limit");
    let mut n = Nand::new(&spec());
    let ends: Vec<Nanos> = (0..3).map(|i| n.read(spot(0, i), Nanos::ZERO, HOST)).collect();
    assert_eq!(ends, [us(150), us(300), us(450)], "sense and shift in turn");
}

#[test]
fn every_second_page_is_slow_if_the_cells_are() {
    let mut n = Nand::new(&NandSpec { program: us(300), program_slow: us(1500), ..spec() });
    let took: Vec<Nanos> = (0..4)
        .map(|i| {
            let p = n.program(spot(0, i), Nanos::ZERO, HOST);
            p.in_cells - p.in_register
        })
        .collect();
    assert_eq!(took, [us(300), us(1500), us(300), us(1500)]);
}

#[test]
fn planes_of_a_serial_die_take_turns_and_of_a_multi_plane_die_program_together() {
    let two = NandSpec { dies_per_channel: 1, planes_per_die: 2, cache_register: true, ..spec() };
    // Planes 0 and 2 are the two planes of the first die.
    let ends = |plane_mode| {
        let mut n = Nand::new(&NandSpec { plane_mode, ..two });
        // Something keeps the die busy, so that both are loaded when it comes to them.
        n.erase(spot(0, 4), Nanos::ZERO, HOST);
        [0, 2].map(|plane| n.program(spot(plane, 0), Nanos::ZERO, HOST).in_cells)
    };
    assert_eq!(ends(PlaneMode::Serial), [us(3900), us(4800)]);
    assert_eq!(ends(PlaneMode::MultiPlane), [us(3900), us(3900)]);
    assert_eq!(ends(PlaneMode::Independent), [us(3900), us(1100)]);
}

#[test]
fn a_program_is_joined_only_by_the_same_page_and_before_it_begins() {
    let two = NandSpec {
        dies_per_channel: 1,
        planes_per_die: 2,
        plane_mode: PlaneMode::MultiPlane,
        ..spec()
    };
    let second = |page, at| {
        let mut n = Nand::new(&two);
        n.confirm(spot(0, 0), us(100), HOST);
        n.confirm(spot(2, page), at, HOST)
    };
    assert_eq!(second(0, us(100)), us(1000));
    assert_eq!(second(0, Nanos(100_001)), us(1900), "a nanosecond after it began");
    assert_eq!(second(1, us(100)), us(1900), "another page");
}

#[test]
fn copy_back_and_erase_use_no_bus() {
    let mut n = Nand::new(&spec());
    assert_eq!(n.copy_back(spot(0, 0), spot(0, 8), Nanos::ZERO, Cause::Collect), us(950));
    assert_eq!(n.erase(spot(0, 0), Nanos::ZERO, Cause::Collect), us(3950));
    assert_eq!(n.read(spot(2, 0), Nanos::ZERO, HOST), us(150));
    let collect = Cause::Collect as usize;
    assert_eq!((n.counts.reads[collect], n.counts.programs[collect]), (1, 1));
    assert_eq!((n.counts.erases[collect], n.counts.reads[HOST as usize]), (1, 1));
    assert_eq!(n.busy(), (us(950 + 3000 + 50), us(100)));
}
