//! A small drive to change.

use assay_spec::device::{
    Allocation, CollectionSpec, CopyPath, EraseTime, Frontiers, NandSpec, Pace, PageMapSpec,
    PlaneMode, ProgramTime, VictimSpec, WearSpec,
};
use assay_spec::{Bytes, Nanos, Rate};

/// Four planes of 24 blocks of 8 pages.
pub(in super::super) fn nand() -> NandSpec {
    let program = Nanos(900);
    NandSpec {
        channels: 2,
        dies_per_channel: 2,
        planes_per_die: 1,
        plane_mode: PlaneMode::Independent,
        blocks_per_plane: 24,
        pages_per_block: 8,
        page: Bytes(4096),
        read: Nanos(50),
        program: ProgramTime::uniform(program),
        erase: Nanos(3000),
        bus: Rate(40_960_000),
        cache_register: false,
        pages_per_program: 1,
        slc: None,
        suspend: None,
    }
}

/// A greedy map for it.
pub(super) fn greedy() -> PageMapSpec {
    let collection = CollectionSpec {
        victim: VictimSpec::Greedy,
        reserve_blocks: 3,
        pace: Pace::Spread,
        frontiers: Frontiers::Two,
        copy: CopyPath::CopyBack,
        over_drive: false,
        erase: EraseTime::AtOnce,
        background: None,
    };
    PageMapSpec {
        allocation: Allocation::Dynamic,
        collection,
        wear: WearSpec::None,
        save_map_every: None,
        map_cache: None,
        power_fail_safe: false,
        slc: None,
    }
}
