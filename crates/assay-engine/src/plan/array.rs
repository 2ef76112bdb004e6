//! Opens arrays: finds the drives and controllers that their words name, or those of a saved run.
//!
//! A run directory keeps the texts of all files that an array is made of, one after the other, each
//! below a line with its name. A resumed run uses these texts, even if the files have changed.

use super::model::load_model;
use super::target::{PlanError, PlannedTarget, TargetKind, cell_name};
use crate::error::Error;
use crate::read;
use assay_sim::{ArraySetup, MemberDrive, MemberSetup};
use assay_spec::Bytes;
use assay_spec::array::{self, ArraySpec, MemberTarget};
use assay_spec::catalog::{self, Bundled, CONTROLLERS, PROCESSORS};
use assay_spec::decode::Source;
use assay_spec::device::{ControllerSpec, DeviceSpec, ProcessorSpec};
use assay_spec::diagnostic::closest;
use assay_spec::record::TargetRecord;
use std::collections::BTreeSet;
use std::path::Path;

type Planned<T> = std::result::Result<T, PlanError>;

/// Opens the array written as `written`. For a resumed run, `saved` contains the texts that it
/// keeps.
pub(super) fn open(written: &str, saved: Option<&str>) -> Planned<PlannedTarget> {
    let spec = array::parse(written).map_err(PlanError::Spec)?;
    let mut files = Files::new(saved);
    let setup = files.setup(&spec)?;
    let capacity = setup.capacity();
    if capacity == Bytes::ZERO {
        let message = format!("a member of `{written}` is smaller than one chunk");
        return Err(Error::usage("array-too-small", message, "choose a smaller `chunk`").into());
    }
    Ok(PlannedTarget {
        record: TargetRecord {
            written: written.into(),
            name: cell_name(&spec.name()),
            title: title(&spec),
            kind: "array".into(),
            capacity,
            identity: Vec::new(),
            spec: Some(files.texts()),
            virtual_time: true,
            created: false,
        },
        kind: TargetKind::Array(Box::new(setup)),
        may_write: true,
    })
}

/// Returns the title of the array, in one line.
fn title(spec: &ArraySpec) -> String {
    let maker = match &spec.controller {
        Some(controller) => format!("made by {controller}"),
        None => "made by the host".to_owned(),
    };
    let members = spec.members.len();
    let failed = match spec.failed {
        0 => String::new(),
        n => format!(", {n} failed"),
    };
    let name = spec.level.name().to_uppercase().replace("RAID", "RAID-");
    format!("{name} of {members}, {maker}{failed}")
}

/// Switches off the write caches of all members.
pub(crate) fn switch_caches_off(setup: &mut ArraySetup) {
    for member in &mut setup.members {
        match &mut member.drive {
            MemberDrive::Device(spec) => spec.set_write_cache(false),
            MemberDrive::Array(array) => switch_caches_off(array),
        }
    }
}

/// The texts of the devices and controllers that arrays are made of.
pub(super) struct Files {
    /// The texts of a resumed run, which are used first, by key (`sim:NAME`, `controller:NAME`,
    /// `processor:NAME`).
    saved: Option<Vec<(String, String)>>,
    /// The texts that were used, by key.
    used: Vec<(String, String)>,
    /// The controllers of all arrays so far, as written: a card serves one array.
    cards: BTreeSet<String>,
}

impl Files {
    /// Creates it with the texts that a resumed run keeps, if it is for one.
    pub(super) fn new(saved: Option<&str>) -> Files {
        Files { saved: saved.map(TargetRecord::texts), used: Vec::new(), cards: BTreeSet::new() }
    }

    /// Returns the texts that were used, as a run keeps them.
    pub(super) fn texts(&self) -> String {
        self.used
            .iter()
            .map(|(name, text)| format!("{}{name}\n{text}", TargetRecord::MARK))
            .collect()
    }

    /// Finds the drives and controllers of `spec`, also those of arrays in it.
    pub(super) fn setup(&mut self, spec: &ArraySpec) -> Planned<ArraySetup> {
        let mut cards = Cards::default();
        let front = spec.controller.as_ref().map(|word| cards.index(self, word)).transpose()?;
        let mut members = Vec::new();
        for member in &spec.members {
            let drive = match &member.target {
                MemberTarget::Drive(name) => MemberDrive::Device(Box::new(self.device(name)?)),
                MemberTarget::Array(array) => MemberDrive::Array(Box::new(self.setup(array)?)),
            };
            let word = member.controller.as_ref();
            let controller = word.map(|word| cards.index(self, word)).transpose()?;
            members.push(MemberSetup { drive, controller });
        }
        if front.is_some() && members.iter().any(|m| m.controller == front) {
            let word = spec.controller.as_deref().unwrap_or_default();
            let message =
                format!("`{word}` makes the array, but a member is also connected to it with `@`");
            let hint = "remove the `@`: `controller=` connects all members to this card";
            return Err(Error::usage("shared-controller", message, hint).into());
        }
        Ok(ArraySetup {
            level: spec.level,
            chunk: spec.chunk,
            members,
            controllers: cards.specs,
            front,
            failed: spec.failed as usize,
            fail_at: spec.fail_at,
            rebuild: spec.rebuild,
        })
    }

    /// Returns the text that a resumed run keeps under `key`.
    fn saved(&self, key: &str) -> Option<String> {
        let saved = self.saved.as_ref()?;
        saved.iter().find(|(name, _)| name == key).map(|(_, text)| text.clone())
    }

    /// Notes that `text` was used, under `key`, with a line feed at its end.
    fn keep(&mut self, key: String, text: &str) {
        if self.used.iter().all(|(name, _)| *name != key) {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            self.used.push((key, format!("{text}{end}")));
        }
    }

    fn device(&mut self, name: &str) -> Planned<DeviceSpec> {
        let key = format!("sim:{name}");
        let (spec, text) = match self.saved(&key) {
            Some(text) => {
                let source = Source { file: name, text: &text };
                (DeviceSpec::parse(source).map_err(PlanError::Spec)?, text)
            }
            None => load_model(name)?,
        };
        self.keep(key, &text);
        Ok(spec)
    }

    fn controller(&mut self, word: &str) -> Planned<ControllerSpec> {
        let name = word.split('#').next().unwrap_or(word).trim();
        let text = self.part("controller", CONTROLLERS, name)?;
        ControllerSpec::parse(Source { file: name, text: &text }).map_err(PlanError::Spec)
    }

    /// Finds the processor `name`.
    pub(super) fn processor(&mut self, name: &str) -> Planned<ProcessorSpec> {
        let text = self.part("processor", PROCESSORS, name)?;
        ProcessorSpec::parse(Source { file: name, text: &text }).map_err(PlanError::Spec)
    }

    /// Returns the text of the part `name`, which is a `kind`, and notes that it was used.
    fn part(&mut self, kind: &str, bundled: &'static [Bundled], name: &str) -> Planned<String> {
        let key = format!("{kind}:{name}");
        let text = match self.saved(&key) {
            Some(text) => text,
            None => part_text(kind, bundled, name)?,
        };
        self.keep(key, &text);
        Ok(text)
    }
}

/// The controllers of one array, each with the word that names it.
#[derive(Default)]
struct Cards {
    words: Vec<String>,
    specs: Vec<ControllerSpec>,
}

impl Cards {
    /// Returns the index of the controller that `word` names; adds it at its first use.
    fn index(&mut self, files: &mut Files, word: &str) -> Planned<usize> {
        if let Some(index) = self.words.iter().position(|w| w == word) {
            return Ok(index);
        }
        if !files.cards.insert(word.to_owned()) {
            let message = format!("`{word}` is the controller of two arrays");
            let hint = format!("write a second card of this kind as `{word}#2`");
            return Err(Error::usage("shared-controller", message, hint).into());
        }
        self.specs.push(files.controller(word)?);
        self.words.push(word.to_owned());
        Ok(self.words.len() - 1)
    }
}

/// Returns the text of the bundled part `name`, which is a `kind`, or of the file `name` if that
/// ends in `.toml`.
fn part_text(kind: &str, bundled: &'static [Bundled], name: &str) -> Planned<String> {
    if name.ends_with(".toml") {
        return read::text(Path::new(name), read::SPEC_MAX).map_err(|e| {
            let message = format!("the {kind} file {name} cannot be read");
            let hint = e.hint("check the path: a relative path starts at the current directory");
            Error::usage("no-such-file", message, hint).caused_by(e.error).into()
        });
    }
    if let Some(found) = catalog::find(bundled, name) {
        return Ok(found.text.to_owned());
    }
    let names: Vec<&str> = bundled.iter().map(|b| b.name).collect();
    let hint = match closest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            format!("name a {kind} ({}) or a file whose name ends in `.toml`", names.join(", "))
        }
    };
    let message = format!("there is no {kind} `{name}`");
    Err(Error::usage("no-such-part", message, hint).into())
}
