//! How warm a drive is, and how it is throttled.
//!
//! It is one body with a heat capacity, warmed by all that the drive draws and cooled through a
//! resistance. What it draws between two looks counts as drawn evenly; it looks when a command is
//! to be begun. From `limit` on until `resume` a command begins only when what was drawn since is
//! no more than `power` in the mean.

use super::Ssd;
use crate::ftl::Ftl;
use assay_spec::Nanos;
use assay_spec::device::{PowerSpec, ThermalSpec};

/// The state of the body.
#[derive(Clone, Debug)]
pub(super) struct Heat {
    spec: ThermalSpec,
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

impl Heat {
    /// A drive that has done nothing for long.
    pub(super) fn new(spec: ThermalSpec, power: PowerSpec) -> Heat {
        let temperature = spec.ambient + spec.resistance * power.idle.as_f64();
        Heat {
            spec,
            temperature,
            warmest: temperature,
            at: Nanos::ZERO,
            drawn: 0.0,
            excess: None,
            held: 0,
            held_for: Nanos::ZERO,
        }
    }

    /// Time passes to `now`; so many joules have been drawn for operations since the last mark, and
    /// so many watts always are.
    fn pass(&mut self, now: Nanos, drawn: f64, idle: f64) {
        let time = (now - self.at).as_secs_f64();
        let joules = drawn - self.drawn + idle * time;
        (self.at, self.drawn) = (now, drawn);
        let ThermalSpec { ambient, resistance, capacity, .. } = self.spec;
        if time > 0.0 {
            let in_the_end = ambient + resistance * joules / time;
            let left = libm::exp(-time / (resistance * capacity));
            self.temperature = in_the_end + (self.temperature - in_the_end) * left;
        } else {
            self.temperature += joules / capacity;
        }
        self.warmest = self.warmest.max(self.temperature);
        if let Some(excess) = &mut self.excess {
            *excess = (*excess + joules - self.spec.power.as_f64() * time).max(0.0);
        }
        if self.temperature >= self.spec.limit {
            self.excess = Some(self.excess.unwrap_or_default());
        } else if self.temperature <= self.spec.resume {
            self.excess = None;
        }
    }

    /// How long the next command is held back, while so many watts are always drawn.
    fn pause(&mut self, idle: f64) -> Nanos {
        let excess = self.excess.unwrap_or_default();
        if excess <= 0.0 {
            return Nanos::ZERO;
        }
        let pause = Nanos((excess / (self.spec.power.as_f64() - idle) * 1e9) as u64 + 1);
        self.held += 1;
        self.held_for += pause;
        pause
    }
}

impl<F: Ftl> Ssd<F> {
    /// How long the firmware takes for the next command, until when it may have to wait.
    #[inline]
    pub(super) fn command_time(&mut self) -> Nanos {
        match self.heat.is_some() {
            true => self.command + self.cool_down(),
            false => self.command,
        }
    }

    fn cool_down(&mut self) -> Nanos {
        self.look_at_heat();
        let idle = self.power.map_or(0.0, |power| power.idle.as_f64());
        self.heat.as_mut().map_or(Nanos::ZERO, |heat| heat.pause(idle))
    }

    fn look_at_heat(&mut self) {
        let Some(power) = self.power else { return };
        let (now, drawn) = (self.nand.events.now(), self.drawn_for_operations(power));
        if let Some(heat) = &mut self.heat {
            heat.pass(now, drawn, power.idle.as_f64());
        }
    }

    /// Starts counting afresh.
    pub(super) fn mark_heat(&mut self) {
        self.look_at_heat();
        if let Some(heat) = &mut self.heat {
            (heat.drawn, heat.held, heat.held_for) = (0.0, 0, Nanos::ZERO);
            heat.warmest = heat.temperature;
        }
    }

    /// What it tells of its heat.
    pub(super) fn warmth(&self) -> Vec<(String, f64)> {
        let (Some(heat), Some(power)) = (&self.heat, self.power) else { return Vec::new() };
        let mut heat = heat.clone();
        let drawn = self.drawn_for_operations(power);
        heat.pass(self.nand.events.now(), drawn, power.idle.as_f64());
        vec![
            ("temperature_c".to_owned(), heat.temperature),
            ("temperature_max_c".to_owned(), heat.warmest),
            ("throttled".to_owned(), heat.held as f64),
            ("throttled_ns".to_owned(), heat.held_for.0 as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::units::{Joules, Watts};

    const IDLE: f64 = 1.0;

    /// 10 K/W and 20 J/K: what is drawn shows by a factor of e after 200 s.
    fn heat() -> Heat {
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
        Heat::new(spec, power)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn a_body_warms_up_and_cools_down() {
        let mut heat = heat();
        assert!(close(heat.temperature, 35.0), "25 and 10 for what is always drawn");
        heat.pass(Nanos::from_secs(200), 0.0, IDLE);
        assert!(close(heat.temperature, 35.0));
        // 4 W more for 200 s: of 40 K, all but the e-th part.
        heat.pass(Nanos::from_secs(400), 800.0, IDLE);
        assert!(close(heat.temperature, 75.0 - 40.0 / std::f64::consts::E));
        // In a hundred steps it is the same.
        let mut steps = self::heat();
        (0..=100).for_each(|n| {
            steps.pass(Nanos::from_secs(200 + 2 * n), 8.0 * n as f64, IDLE);
        });
        assert!(close(steps.temperature, heat.temperature));
        // All at once and in no time: by the heat capacity.
        heat.pass(Nanos::from_secs(400), 840.0, IDLE);
        assert!(close(heat.temperature, 77.0 - 40.0 / std::f64::consts::E));
    }

    #[test]
    fn it_is_throttled_from_the_limit_until_it_has_cooled_down() {
        let mut heat = heat();
        // 35 K are 700 J.
        heat.pass(Nanos::ZERO, 699.0, IDLE);
        assert_eq!(heat.pause(IDLE), Nanos::ZERO);
        heat.pass(Nanos::ZERO, 700.5, IDLE);
        assert_eq!(heat.pause(IDLE), Nanos::ZERO, "nothing was drawn since");
        // 4 J where 3 W may be drawn, of which 1 is always.
        heat.pass(Nanos::ZERO, 704.5, IDLE);
        let second = 1_000_000_000;
        let pause = heat.pause(IDLE).0;
        assert!(pause.abs_diff(2 * second) < 10, "{pause}");
        heat.pass(Nanos(pause), 704.5, IDLE);
        assert_eq!(heat.pause(IDLE), Nanos::ZERO);
        // At 3 W in the mean it cools towards 55 °C, and is free at 60.
        let mut now = 2;
        while heat.excess.is_some() {
            now += 1;
            heat.pass(Nanos::from_secs(now), 704.5, IDLE);
        }
        assert!(heat.temperature <= 60.0 && heat.temperature > 59.5, "{}", heat.temperature);
        assert_eq!((heat.held, heat.warmest > 70.2), (1, true));
    }
}
