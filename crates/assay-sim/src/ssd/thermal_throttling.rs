//! How warm a drive is, and how it is throttled.
//!
//! It is one body with a heat capacity, warmed by all that the drive draws and cooled through a
//! resistance. An operation's energy comes at once when it is asked for. From `limit` on until
//! `resume` a command begins only when what was drawn since is no more than `power` in the mean.
//! What was begun goes on, and so does what the drive does by itself.

use super::Ssd;
use crate::ftl::Ftl;
use assay_spec::Nanos;
use assay_spec::device::{PowerSpec, ThermalSpec};

/// Longest delay of a command by throttling, in seconds.
const LONGEST: f64 = 60.0;

/// The state of the body.
#[derive(Clone, Debug)]
pub(super) struct ThermalThrottle {
    spec: ThermalSpec,
    /// What is always drawn, and what may be beside when throttled, in watts.
    idle: f64,
    beside: f64,
    /// In °C, now and at most since the last mark.
    temperature: f64,
    warmest: f64,
    /// When that was, and what had been drawn by operations since the last mark, in joules.
    at: Nanos,
    drawn: f64,
    /// What was drawn beyond `power` since it is throttled, if it is.
    excess: Option<f64>,
    /// Commands that were held back since the last mark, and for how long.
    held: u64,
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
            beside: spec.power.as_f64() - idle,
            temperature,
            warmest: temperature,
            at: Nanos::ZERO,
            drawn: 0.0,
            excess: None,
            held: 0,
            held_for: Nanos::ZERO,
        }
    }

    /// Time passes to `now`; so many joules have been drawn for operations since the last mark.
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
            *excess = (*excess - self.beside * time).max(0.0) + joules;
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
        let pause = Nanos(((excess / self.beside).min(LONGEST) * 1e9) as u64 + 1);
        self.held += 1;
        self.held_for += pause;
        pause
    }
}

impl<F: Ftl> Ssd<F> {
    /// Returns the delay of the next command by throttling.
    #[inline]
    pub(super) fn throttle(&mut self) -> Nanos {
        match self.thermal.is_some() {
            true => self.cool_down(),
            false => Nanos::ZERO,
        }
    }

    fn cool_down(&mut self) -> Nanos {
        let (now, drawn) = (self.nand.events.now(), self.drawn_for_operations());
        let Some(thermal) = &mut self.thermal else { return Nanos::ZERO };
        thermal.pass(now, drawn);
        thermal.pause()
    }

    /// What has just been asked for warms it. If that is nothing it does not look, so that it looks
    /// as often however many events there are.
    pub(super) fn update_temperature(&mut self) {
        let (now, drawn) = (self.nand.events.now(), self.drawn_for_operations());
        if let Some(thermal) = self.thermal.as_mut().filter(|thermal| thermal.drawn != drawn) {
            thermal.pass(now, drawn);
        }
    }

    /// How it is now. What it does later does not depend on when it is asked.
    fn heat_now(&self) -> Option<ThermalThrottle> {
        let mut thermal = self.thermal.as_deref()?.clone();
        thermal.pass(self.nand.events.now(), self.drawn_for_operations());
        Some(thermal)
    }

    /// Resets the counts at a mark.
    pub(super) fn mark_heat(&mut self) {
        if let Some((now, thermal)) = self.heat_now().zip(self.thermal.as_mut()) {
            thermal.warmest = now.temperature;
            thermal.drawn -= now.drawn;
            (thermal.held, thermal.held_for) = (0, Nanos::ZERO);
        }
    }

    /// What it tells of its heat.
    pub(super) fn warmth(&self) -> Vec<(String, f64)> {
        let Some(thermal) = self.heat_now() else { return Vec::new() };
        vec![
            ("temperature_c".to_owned(), thermal.temperature),
            ("temperature_max_c".to_owned(), thermal.warmest),
            ("throttled".to_owned(), thermal.held as f64),
            ("throttled_ns".to_owned(), thermal.held_for.0 as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::units::{Joules, Watts};

    /// 10 K/W and 20 J/K: what is drawn shows by a factor of e after 200 s.
    fn thermal() -> ThermalThrottle {
        let spec = ThermalSpec {
            ambient: 25.0,
            resistance: 10.0,
            capacity: 20.0,
            limit: 70.0,
            resume: 60.0,
            power: Watts(3_000_000),
        };
        let none = Joules(0);
        let power = PowerSpec { idle: Watts(1_000_000), read: none, program: none, erase: none };
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
