//! Flash chips on their buses, as time-lines.
//!
//! A channel is a bus that the dies on it share. A plane has a page register, and with
//! `cache_register` a second one, so that data moves over the bus while the array works. The array
//! is the plane's own or the die's (`plane_mode`). Operations on an array happen in the order in
//! which they are asked for; the bus goes to whoever fits first ([`Timeline`]). Terms as in ONFI
//! 1.0.
//!
//! Nothing here knows what a page holds. Mapping layers say where; [`Observer`]s are told
//! everything, which is how the checker of the tests and the time-line picture see the drive.

pub(crate) mod geometry;
pub mod observe;

use crate::timeline::Timeline;
use assay_spec::Nanos;
use assay_spec::device::{NandSpec, PlaneMode};
use geometry::Geometry;
pub use observe::{Cause, Observer, Operation, Step};

/// A physical page and its plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub plane: u32,
    /// (plane · blocks + block) · pages + page.
    pub page: u32,
}

/// When a programmed page got where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Programmed {
    /// Its data has left the controller for a register.
    pub in_register: Nanos,
    /// Its data is in the cells.
    pub in_cells: Nanos,
}

/// What an array is doing last.
#[derive(Clone, Copy, Debug, Default)]
struct Array {
    free: Nanos,
    /// The last program, which others may join: when it begins, of which page of a block, and on
    /// which planes of the die.
    begin: Nanos,
    page_in_block: u32,
    planes: u32,
}

/// The chips of a drive.
pub(crate) struct Nand {
    pub geometry: Geometry,
    arrays: Vec<Array>,
    /// When each plane's cache register (or its only one) is free for the bus.
    registers: Vec<Nanos>,
    channels: Vec<Timeline>,
    read: Nanos,
    /// Of fast and slow pages.
    program: [Nanos; 2],
    erase: Nanos,
    shift: Nanos,
    cache_register: bool,
    multi_plane: bool,
    pub counts: Counts,
    array_total: Nanos,
    /// No operation will be asked for before this time.
    now: Nanos,
    observer: Option<Box<dyn Observer>>,
}

/// Operations since the last mark, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub reads: [u64; Cause::COUNT],
    pub programs: [u64; Cause::COUNT],
    pub erases: [u64; Cause::COUNT],
}

impl Nand {
    pub(crate) fn new(spec: &NandSpec) -> Nand {
        let geometry = Geometry::new(spec);
        Nand {
            arrays: vec![Array::default(); geometry.arrays()],
            registers: vec![Nanos::ZERO; spec.planes() as usize],
            channels: vec![Timeline::default(); spec.channels as usize],
            geometry,
            read: spec.read,
            program: [spec.program, spec.program_slow],
            erase: spec.erase,
            shift: spec.page.time_at(spec.bus),
            cache_register: spec.cache_register,
            multi_plane: spec.plane_mode == PlaneMode::MultiPlane,
            counts: Counts::default(),
            array_total: Nanos::ZERO,
            now: Nanos::ZERO,
            observer: None,
        }
    }

    /// Tells every operation from now on to `observer`.
    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// Nothing will be asked for before `now` any more.
    pub(crate) fn pass(&mut self, now: Nanos) {
        debug_assert!(now >= self.now, "time runs back");
        self.now = now;
    }

    /// When the array of `plane` has done all it was asked for.
    pub(crate) fn free_at(&self, plane: u32) -> Nanos {
        self.arrays[self.geometry.array(plane)].free
    }

    /// When every array is idle.
    pub(crate) fn idle_at(&self) -> Nanos {
        self.arrays.iter().map(|a| a.free).max().unwrap_or(Nanos::ZERO)
    }

    /// Cell to register to controller; returns when the data is in the controller.
    #[inline]
    pub(crate) fn read(&mut self, spot: Spot, at: Nanos, cause: Cause) -> Nanos {
        let plane = spot.plane as usize;
        let sensed = self.sense(spot, at, cause);
        // The data moves to the cache register when that is free, and the array with it.
        let moved = if self.cache_register { sensed.max(self.registers[plane]) } else { sensed };
        let shifted = self.shift(spot, moved, Step::ShiftOut, cause);
        self.registers[plane] = shifted;
        let array = self.geometry.array(spot.plane);
        self.arrays[array].free = moved;
        shifted
    }

    /// Cell to register, where the data stays; returns when it is there.
    fn sense(&mut self, spot: Spot, at: Nanos, cause: Cause) -> Nanos {
        // Without a cache register the page register must have been emptied first.
        let register = self.registers[spot.plane as usize];
        let emptied = if self.cache_register { at } else { at.max(register) };
        let start = emptied.max(self.free_at(spot.plane));
        let sensed = start + self.read;
        self.counts.reads[cause as usize] += 1;
        self.occupy(spot, Step::Sense, start, sensed, cause);
        sensed
    }

    /// A page's data over the bus, not before `at`; returns when it is through.
    #[inline]
    fn shift(&mut self, spot: Spot, at: Nanos, step: Step, cause: Cause) -> Nanos {
        let channel = self.geometry.channel(spot.plane);
        let start = self.channels[channel].reserve(self.now, at, self.shift);
        let end = start + self.shift;
        if let Some(observer) = &mut self.observer {
            observer.operation(&Operation {
                step,
                cause,
                plane: spot.plane,
                page: spot.page,
                start,
                end,
            });
        }
        end
    }

    /// Controller to register to cell.
    #[inline]
    pub(crate) fn program(&mut self, spot: Spot, at: Nanos, cause: Cause) -> Programmed {
        let in_register = self.load(spot, at, cause);
        Programmed { in_register, in_cells: self.confirm(spot, in_register, cause) }
    }

    /// Controller to register; returns when it holds the data. [`Nand::confirm`] follows.
    #[inline]
    pub(crate) fn load(&mut self, spot: Spot, at: Nanos, cause: Cause) -> Nanos {
        let register = self.registers[spot.plane as usize];
        let free =
            if self.cache_register { register } else { register.max(self.free_at(spot.plane)) };
        let loaded = self.shift(spot, at.max(free), Step::ShiftIn, cause);
        self.registers[spot.plane as usize] = loaded;
        loaded
    }

    /// Register to cell, not before `at`; returns when it is done.
    #[inline]
    pub(crate) fn confirm(&mut self, spot: Spot, at: Nanos, cause: Cause) -> Nanos {
        self.counts.programs[cause as usize] += 1;
        let index = self.geometry.array(spot.plane);
        let page_in_block = self.geometry.page_in_block(spot.page);
        let duration = self.program[(page_in_block & 1) as usize];
        let bit = 1 << self.geometry.plane_of_die(spot.plane);
        let array = &mut self.arrays[index];
        let joins = self.multi_plane
            && array.begin >= at
            && array.begin + duration == array.free
            && array.page_in_block == page_in_block
            && array.planes & bit == 0;
        let begin = if joins { array.begin } else { at.max(array.free) };
        let end = begin + duration;
        let planes = if joins { array.planes | bit } else { bit };
        *array = Array { free: end, begin, page_in_block, planes };
        self.array_total += if joins { Nanos::ZERO } else { duration };
        // The register hands its data to the cells when the program begins, or holds it to the end.
        let register = if self.cache_register { begin } else { end };
        self.registers[spot.plane as usize] = self.registers[spot.plane as usize].max(register);
        if let Some(observer) = &mut self.observer {
            let step = Step::Program;
            observer.operation(&Operation {
                step,
                cause,
                plane: spot.plane,
                page: spot.page,
                start: begin,
                end,
            });
        }
        end
    }

    /// Moves a page to another of its plane through the register, without the bus.
    #[inline]
    pub(crate) fn copy_back(&mut self, from: Spot, to: Spot, at: Nanos, cause: Cause) -> Nanos {
        debug_assert_eq!(from.plane, to.plane, "copy-back stays in its plane");
        let sensed = self.sense(from, at, cause);
        self.confirm(to, sensed, cause)
    }

    /// Erases the block that begins with page `spot`.
    pub(crate) fn erase(&mut self, spot: Spot, at: Nanos, cause: Cause) -> Nanos {
        let start = at.max(self.free_at(spot.plane));
        let end = start + self.erase;
        self.counts.erases[cause as usize] += 1;
        self.occupy(spot, Step::Erase, start, end, cause);
        end
    }

    fn occupy(&mut self, spot: Spot, step: Step, start: Nanos, end: Nanos, cause: Cause) {
        let array = self.geometry.array(spot.plane);
        // A program that follows joins no sense and no erase.
        self.arrays[array] = Array { free: end, ..Array::default() };
        self.array_total += end - start;
        if let Some(observer) = &mut self.observer {
            observer.operation(&Operation {
                step,
                cause,
                plane: spot.plane,
                page: spot.page,
                start,
                end,
            });
        }
    }

    /// Busy time of all arrays and of all channels since the last mark.
    pub(crate) fn busy(&self) -> (Nanos, Nanos) {
        let channels = self.channels.iter().fold(Nanos::ZERO, |sum, c| sum + c.total());
        (self.array_total, channels)
    }

    /// Starts counting afresh.
    pub(crate) fn mark(&mut self) {
        self.counts = Counts::default();
        self.array_total = Nanos::ZERO;
        self.channels.iter_mut().for_each(Timeline::mark);
    }
}

impl Counts {
    /// Programs of all causes.
    pub(crate) fn programmed(&self) -> u64 {
        self.programs.iter().sum()
    }
}

#[cfg(test)]
mod tests;
