//! The declaration of how warm a flash drive gets, and of how it throttles.

use super::power::PowerSpec;
use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::Microwatts;

/// A body that is warmed by the power of the drive and cooled by its surroundings, and a limit
/// above which the drive draws less power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThermalSpec {
    /// The ambient temperature, in °C.
    pub ambient: f64,
    /// The rise in temperature for each watt, in the long run, in K/W.
    pub resistance: f64,
    /// The heat that warms the drive by a degree, in J/K.
    pub capacity: f64,
    /// The temperature at which throttling begins, in °C.
    pub limit: f64,
    /// The temperature at which throttling ends, in °C.
    pub resume: f64,
    /// The largest mean power of the throttled drive.
    pub power: Microwatts,
}

/// The smallest power above idle that a throttled drive must have for its operations.
const LEAST: Microwatts = Microwatts(1_000);

pub(super) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    power: Option<PowerSpec>,
) -> Decoded<Option<ThermalSpec>> {
    let Some(power) = power else {
        top.goes_with(&["thermal"], "`[power]`");
        return Ok(None);
    };
    let Some(mut s) = top.optional_section("thermal", "thermal")? else { return Ok(None) };
    let at = "thermal";
    let spec = ThermalSpec {
        ambient: values.number(&mut s, at, "ambient", -40.0, 100.0)?,
        resistance: values.number(&mut s, at, "resistance", 0.01, 1000.0)?,
        capacity: values.number(&mut s, at, "capacity", 0.01, 100_000.0)?,
        limit: values.number(&mut s, at, "limit", -40.0, 200.0)?,
        resume: values.number(&mut s, at, "resume", -40.0, 200.0)?,
        power: values.quantity(&mut s, at, "power", Microwatts::EXPECTED)?,
    };
    let impossible = |key, message: String, hint: &str| {
        Err(with_hint(s.error(Kind::Impossible, s.key_span_of(key), message, ""), hint))
    };
    if spec.resume >= spec.limit {
        let message = format!(
            "at {} °C the drive would both stop and resume: `resume` is not below `limit`",
            spec.resume
        );
        return impossible("resume", message, "lower `thermal.resume` below `thermal.limit`");
    }
    let idle = spec.ambient + spec.resistance * power.idle.as_f64();
    if idle >= spec.resume {
        let message =
            format!("an idle drive has {idle:.1} °C, so it never cools down to `thermal.resume`");
        return impossible("resume", message, "raise `thermal.resume`, or lower `power.idle`");
    }
    if spec.power.0 < power.idle.0 + LEAST.0 {
        let message =
            "`power.idle` leaves no power for work when the drive is throttled".to_owned();
        return impossible(
            "power",
            message,
            "raise `thermal.power` to at least 1mW above `power.idle`",
        );
    }
    let throttled = spec.ambient + spec.resistance * spec.power.as_f64();
    if throttled >= spec.limit {
        let message = format!("a throttled drive gets {throttled:.1} °C warm, above its limit");
        return impossible("power", message, "lower `thermal.power`, or raise `thermal.limit`");
    }
    s.finish()?;
    Ok(Some(spec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};

    #[test]
    fn a_drive_can_cool_down() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let key = |key: &str, value: &str| {
            format!("{key} = {{ value = {value}, assumed = \"a test\" }}\n")
        };
        let power = [("idle", "\"1W\""), ("read", "\"1uJ\""), ("program", "\"9uJ\"")];
        let power: String = power.iter().map(|(k, v)| key(k, v)).collect();
        let power = format!("[power]\n{power}{}", key("erase", "\"1mJ\""));
        let with = |power: &str, limit: &str, resume: &str, throttled: &str| {
            let keys = [
                ("ambient", "25"),
                ("resistance", "10"),
                ("capacity", "20.5"),
                ("limit", limit),
                ("resume", resume),
                ("power", throttled),
            ];
            let keys: String = keys.iter().map(|(k, v)| key(k, v)).collect();
            let text = format!("{text}\n{power}[thermal]\n{keys}");
            let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
            match spec.map_err(|e| e.to_string())?.kind {
                DeviceKind::Ssd(ssd) => Ok(ssd.thermal),
                _ => Err("not an SSD".to_owned()),
            }
        };
        let spec = with(&power, "80", "70.5", "\"2W\"").expect("it can").expect("it is there");
        assert_eq!((spec.limit, spec.resume, spec.power), (80.0, 70.5, Microwatts(2_000_000)));
        for (power, limit, resume, throttled, said) in [
            (&*power, "80", "80", "\"2W\"", "both stop and resume"),
            (&power, "80", "35", "\"2W\"", "35.0 °C, so"),
            (&power, "80", "70", "\"1W\"", "leaves no power for work"),
            (&power, "80", "70", "\"5.5W\"", "80.0 °C warm"),
            ("", "80", "70", "\"2W\"", "`[power]`"),
        ] {
            let error = with(power, limit, resume, throttled).expect_err(said);
            assert!(error.contains(said), "{error}");
        }
    }
}
