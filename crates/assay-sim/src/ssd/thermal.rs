//! The temperature of a drive, and the throttling by it.
//!
//! The drive is one body with a heat capacity. All the power that it draws warms it, and it cools
//! through a thermal resistance. The energy of an operation counts as a whole when it is requested.
//! From `limit` on until the temperature has fallen to `resume`, a command begins only when the
//! mean power drawn since then is no more than `power`. Operations under way, and the background
//! work of the drive, are not delayed.

use assay_spec::Nanos;
use assay_spec::device::{PowerSpec, ThermalSpec};

/// Longest delay of a command by throttling, in seconds.
const LONGEST: f64 = 60.0;

/// The state of the body.
#[derive(Clone, Debug)]
pub(super) struct ThermalThrottle {
    spec: ThermalSpec,
    /// The power that is always drawn, in watts.
    idle: f64,
    /// The power for operations that is allowed while throttled, in watts.
    throttled_power: f64,
    /// The temperature at `at`, in °C.
    temperature: f64,
    /// The greatest temperature since the last mark, in °C.
    warmest: f64,
    /// The time of the state.
    at: Nanos,
    /// The energy drawn by operations from the last mark until `at`, in joules.
    drawn: f64,
    /// While throttled: the energy drawn beyond `power` since then, in joules.
    excess: Option<f64>,
    /// The number of delayed commands since the last mark.
    held: u64,
    /// The sum of their delays.
    held_for: Nanos,
}

impl ThermalThrottle {
    /// Creates the state of a drive that has been idle for long.
    pub(super) fn new(spec: ThermalSpec, power: PowerSpec) -> ThermalThrottle {
        let idle = power.idle.as_f64();
        let temperature = spec.ambient + spec.resistance * idle;
        ThermalThrottle {
            spec,
            idle,
            throttled_power: spec.power.as_f64() - idle,
            temperature,
            warmest: temperature,
            at: Nanos::ZERO,
            drawn: 0.0,
            excess: None,
            held: 0,
            held_for: Nanos::ZERO,
        }
    }

    /// Lets time pass to `now`, when operations have drawn `drawn` joules since the last mark.
    fn pass(&mut self, now: Nanos, drawn: f64) {
        let time = (now - self.at).as_secs_f64();
        let joules = drawn - self.drawn;
        (self.at, self.drawn) = (now, drawn);
        let ThermalSpec { ambient, resistance, capacity, .. } = self.spec;
        let in_the_end = ambient + resistance * self.idle;
        let left = libm::exp(-time / (resistance * capacity));
        self.temperature = in_the_end + (self.temperature - in_the_end) * left + joules / capacity;
        self.warmest = self.warmest.max(self.temperature);
        if let Some(excess) = &mut self.excess {
            *excess = (*excess - self.throttled_power * time).max(0.0) + joules;
        }
        if self.temperature >= self.spec.limit {
            self.excess = Some(self.excess.unwrap_or_default());
        } else if self.temperature <= self.spec.resume {
            self.excess = None;
        }
    }

    /// Returns the delay of the next command, and counts it.
    fn pause(&mut self) -> Nanos {
        let excess = self.excess.unwrap_or_default();
        if excess <= 0.0 {
            return Nanos::ZERO;
        }
        let pause = Nanos(((excess / self.throttled_power).min(LONGEST) * 1e9) as u64 + 1);
        self.held += 1;
        self.held_for += pause;
        pause
    }
}

impl ThermalThrottle {
    /// Returns the state at `now`, when operations have drawn `drawn` joules since the last mark.
    /// Later states do not depend on how often it is asked for.
    fn at(&self, now: Nanos, drawn: f64) -> ThermalThrottle {
        let mut thermal = self.clone();
        thermal.pass(now, drawn);
        thermal
    }

    /// Warms the body by what has been drawn for operations since the last event. If that is
    /// nothing it does nothing, so that rounding does not depend on the number of events.
    pub(super) fn warm_up(&mut self, now: Nanos, drawn: f64) {
        if self.drawn != drawn {
            self.pass(now, drawn);
        }
    }

    /// Returns the delay of a command that begins at `now`, and counts it.
    pub(super) fn throttle(&mut self, now: Nanos, drawn: f64) -> Nanos {
        self.pass(now, drawn);
        self.pause()
    }

    /// Sets a mark: the greatest temperature and the delays count from `now` on. Afterwards
    /// operations have drawn nothing.
    pub(super) fn mark(&mut self, now: Nanos, drawn: f64) {
        let there = self.at(now, drawn);
        self.warmest = there.temperature;
        self.drawn -= there.drawn;
        (self.held, self.held_for) = (0, Nanos::ZERO);
    }

    /// Returns the counters with their names.
    pub(super) fn counters(&self, now: Nanos, drawn: f64) -> Vec<(String, f64)> {
        let there = self.at(now, drawn);
        vec![
            ("temperature_c".to_owned(), there.temperature),
            ("temperature_max_c".to_owned(), there.warmest),
            ("throttled".to_owned(), there.held as f64),
            ("throttled_ns".to_owned(), there.held_for.0 as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::units::{Microwatts, Picojoules};

    /// A body of 10 K/W and 20 J/K: its time constant is 200 s.
    fn thermal() -> ThermalThrottle {
        let spec = ThermalSpec {
            ambient: 25.0,
            resistance: 10.0,
            capacity: 20.0,
            limit: 70.0,
            resume: 60.0,
            power: Microwatts(3_000_000),
        };
        let none = Picojoules(0);
        let power =
            PowerSpec { idle: Microwatts(1_000_000), read: none, program: none, erase: none };
        ThermalThrottle::new(spec, power)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn a_body_warms_up_and_cools_down() {
        let mut thermal = thermal();
        assert!(close(thermal.temperature, 35.0), "25 and 10 for what is always drawn");
        thermal.pass(Nanos::from_secs(200), 0.0);
        assert!(close(thermal.temperature, 35.0));
        // 800 J at once are 40 K, of which the e-th part is left after 200 s, in any steps.
        thermal.pass(Nanos::from_secs(200), 800.0);
        assert!(close(thermal.temperature, 75.0));
        (0..=100).for_each(|n| thermal.pass(Nanos::from_secs(200 + 2 * n), 800.0));
        assert!(close(thermal.temperature, 35.0 + 40.0 / std::f64::consts::E));
        // 4 W more for long: as warm as those make it.
        (1..100_000).for_each(|n| {
            thermal.pass(Nanos::from_millis(400_000 + 20 * n), 800.0 + 0.08 * n as f64);
        });
        assert!((thermal.temperature - 75.0).abs() < 0.05, "{}", thermal.temperature);
    }

    #[test]
    fn it_is_throttled_from_the_limit_until_it_has_cooled_down() {
        let mut thermal = thermal();
        // 35 K are 700 J.
        thermal.pass(Nanos::ZERO, 699.0);
        assert_eq!(thermal.pause(), Nanos::ZERO);
        thermal.pass(Nanos::ZERO, 700.5);
        assert_eq!(thermal.pause(), Nanos::ZERO, "nothing was drawn since");
        // 4 J where 3 W may be drawn, of which 1 is always.
        thermal.pass(Nanos::ZERO, 704.5);
        let second = 1_000_000_000;
        let pause = thermal.pause().0;
        assert!(pause.abs_diff(2 * second) < 10, "{pause}");
        thermal.pass(Nanos(pause), 704.5);
        assert_eq!(thermal.pause(), Nanos::ZERO);
        // At 3 W in the mean it cools towards 55 °C, and is free at 60.
        let mut now = 2;
        while thermal.excess.is_some() {
            now += 1;
            thermal.pass(Nanos::from_secs(now), 704.5);
        }
        assert!(
            thermal.temperature <= 60.0 && thermal.temperature > 59.5,
            "{}",
            thermal.temperature
        );
        assert_eq!((thermal.held, thermal.warmest > 70.2), (1, true));
    }

    #[test]
    fn a_command_is_not_held_back_for_ever() {
        let mut thermal = thermal();
        thermal.pass(Nanos::ZERO, 700.5);
        thermal.pass(Nanos::ZERO, 1e12);
        assert_eq!(thermal.pause(), Nanos::from_secs(60) + Nanos(1));
    }
}
