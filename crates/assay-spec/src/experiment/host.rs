//! The host around a modelled drive: its gaps between requests, its queue depth, its elevator.

use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::{Kind, closest, one_of};
use crate::name::{bad_name, is_name};
use crate::units::Nanos;
use toml::de::DeValue;

/// What the host adds to a modelled drive. Real targets have their own host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSpec {
    /// The time that the host needs between a completion and the next dispatch.
    pub gap: Nanos,
    /// The number of requests that the host gives the drive at a time; `None`: as many as the drive
    /// holds.
    pub queue_depth: Option<u32>,
    /// The elevators that order waiting requests.
    pub elevator: Elevators,
}

/// A host with its name. Every modelled target is measured behind each host of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostVariant {
    /// The prefix of the target's name in cells; `None` if there is no prefix.
    pub name: Option<String>,
    /// What the host adds.
    pub spec: HostSpec,
}

impl HostVariant {
    /// Returns the name of `target` behind this host in cells.
    pub fn target(&self, target: &str) -> String {
        match &self.name {
            Some(name) => format!("{name}/{target}"),
            None => target.to_owned(),
        }
    }
}

/// The elevator for each kind of drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elevators {
    /// The elevator for flash drives.
    pub ssd: ElevatorKind,
    /// The elevator for disks, and for arrays that hold one.
    pub hdd: ElevatorKind,
}

/// The order of waiting requests. `assay-sim` has one file for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElevatorKind {
    /// First come, first served, with merging.
    #[default]
    Noop,
    /// Sorted batches with a deadline for each request.
    Deadline,
    /// An elevator that waits after a read for the next read of the same process.
    Anticipatory,
    /// Time slices for processes.
    Cfq,
}

impl ElevatorKind {
    /// Every elevator, in the order of [`ElevatorKind::NAMES`].
    pub const ALL: [ElevatorKind; 4] =
        [ElevatorKind::Noop, ElevatorKind::Deadline, ElevatorKind::Anticipatory, ElevatorKind::Cfq];
    /// The names of the elevators, as users write them.
    pub const NAMES: [&str; 4] = ["noop", "deadline", "anticipatory", "cfq"];

    /// Returns the name, as users write it.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Decodes the hosts of an experiment: `[host]`, or several `[[host]]` with names. Without any,
/// returns one host that adds nothing.
pub(super) fn decode_all(top: &mut Section<'_>) -> Decoded<Vec<HostVariant>> {
    let mut hosts: Vec<HostVariant> = Vec::new();
    for mut s in top.tables("host", "host")? {
        let span = if s.has("name") { s.span_of("name") } else { s.span() };
        let name = s.optional_string("name")?.map(|(name, _)| name);
        if let Some(name) = name.as_ref().filter(|name| !is_name(name)) {
            return Err(bad_name(&s, span, name));
        }
        if hosts.iter().any(|h| h.name == name) {
            let message = match &name {
                Some(name) => format!("two hosts are called `{name}`"),
                None => "two hosts have no name".to_owned(),
            };
            let e = s.error(Kind::Impossible, span, message, "a unique name");
            let hint = "give each host its own name (at most one may have none): cells are named \
                        `NAME/TARGET`";
            return Err(with_hint(e, hint));
        }
        let spec = decode(&mut s)?;
        s.finish()?;
        hosts.push(HostVariant { name, spec });
    }
    if hosts.is_empty() {
        hosts.push(HostVariant::default());
    }
    Ok(hosts)
}

fn decode(s: &mut Section<'_>) -> Decoded<HostSpec> {
    let gap = s.pause("gap", Nanos::from_secs(3600))?;
    let limited = s.has("queue_depth");
    let depth = s.count("queue_depth", 1..65_536, Some(1))?;
    let elevator = elevators(s)?;
    let queue_depth = limited.then_some(depth);
    Ok(HostSpec { gap, queue_depth, elevator })
}

/// Takes the elevators: one word for all drives, or a table with a word for each kind.
fn elevators(s: &mut Section<'_>) -> Decoded<Elevators> {
    let span = s.span_of("elevator");
    let Some(value) = s.take("elevator") else { return Ok(Elevators::default()) };
    match value.get_ref() {
        DeValue::String(word) => {
            let Some(kind) = ElevatorKind::NAMES.iter().position(|name| name == word) else {
                let expected = one_of(&ElevatorKind::NAMES);
                let message = format!("unknown elevator `{word}`");
                let e = s.error(Kind::UnknownValue, span, message, expected);
                return Err(match closest(word, &ElevatorKind::NAMES) {
                    Some(meant) => with_hint(e, format!("did you mean `{meant}`?")),
                    None => {
                        with_hint(e, "use one of these; `assay explain elevators` describes them")
                    }
                });
            };
            let kind = ElevatorKind::ALL[kind];
            Ok(Elevators { ssd: kind, hdd: kind })
        }
        DeValue::Table(table) => {
            let mut inner = Section::new(s.source(), "elevator", table.clone(), span);
            let mut kind = |key| -> Decoded<ElevatorKind> {
                let found = inner.optional_choice(key, &ElevatorKind::NAMES)?;
                Ok(found.map_or(ElevatorKind::Noop, |i| ElevatorKind::ALL[i]))
            };
            let elevators = Elevators { ssd: kind("ssd")?, hdd: kind("hdd")? };
            inner.finish()?;
            Ok(elevators)
        }
        other => {
            let message = format!("`elevator` is a value of type {}", other.type_str());
            let e = s.error(Kind::WrongType, span, message, one_of(&ElevatorKind::NAMES));
            Err(with_hint(
                e,
                "write one elevator, or one for each kind of drive: `{ ssd = \"noop\", hdd = \
                 \"cfq\" }`",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Source, document};

    fn host(line: &str) -> Decoded<HostSpec> {
        let text = format!("format = 1\n{line}\n");
        document(Source { file: "host.toml", text: &text }, "host", decode)
    }

    #[test]
    fn an_elevator_is_for_all_drives_or_for_each_kind() {
        let elevators = |ssd, hdd| Elevators { ssd, hdd };
        let (noop, cfq) = (ElevatorKind::Noop, ElevatorKind::Cfq);
        let cases = [
            ("", elevators(noop, noop)),
            ("elevator = \"cfq\"", elevators(cfq, cfq)),
            ("elevator = { hdd = \"cfq\" }", elevators(noop, cfq)),
            ("elevator = { ssd = \"cfq\", hdd = \"noop\" }", elevators(cfq, noop)),
        ];
        for (line, expected) in cases {
            assert_eq!(host(line).expect(line).elevator, expected, "{line}");
        }
        for (kind, name) in ElevatorKind::ALL.into_iter().zip(ElevatorKind::NAMES) {
            assert_eq!(host(&format!("elevator = \"{name}\"")).unwrap().elevator.ssd, kind);
        }
    }

    #[test]
    fn mistakes_are_answered_with_what_is_right() {
        let cases = [
            ("elevator = \"lift\"", "unknown elevator `lift`", "", 12),
            ("elevator = \"deadlin\"", "unknown elevator `deadlin`", "mean `deadline`?", 12),
            ("elevator = 3", "`elevator` is a value of type integer", "for each kind", 12),
            ("elevator = { hd = \"cfq\" }", "unknown key `hd`", "did you mean `hdd`?", 14),
            ("elevator = { hdd = \"bfq\" }", "unknown hdd `bfq`", "did you mean `cfq`?", 20),
        ];
        for (line, message, hint, column) in cases {
            let e = host(line).expect_err(line);
            assert!(e.message.contains(message), "{line}: {}", e.message);
            assert!(e.hint.contains(hint), "{line}: {}", e.hint);
            assert_eq!(e.place.map(|p| p.column), Some(column), "{line}");
        }
    }
}
