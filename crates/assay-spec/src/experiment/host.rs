//! The machine around a modelled drive: its pauses, its port, its elevator.

use super::{bad_name, is_name};
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::{Kind, closest, one_of};
use crate::units::{Bytes, Nanos};
use toml::de::DeValue;

/// What the machine adds to a modelled drive; real targets have their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSpec {
    /// Time the host needs between a completion and the next dispatch.
    pub gap: Nanos,
    /// Bytes a second at which it takes what was read before it asks for more; `None`: at once.
    pub copy: Option<Bytes>,
    /// Bytes a second at which it makes ready what is to be written; `None`: at once.
    pub prepare: Option<Bytes>,
    /// Requests the host lets the drive have at a time; `None`: as many as the drive takes.
    pub queue_depth: Option<u32>,
    /// How it orders the requests that wait.
    pub elevator: Elevators,
}

/// A machine by its name: every modelled target is measured behind each of an experiment's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostVariant {
    /// What stands before the target's name in cells; `None`: nothing does.
    pub name: Option<String>,
    /// What it adds.
    pub spec: HostSpec,
}

impl HostVariant {
    /// What cells of `target` behind this machine call it.
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
    /// For flash.
    pub ssd: ElevatorKind,
    /// For disks, and for arrays that hold one.
    pub hdd: ElevatorKind,
}

/// How waiting requests are ordered. `assay-sim` has one file for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElevatorKind {
    /// First come, first served, with merging.
    #[default]
    Noop,
    /// Sorted batches with a deadline for each request.
    Deadline,
    /// Waits after a read for the same process's next.
    Anticipatory,
    /// Time slices for processes.
    Cfq,
}

impl ElevatorKind {
    /// All of them, in the order of their names below.
    pub const ALL: [ElevatorKind; 4] =
        [ElevatorKind::Noop, ElevatorKind::Deadline, ElevatorKind::Anticipatory, ElevatorKind::Cfq];
    /// Names as written.
    pub const NAMES: [&str; 4] = ["noop", "deadline", "anticipatory", "cfq"];

    /// The name as written.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The machines of an experiment: `[host]`, or several `[[host]]` with names; without any, one
/// that adds nothing.
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
            let e = s.error(Kind::Impossible, span, message, "another name");
            let hint = "cells are told apart by it: `NAME/TARGET`; one host at most has none";
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
    Ok(HostSpec { gap, queue_depth, elevator, ..HostSpec::default() })
}

/// One word for all drives, or a table of one for each kind.
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
                    None => with_hint(e, "`assay explain elevators` says what each of them does"),
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
            Err(with_hint(e, "or one for each kind of drive: `{ ssd = \"noop\", hdd = \"cfq\" }`"))
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
