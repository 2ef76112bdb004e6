//! The declaration of the power that a flash drive draws.

use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Microwatts, Picojoules};

/// The power that is always drawn, and the additional energy of each operation in the chips, the
/// buses and the parts of the controller that work for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerSpec {
    /// The power that the drive always draws.
    pub idle: Microwatts,
    /// The energy of each page read from the cells.
    pub read: Picojoules,
    /// The energy of each page programmed, whatever its number of bits a cell.
    pub program: Picojoules,
    /// The energy of each block erased.
    pub erase: Picojoules,
}

/// The largest energy of an operation: 1 J.
const MOST: Picojoules = Picojoules(1_000_000_000_000);

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<Option<PowerSpec>> {
    let Some(mut s) = top.optional_section("power", "power")? else { return Ok(None) };
    let mut energy = |s: &mut Section<'_>, key| {
        let each: Picojoules = values.quantity(s, "power", key, Picojoules::EXPECTED)?;
        if each > MOST {
            let message = format!("`power.{key}` is more than a joule for one operation");
            let e = s.error(Kind::OutOfRange, s.span_of(key), message, "at most `1J`");
            return Err(with_hint(e, "check the unit: a page takes some microjoules"));
        }
        Ok(each)
    };
    let (read, program) = (energy(&mut s, "read")?, energy(&mut s, "program")?);
    let erase = energy(&mut s, "erase")?;
    let spec = PowerSpec {
        idle: values.quantity(&mut s, "power", "idle", Microwatts::EXPECTED)?,
        read,
        program,
        erase,
    };
    s.finish()?;
    Ok(Some(spec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};

    #[test]
    fn what_a_drive_draws_has_units() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let power = |idle: &str, read: &str| {
            let key =
                |key, value| format!("{key} = {{ value = \"{value}\", assumed = \"a test\" }}\n");
            let keys = key("idle", idle) + &key("read", read) + &key("program", "2nJ");
            let text = format!("{text}\n[power]\n{keys}{}", key("erase", "1.5mJ"));
            let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
            match spec.map_err(|e| e.to_string())?.kind {
                DeviceKind::Ssd(ssd) => Ok(ssd.power),
                _ => Err("not an SSD".to_owned()),
            }
        };
        let expected = PowerSpec {
            idle: Microwatts(65_000),
            read: Picojoules(640_000),
            program: Picojoules(2_000),
            erase: Picojoules(1_500_000_000),
        };
        assert_eq!(power("65mW", "0.64uJ"), Ok(Some(expected)));
        let wrong = [
            ("65", "1uJ", "W"),
            ("65mW", "1us", "uJ"),
            ("1kW", "1uJ", "mW"),
            ("65mW", "2J", "a joule"),
        ];
        for (idle, read, said) in wrong {
            let error = power(idle, read).expect_err(said);
            assert!(error.contains(said) && error.contains("drive.toml"), "{error}");
        }
    }
}
