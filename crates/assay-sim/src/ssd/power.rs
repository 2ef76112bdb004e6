//! The energy that a drive draws: a constant power, and an amount for each flash operation.

use super::thermal::ThermalThrottle;
use crate::nand::Nand;
use assay_spec::Nanos;
use assay_spec::device::{PowerSpec, SsdSpec};
use assay_spec::units::Picojoules;

/// The meter of a drive's energy, with its throttling by temperature.
pub(super) struct PowerMeter {
    spec: Option<PowerSpec>,
    thermal: Option<Box<ThermalThrottle>>,
    /// The time of the last mark.
    marked: Nanos,
}

impl PowerMeter {
    /// Creates the meter of a drive that has been idle for long. Without a power model it counts
    /// nothing and throttles nothing.
    pub(super) fn new(spec: &SsdSpec) -> PowerMeter {
        let thermal = spec.thermal.zip(spec.power);
        let thermal = thermal.map(|(thermal, power)| ThermalThrottle::new(thermal, power));
        PowerMeter { spec: spec.power, thermal: thermal.map(Box::new), marked: Nanos::ZERO }
    }

    /// Returns the energy that flash operations have drawn since the last mark, in joules.
    fn operations(&self, nand: &Nand) -> f64 {
        let Some(power) = self.spec else { return 0.0 };
        let counts = &nand.chips.counts;
        let of =
            |counted: &[u64], each: Picojoules| counted.iter().sum::<u64>() as f64 * each.as_f64();
        of(&counts.reads, power.read)
            + of(&[nand.retry_counts().map_or(0, |(retries, _)| retries)], power.read)
            + of(&counts.programs, power.program)
            + of(&counts.erases, power.erase)
    }

    /// Returns the delay of a command that begins now.
    #[inline]
    pub(super) fn throttle(&mut self, nand: &Nand) -> Nanos {
        match self.thermal.is_some() {
            true => self.throttle_by_temperature(nand),
            false => Nanos::ZERO,
        }
    }

    #[cold]
    fn throttle_by_temperature(&mut self, nand: &Nand) -> Nanos {
        let drawn = self.operations(nand);
        self.thermal.as_mut().map_or(Nanos::ZERO, |t| t.throttle(nand.now(), drawn))
    }

    /// Warms the drive by the operations requested since the last call. Call after each event.
    #[inline]
    pub(super) fn update_temperature(&mut self, nand: &Nand) {
        if self.thermal.is_some() {
            let drawn = self.operations(nand);
            self.thermal.iter_mut().for_each(|t| t.warm_up(nand.now(), drawn));
        }
    }

    /// Sets a mark: counts begin at zero from now on. Call before the mark of the flash.
    pub(super) fn mark(&mut self, nand: &Nand) {
        self.marked = nand.now();
        let drawn = self.operations(nand);
        self.thermal.iter_mut().for_each(|t| t.mark(nand.now(), drawn));
    }

    /// Returns the counters with their names: energy and mean power since the last mark, and the
    /// temperatures.
    pub(super) fn counters(&self, nand: &Nand) -> Vec<(String, f64)> {
        let Some(power) = self.spec else { return Vec::new() };
        let (now, drawn) = (nand.now(), self.operations(nand));
        let time = (now - self.marked).as_secs_f64();
        let energy = power.idle.as_f64() * time + drawn;
        let mut all = vec![("energy_j".to_owned(), energy)];
        all.extend((time > 0.0).then(|| ("power_w".to_owned(), energy / time)));
        all.extend(self.thermal.iter().flat_map(|t| t.counters(now, drawn)));
        all
    }
}
