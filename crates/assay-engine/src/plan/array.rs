//! From an array's words to its drives and controllers, and back from a saved run.
//!
//! A run directory keeps the text of every file that an array is made of, one after the other, each
//! below a line that names it; from those a run is gone on with, whatever became of the files.

use super::{PlanError, PlannedTarget, TargetKind, cell_name, load_model};
use crate::error::Error;
use crate::read;
use assay_sim::{ArraySetup, MemberDrive, MemberSetup};
use assay_spec::Bytes;
use assay_spec::array::{self, ArraySpec, MemberTarget};
use assay_spec::catalog::{self, CONTROLLERS};
use assay_spec::decode::Source;
use assay_spec::device::{ControllerSpec, DeviceSpec};
use assay_spec::diagnostic::closest;
use assay_spec::record::TargetRecord;
use std::collections::BTreeSet;
use std::path::Path;

type Planned<T> = std::result::Result<T, PlanError>;

/// Opens the array written as `written`; `saved` has the texts of the run it is from, if it is.
pub(super) fn open(written: &str, saved: Option<&str>) -> Planned<PlannedTarget> {
    let spec = array::parse(written).map_err(PlanError::Spec)?;
    let mut files = Files::new(saved);
    let setup = files.setup(&spec)?;
    let capacity = setup.capacity();
    if capacity == Bytes::ZERO {
        let message = format!("the members of `{written}` are smaller than a chunk");
        return Err(Error::usage("array-too-small", message, "take a smaller `chunk`").into());
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

/// One line for people.
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

/// Switches the write caches of all members off.
pub(crate) fn switch_caches_off(setup: &mut ArraySetup) {
    for member in &mut setup.members {
        match &mut member.drive {
            MemberDrive::Device(spec) => spec.set_write_cache(false),
            MemberDrive::Array(array) => switch_caches_off(array),
        }
    }
}

/// Where the texts come from, and which were used.
pub(super) struct Files {
    saved: Option<Vec<(String, String)>>,
    used: Vec<(String, String)>,
    /// Controllers of the arrays so far: a card serves one array.
    cards: BTreeSet<String>,
}

impl Files {
    /// From the texts of a saved run, if it is one.
    pub(super) fn new(saved: Option<&str>) -> Files {
        Files { saved: saved.map(TargetRecord::texts), used: Vec::new(), cards: BTreeSet::new() }
    }

    /// The texts that were used, as a run keeps them.
    pub(super) fn texts(&self) -> String {
        self.used
            .iter()
            .map(|(name, text)| format!("{}{name}\n{text}", TargetRecord::MARK))
            .collect()
    }

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
            let message = format!("`{word}` makes the array, and a member hangs on it with `@`");
            let hint = "`controller=` is the card of all members; remove the `@`";
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

    fn saved(&self, key: &str) -> Option<String> {
        let saved = self.saved.as_ref()?;
        saved.iter().find(|(name, _)| name == key).map(|(_, text)| text.clone())
    }

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
        let key = format!("controller:{name}");
        let text = match self.saved(&key) {
            Some(text) => text,
            None => controller_text(name)?,
        };
        let spec = ControllerSpec::parse(Source { file: name, text: &text });
        self.keep(key, &text);
        spec.map_err(PlanError::Spec)
    }
}

/// The controllers of one array.
#[derive(Default)]
struct Cards {
    words: Vec<String>,
    specs: Vec<ControllerSpec>,
}

impl Cards {
    fn index(&mut self, files: &mut Files, word: &str) -> Planned<usize> {
        if let Some(index) = self.words.iter().position(|w| w == word) {
            return Ok(index);
        }
        if !files.cards.insert(word.to_owned()) {
            let message = format!("`{word}` serves two arrays");
            let hint = format!("another card of its kind is written `{word}#2`");
            return Err(Error::usage("shared-controller", message, hint).into());
        }
        self.specs.push(files.controller(word)?);
        self.words.push(word.to_owned());
        Ok(self.words.len() - 1)
    }
}

/// The text of the controller called `name`, or in the file `name` if that ends in `.toml`.
fn controller_text(name: &str) -> Planned<String> {
    if name.ends_with(".toml") {
        return read::text(Path::new(name), read::SPEC_MAX).map_err(|e| {
            let message = format!("the controller file {name} cannot be read");
            let hint = e.hint("the path counts from where assay is started");
            Error::usage("no-such-file", message, hint).caused_by(e.error).into()
        });
    }
    if let Some(bundled) = catalog::find(CONTROLLERS, name) {
        return Ok(bundled.text.to_owned());
    }
    let names: Vec<&str> = CONTROLLERS.iter().map(|b| b.name).collect();
    let hint = match closest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("controllers: {}; a file ends in `.toml`", names.join(", ")),
    };
    let message = format!("there is no controller `{name}`");
    Err(Error::usage("no-such-controller", message, hint).into())
}
