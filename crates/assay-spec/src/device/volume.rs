//! The declaration of a cloud volume: the provider's limits, and the latency of the network.

use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// A volume behind a network. The provider does not say what it is made of, but sells limits.
#[derive(Clone, Copy, Debug)]
pub struct VolumeSpec {
    /// The size of a unit: a request counts as one operation for each unit of it.
    pub unit: Bytes,
    /// The time to the servers and back.
    pub round_trip: Nanos,
    /// The time that the servers take for a read.
    pub read: Nanos,
    /// The time that the servers take for a write, until every replica has it.
    pub write: Nanos,
    /// The limit on operations, per second.
    pub operations: RateSpec,
    /// The limit on throughput, in bytes a second.
    pub throughput: RateSpec,
}

/// A token bucket: credit flows in at the baseline and is drawn at no more than the burst rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSpec {
    /// The credit that flows in, a second.
    pub baseline: u64,
    /// The largest amount of credit that is drawn, a second.
    pub burst: u64,
    /// The credit that a full bucket holds. The bucket is full at first.
    pub credit: u64,
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<VolumeSpec> {
    let mut s = top.section("volume", "volume")?;
    let unit = values.size(&mut s, "volume", "unit")?;
    let round_trip = values.time(&mut s, "volume", "round_trip")?;
    let read = values.time(&mut s, "volume", "read")?;
    let write = values.time(&mut s, "volume", "write")?;
    s.finish()?;
    let operations = decode_rate(top, values, "operations", |values, s, path, key| {
        Ok(u64::from(values.count(s, path, key, 1..1_000_000_001)?))
    })?;
    let throughput = decode_rate(top, values, "throughput", |values, s, path, key| match key {
        "credit" => Ok(values.size(s, path, key)?.0),
        _ => Ok(values.rate(s, path, key)?.0),
    })?;
    Ok(VolumeSpec { unit, round_trip, read, write, operations, throughput })
}

/// The function that takes the number of a key of a bucket.
type Get = fn(&mut Values, &mut Section<'_>, &str, &'static str) -> Decoded<u64>;

fn decode_rate(
    top: &mut Section<'_>,
    values: &mut Values,
    path: &'static str,
    get: Get,
) -> Decoded<RateSpec> {
    let mut s = top.section(path, path)?;
    let baseline = get(values, &mut s, path, "baseline")?;
    let burst =
        values.optional(&mut s, "burst", baseline, |values, s, key| get(values, s, path, key))?;
    if burst < baseline {
        let message = "the burst is slower than the baseline".to_owned();
        let e = s.error(Kind::Impossible, s.key_span_of("burst"), message, "");
        return Err(with_hint(e, format!("raise `{path}.burst`, or leave it out")));
    }
    // Without a burst, saved credit has no effect.
    let credit = match burst > baseline {
        true => get(values, &mut s, path, "credit")?,
        false => {
            s.goes_with(&["credit"], "a `burst` above the `baseline`");
            0
        }
    };
    s.finish()?;
    Ok(RateSpec { baseline, burst, credit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};

    fn operations(lines: &str) -> Result<RateSpec, String> {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "gp3-100");
        let text = bundled.expect("in the catalogue").text;
        let (before, rest) = text.split_once("[operations]\n").expect("it has a limit");
        let rest = rest.find("\n[").map_or("", |next| &rest[next..]);
        let text = format!("{before}[operations]\n{lines}{rest}");
        let spec = DeviceSpec::parse(Source { file: "volume.toml", text: &text });
        match spec.map_err(|e| e.to_string())?.kind {
            DeviceKind::Volume(volume) => Ok(volume.operations),
            _ => Err("not a volume".into()),
        }
    }

    #[test]
    fn credit_belongs_to_a_burst() {
        let line = |key: &str, n: u32| format!("{key} = {{ value = {n}, assumed = \"a test\" }}\n");
        let rate = |baseline, burst, credit| Ok(RateSpec { baseline, burst, credit });
        assert_eq!(operations(&line("baseline", 300)), rate(300, 300, 0));
        let burst = line("baseline", 300) + &line("burst", 3000);
        assert_eq!(operations(&(burst.clone() + &line("credit", 50))), rate(300, 3000, 50));
        for (lines, said) in [
            (burst, "credit"),
            (line("baseline", 300) + &line("credit", 50), "a `burst` above the `baseline`"),
            (line("baseline", 300) + &line("burst", 299), "slower than the baseline"),
            (line("baseline", 0), "out of range"),
        ] {
            let error = operations(&lines).expect_err(said);
            assert!(error.contains(said) && error.contains("volume.toml"), "{error}");
        }
    }
}
