//! Flash time-lines: planes with a page register each, on shared channel buses.
//!
//! A read occupies the plane for tR and then plane and bus for the shift; a program occupies bus
//! and plane for the shift and then the plane for tPROG; an erase occupies the plane. No resource
//! serves two operations at a time.

use assay_spec::Nanos;
use assay_spec::device::NandSpec;

/// What the chips have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub reads: u64,
    pub programs: u64,
    pub erases: u64,
}

/// The chips as time-lines.
pub(crate) struct Nand {
    plane_free: Vec<Nanos>,
    channel_free: Vec<Nanos>,
    read: Nanos,
    program: Nanos,
    erase: Nanos,
    shift: Nanos,
    pub counts: Counts,
}

impl Nand {
    pub(crate) fn new(spec: &NandSpec) -> Nand {
        Nand {
            plane_free: vec![Nanos::ZERO; spec.planes() as usize],
            channel_free: vec![Nanos::ZERO; spec.channels as usize],
            read: spec.read,
            program: spec.program,
            erase: spec.erase,
            shift: spec.page.time_at(spec.bus),
            counts: Counts::default(),
        }
    }

    pub(crate) fn planes(&self) -> usize {
        self.plane_free.len()
    }

    /// Neighbouring planes sit on neighbouring channels, so that stripes use every bus.
    fn channel(&self, plane: usize) -> usize {
        plane % self.channel_free.len()
    }

    /// Cell to register to controller; returns when the data is in the controller.
    pub(crate) fn read(&mut self, plane: usize, at: Nanos) -> Nanos {
        let sensed = at.max(self.plane_free[plane]) + self.read;
        let channel = self.channel(plane);
        let shifted = sensed.max(self.channel_free[channel]) + self.shift;
        self.plane_free[plane] = shifted;
        self.channel_free[channel] = shifted;
        self.counts.reads += 1;
        shifted
    }

    /// Controller to register; returns when the register holds the data. [`Nand::confirm`] follows.
    pub(crate) fn load(&mut self, plane: usize, at: Nanos) -> Nanos {
        let channel = self.channel(plane);
        let start = at.max(self.plane_free[plane]).max(self.channel_free[channel]);
        let loaded = start + self.shift;
        self.channel_free[channel] = loaded;
        self.plane_free[plane] = loaded;
        loaded
    }

    /// Register to cell, from `at` on; returns when it is done.
    pub(crate) fn confirm(&mut self, plane: usize, at: Nanos) -> Nanos {
        let done = at.max(self.plane_free[plane]) + self.program;
        self.plane_free[plane] = done;
        self.counts.programs += 1;
        done
    }

    /// Moves `pages` pages inside the plane by copy-back.
    pub(crate) fn copy_back(&mut self, plane: usize, at: Nanos, pages: u32) -> Nanos {
        let each = self.read + self.program;
        let done = at.max(self.plane_free[plane]) + each * u64::from(pages);
        self.plane_free[plane] = done;
        self.counts.reads += u64::from(pages);
        self.counts.programs += u64::from(pages);
        done
    }

    /// Erases a block of the plane.
    pub(crate) fn erase(&mut self, plane: usize, at: Nanos) -> Nanos {
        let done = at.max(self.plane_free[plane]) + self.erase;
        self.plane_free[plane] = done;
        self.counts.erases += 1;
        done
    }

    /// When every plane is idle.
    pub(crate) fn idle(&self) -> Nanos {
        self.plane_free.iter().copied().max().unwrap_or(Nanos::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::Bytes;

    fn nand() -> Nand {
        Nand::new(&NandSpec {
            channels: 2,
            dies_per_channel: 2,
            planes_per_die: 1,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page: Bytes(4096),
            read: Nanos::from_micros(50),
            program: Nanos::from_micros(900),
            erase: Nanos::from_millis(3),
            bus: Bytes(40_960_000),
        })
    }

    #[test]
    fn a_read_is_sense_and_shift() {
        assert_eq!(nand().read(0, Nanos(7)), Nanos(7 + 50_000 + 100_000));
    }

    #[test]
    fn planes_on_one_channel_share_the_bus_and_on_two_do_not() {
        let mut n = nand();
        n.read(0, Nanos::ZERO);
        assert_eq!(n.read(2, Nanos::ZERO), Nanos::from_micros(250), "waits for the bus");
        assert_eq!(n.read(1, Nanos::ZERO), Nanos::from_micros(150), "another bus");
    }

    #[test]
    fn a_program_holds_the_plane_and_frees_the_bus() {
        let mut n = nand();
        let loaded = n.load(0, Nanos::ZERO);
        assert_eq!(loaded, Nanos::from_micros(100));
        assert_eq!(n.confirm(0, loaded), Nanos::from_micros(1000));
        assert_eq!(n.load(2, Nanos::ZERO), Nanos::from_micros(200), "only the bus is shared");
        assert_eq!(n.read(0, Nanos::ZERO), Nanos::from_micros(1150), "waits for the program");
    }

    #[test]
    fn copy_back_and_erase_use_no_bus() {
        let mut n = nand();
        assert_eq!(n.copy_back(0, Nanos::ZERO, 3), Nanos::from_micros(3 * 950));
        assert_eq!(n.erase(0, Nanos::ZERO), Nanos::from_micros(3 * 950 + 3000));
        assert_eq!(n.read(2, Nanos::ZERO), Nanos::from_micros(150));
        assert_eq!(n.counts, Counts { reads: 4, programs: 3, erases: 1 });
    }
}
