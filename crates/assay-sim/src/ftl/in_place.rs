//! No translation: a medium whose pages are overwritten in place, such as phase-change memory.
//!
//! Logical pages are striped over the planes for good. Nothing is erased or moved. A trim does
//! nothing, and a page that was never written is read like any other.

use super::{Ftl, Lpn};
use crate::ftl::{Census, Deferred, MapCache, MapWrites, Recover, Trim};
use crate::nand::{Cause, Nand, Ppa, Token};
use assay_spec::device::NandSpec;
use std::ops::Range;

/// The layer of a medium that is overwritten in place.
pub(crate) struct InPlace {
    planes: u32,
    pages_per_plane: u32,
}

impl InPlace {
    /// Returns the layer for the pages of `nand`. The capacity is the first of them.
    pub(crate) fn new(nand: &NandSpec) -> InPlace {
        InPlace { planes: nand.planes(), pages_per_plane: nand.pages_per_plane() as u32 }
    }

    /// Returns where logical page `page` lies.
    fn ppa(&self, page: Lpn) -> Ppa {
        let plane = page.0 % self.planes;
        Ppa { plane, page: plane * self.pages_per_plane + page.0 / self.planes }
    }
}

impl Ftl for InPlace {
    fn read(&mut self, nand: &mut Nand, page: Lpn, cause: Cause, token: Token) -> bool {
        nand.read(self.ppa(page), cause, token);
        true
    }

    fn write(&mut self, nand: &mut Nand, page: Lpn, _run: &Range<Lpn>, token: Token) -> u32 {
        let ppa = self.ppa(page);
        nand.program_after(ppa, Cause::Host, token, &[]);
        ppa.plane
    }

    fn locate(&self, page: Lpn) -> Option<Ppa> {
        Some(self.ppa(page))
    }

    fn check(&self) {}
}

impl MapCache for InPlace {}

impl MapWrites for InPlace {}

impl Trim for InPlace {
    fn trim(&mut self, _page: Lpn) {}
}

impl Deferred for InPlace {}

impl Recover for InPlace {}

impl Census for InPlace {
    fn erases(&self) -> &[u32] {
        &[]
    }

    fn is_worn_out(&self) -> bool {
        false
    }

    fn free_blocks(&self) -> u64 {
        0
    }

    fn counters(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use crate::build::build;
    use crate::initial_state::InitialState;
    use assay_spec::catalog::{DEVICES, find};
    use assay_spec::decode::Source;
    use assay_spec::device::DeviceSpec;
    use assay_spec::{Bytes, Nanos, Op, Request};

    fn spec() -> DeviceSpec {
        let bundled = find(DEVICES, "optane-p4800x").expect("in the catalogue");
        DeviceSpec::parse(Source { file: bundled.file, text: bundled.text }).expect("a drive")
    }

    /// Returns the times, in ns, at which `requests`, submitted together, complete.
    fn together(requests: &[(Op, u64, u64)]) -> Vec<u64> {
        let mut drive = build(&spec(), InitialState::New);
        for (tag, (op, offset, length)) in (0..).zip(requests) {
            let (offset, length) = (Bytes(*offset), Bytes(*length));
            drive.submit(Nanos::ZERO, Request { tag, op: *op, offset, length, fua: false });
        }
        let mut done = Vec::new();
        while done.len() < requests.len() {
            drive.run(Nanos::NEVER, &mut done);
        }
        done.sort_unstable_by_key(|c| c.tag);
        done.iter().map(|c| c.at.0).collect()
    }

    /// The time that the drive takes for a command, in ns.
    const COMMAND: u64 = 500;
    /// The time in which a die reads 512 bytes, in ns.
    const READ: u64 = 5970;
    /// The time of 512 bytes on a channel, in ns.
    const SHIFT: u64 = 640;
    /// The time of 512 bytes on the link, in ns.
    const LINK: u64 = 160;
    /// The distance in bytes to the next die of the same channel.
    const NEXT: u64 = 7 * 512;
    /// The distance in bytes to the next sector of the same die.
    const AGAIN: u64 = 28 * 512;

    #[test]
    fn a_request_is_dealt_out_over_the_dies() {
        let alone = COMMAND + READ + SHIFT + LINK;
        assert_eq!(together(&[(Op::Read, 0, 512)]), [alone]);
        // Seven sectors from seven channels, one behind the other on the link.
        assert_eq!(together(&[(Op::Read, 0, NEXT)]), [alone + 6 * LINK]);
        // The eighth comes from a second die of the first channel and waits for that bus. The link
        // is still busy when it comes.
        assert_eq!(together(&[(Op::Read, 0, 4096)]), [alone + 7 * LINK]);
        // Both requests need the same die.
        let two = together(&[(Op::Read, 0, 512), (Op::Read, AGAIN, 512)]);
        assert_eq!(two, [alone, alone + READ]);
    }

    /// Pages are overwritten in place and read at once; nothing is moved or erased.
    #[test]
    fn what_is_written_again_costs_nothing_more() {
        let requests = 20_000_u64;
        let mut drive = build(&spec(), InitialState::New);
        let (mut now, mut done) = (Nanos::ZERO, Vec::new());
        for i in 0..requests {
            let op = if i % 3 == 0 { Op::Read } else { Op::Write };
            let offset = Bytes(i % 16 * 4096);
            let tag = i as u32;
            drive.submit(now, Request { tag, op, offset, length: Bytes(4096), fua: false });
            now = drive.run(Nanos::NEVER, &mut done);
        }
        let counters = drive.counters();
        let told = |name: &str| counters.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
        assert_eq!((told("wa"), told("blocks_erased")), (Some(1.0), Some(0.0)));
        assert_eq!(told("erases"), None, "there are no blocks");
        // 5 W all the time; a third of the requests read 8 sectors each, the others write 8.
        let (read, written) = (told("pages_read").unwrap(), told("pages_programmed").unwrap());
        assert_eq!((read / 8.0).ceil(), (requests as f64 / 3.0).ceil());
        let energy = 5.0 * now.as_secs_f64() + 0.64e-6 * read + 2.05e-6 * written;
        assert!((told("energy_j").unwrap() - energy).abs() < 1e-9);
        assert!((told("power_w").unwrap() - energy / now.as_secs_f64()).abs() < 1e-6);
        assert_eq!(done.len() as u64, requests);
    }
}
