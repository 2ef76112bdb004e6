//! Opens targets as the user writes them: `null`, `sim:NAME`, `sim:FILE.toml`, `raid5(…)`,
//! `linux(…)`, or a path.

mod array;
mod linux;
mod reopen;

pub(crate) use array::switch_caches_off;
pub use linux::{LinuxSetup, open_drives};
pub use reopen::reopen_target;

use crate::error::{Error, Result};
use crate::read;
use crate::safety::{Intent, memory};
use crate::target::block::{self, Kind, Opened};
use assay_sim::ArraySetup;
use assay_spec::array::{is_array, parse_linux};
use assay_spec::catalog::{self, DEVICES};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::diagnostic::{closest, edit_distance};
use assay_spec::linux::is_linux;
use assay_spec::record::{IntentRecord, TargetRecord};
use assay_spec::{Bytes, Diagnostic};
use std::path::{Path, PathBuf};

/// An opened target and its description.
pub struct PlannedTarget {
    /// The description in `run.json`.
    pub record: TargetRecord,
    /// The device, file, directory or model behind it.
    pub kind: TargetKind,
    /// Whether workloads that write may run.
    pub may_write: bool,
}

/// The device, file, directory or model behind a target.
pub enum TargetKind {
    /// No device: requests are answered at once.
    Null,
    /// A modelled drive.
    Model(Box<DeviceSpec>),
    /// An array of modelled drives.
    Array(Box<ArraySetup>),
    /// Linux in virtual time on modelled drives.
    Linux(Box<LinuxSetup>),
    /// A file or block device, held open for the whole run.
    Real(Box<Opened>),
    /// A directory, for workloads of files.
    Directory(PathBuf),
}

/// The reason why a target cannot be opened.
#[derive(Debug)]
pub enum PlanError {
    /// A mistake in a device file, or in the words of an array or of Linux.
    Spec(Box<Diagnostic>),
    /// Any other error.
    Engine(Error),
}

impl From<Error> for PlanError {
    fn from(e: Error) -> Self {
        PlanError::Engine(e)
    }
}

impl PlannedTarget {
    /// Returns the unit of requests: their offsets and lengths are multiples of it.
    pub fn granularity(&self) -> Bytes {
        match &self.kind {
            TargetKind::Real(opened) => opened.granularity,
            _ => Bytes(512),
        }
    }

    /// Returns a message for the user about failed requests, which says so if the file has been cut
    /// short.
    pub(crate) fn why_failed(&self, error: &Error) -> String {
        let length = match &self.kind {
            TargetKind::Real(opened) => opened.length_now(),
            _ => None,
        };
        match length.filter(|length| *length < self.record.capacity) {
            Some(length) => format!(
                "{error}; {} was cut short while it was measured: it had {}, and has {length}",
                self.record.written, self.record.capacity
            ),
            None => error.to_string(),
        }
    }

    /// Checks that reads of a file have reached the drive: nobody has freed its blocks meanwhile.
    pub(crate) fn check_measured(&self) -> Result<()> {
        match &self.kind {
            // A lease keeps others from a file that is written to, and the workload may trim it.
            TargetKind::Real(opened) if !self.may_write => opened.check_blocks(),
            _ => Ok(()),
        }
    }

    /// Returns a warning for readers of results from this target, if one is due.
    pub(crate) fn caution(&self) -> Option<String> {
        let place = match &self.kind {
            TargetKind::Real(opened) => &opened.identity.resolved,
            TargetKind::Directory(path) => path,
            _ => return None,
        };
        memory::caution(place).map(str::to_owned)
    }

    /// Returns the opened file or device, if the target is one.
    pub(crate) fn real_mut(&mut self) -> Option<&mut Opened> {
        match &mut self.kind {
            TargetKind::Real(opened) => Some(opened),
            _ => None,
        }
    }
}

/// The use that a plan makes of its targets.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// Whether any of its workloads writes.
    pub writes: bool,
    /// Whether the plan is only shown, so that no file is made.
    pub only_shown: bool,
}

/// Opens the target written as `written` for the use that `plan` says.
///
/// # Errors
/// If there is no such target, or `intent` does not allow this use.
pub fn open_target(
    written: &str,
    intent: &IntentRecord,
    plan: Use,
) -> std::result::Result<PlannedTarget, PlanError> {
    if is_linux(written) && !Path::new(written).exists() {
        return linux::open(written, None, Ok(linux::kernel()?));
    }
    if is_array(written) && !Path::new(written).exists() {
        return array::open(written, None);
    }
    match written.split_once(':') {
        Some(("sim", name)) => {
            let (spec, text) = load_model(name)?;
            Ok(model_target(written, spec, text))
        }
        None if written == "null" => Ok(null_target()),
        Some((word, rest)) if is_misspelt_sim(word) && !Path::new(written).exists() => {
            Err(unknown_target(written, rest).into())
        }
        None if !Path::new(written).exists() && find_model(written).is_ok() => {
            Err(unknown_target(written, written).into())
        }
        _ if Path::new(written).is_dir() => Ok(directory(written)?),
        _ => Ok(open_real(written, intent, plan)?),
    }
}

/// Opens a target like [`open_target`], but also Linux for which there is no kernel. The cells of
/// such a target are skipped and say why.
pub fn open_target_or_skip(
    written: &str,
    intent: &IntentRecord,
    plan: Use,
) -> std::result::Result<PlannedTarget, PlanError> {
    if !is_linux(written) || Path::new(written).exists() {
        return open_target(written, intent, plan);
    }
    linux::open(written, None, linux::kernel().map_err(|e| format!("{}: {}", e.message, e.hint)))
}

/// Returns `true` if `word` may be a misspelt `sim`. A word with a slash is always a path.
fn is_misspelt_sim(word: &str) -> bool {
    !word.contains('/') && edit_distance(word, "sim") <= 2
}

fn unknown_target(written: &str, rest: &str) -> Error {
    let hint = format!("did you mean `sim:{rest}`? A file of this name is written `./{written}`");
    Error::usage("unknown-target", format!("there is no target `{written}`"), hint)
}

/// Returns the target for the directory `written`, in which workloads make their files.
fn directory(written: &str) -> Result<PlannedTarget> {
    let path = Path::new(written);
    let free = rustix::fs::statvfs(path).map(|s| Bytes(s.f_bavail * s.f_frsize));
    let free = free.map_err(|e| {
        let message = format!("the directory {written} cannot be used");
        Error::environment("directory-unusable", message, "check its permissions")
            .caused_by(e.into())
    })?;
    let name = path.file_name().map_or_else(|| "directory".into(), |n| n.to_string_lossy());
    Ok(PlannedTarget {
        record: TargetRecord {
            written: written.into(),
            name: cell_name(&name),
            title: format!("directory {written}"),
            kind: "directory".into(),
            capacity: free,
            identity: absolute(path).into_iter().collect(),
            spec: None,
            virtual_time: false,
            created: false,
        },
        kind: TargetKind::Directory(path.to_owned()),
        may_write: true,
    })
}

fn null_target() -> PlannedTarget {
    PlannedTarget {
        record: TargetRecord {
            written: "null".into(),
            name: "null".into(),
            title: "Null target: answers at once".into(),
            kind: "null".into(),
            capacity: Bytes::GIB * 1024,
            identity: Vec::new(),
            spec: None,
            virtual_time: false,
            created: false,
        },
        kind: TargetKind::Null,
        may_write: true,
    }
}

/// Returns the bundled drive called `name`, or the drive in the file `name` if that ends in
/// `.toml`; and the text of its file.
pub fn load_model(name: &str) -> std::result::Result<(DeviceSpec, String), PlanError> {
    if !name.ends_with(".toml") {
        let spec = find_model(name)?;
        let bundled = catalog::find(DEVICES, &spec.name).expect("found by its name");
        return Ok((spec, bundled.text.to_owned()));
    }
    let text = read::text(Path::new(name), read::SPEC_MAX).map_err(|e| {
        let hint = "the path counts from where assay is started; `assay devices` lists the models";
        let message = format!("the device file {name} cannot be read");
        Error::usage("no-such-file", message, e.hint(hint)).caused_by(e.error)
    })?;
    let spec = DeviceSpec::parse(Source { file: name, text: &text }).map_err(PlanError::Spec)?;
    Ok((spec, text))
}

fn model_target(written: &str, spec: DeviceSpec, text: String) -> PlannedTarget {
    PlannedTarget {
        record: TargetRecord {
            written: written.into(),
            name: spec.name.clone(),
            title: spec.title.clone(),
            kind: "model".into(),
            capacity: spec.capacity,
            identity: Vec::new(),
            spec: Some(text),
            virtual_time: true,
            created: false,
        },
        kind: TargetKind::Model(Box::new(spec)),
        may_write: true,
    }
}

/// Returns the bundled drive with this name or alias.
fn find_model(name: &str) -> Result<DeviceSpec> {
    let specs = DEVICES.iter().filter_map(|b| {
        DeviceSpec::parse(Source { file: b.file, text: b.text }).ok().map(Box::new)
    });
    let specs: Vec<Box<DeviceSpec>> = specs.collect();
    if let Some(spec) = specs.iter().find(|s| s.is_called(name)) {
        return Ok((**spec).clone());
    }
    let names: Vec<&str> = specs
        .iter()
        .flat_map(|s| std::iter::once(&s.name).chain(&s.aliases))
        .map(String::as_str)
        .collect();
    let hint = match closest(name, &names) {
        Some(meant) => format!("did you mean `sim:{meant}`?"),
        None => "`assay devices` lists the modelled drives".to_owned(),
    };
    Err(Error::usage("no-such-model", format!("there is no modelled drive `{name}`"), hint))
}

fn open_real(written: &str, record: &IntentRecord, plan: Use) -> Result<PlannedTarget> {
    let path = Path::new(written);
    let may_write = plan.writes && record.write.is_some();
    let intent = Intent {
        write: record.write.as_ref().map(PathBuf::from),
        destroy: record.destroy.clone(),
        size: record.size,
        writes: may_write,
        writes_if_new: plan.writes,
        only_shown: plan.only_shown,
    };
    let opened = block::open(path, &intent)?;
    let may_write = may_write || plan.writes && opened.created;
    Ok(real_target(written, path, opened, may_write))
}

/// Describes the file or device that was opened at `path`, for the run directory.
fn real_target(written: &str, path: &Path, opened: Opened, may_write: bool) -> PlannedTarget {
    let found = &opened.identity;
    let mut identity: Vec<(String, String)> =
        found.keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    identity.push(("path".to_owned(), found.resolved.display().to_string()));
    identity.extend(found.kernel_name.clone().map(|name| ("kernel name".to_owned(), name)));
    let file_name = path.file_name().map_or(written.into(), |n| n.to_string_lossy());
    let kind = match opened.kind {
        Kind::File => "file",
        Kind::BlockDevice => "block device",
    };
    let model = opened.identity.get("model").map(str::to_owned);
    PlannedTarget {
        record: TargetRecord {
            written: written.into(),
            name: cell_name(&file_name),
            title: model.unwrap_or_else(|| format!("{kind} {written}")),
            kind: kind.into(),
            capacity: opened.capacity,
            identity,
            spec: None,
            virtual_time: false,
            created: opened.created,
        },
        kind: TargetKind::Real(Box::new(opened)),
        may_write,
    }
}

/// Returns the absolute path of a target under the key `path`, so that the run can be resumed from
/// any directory.
fn absolute(path: &Path) -> Option<(String, String)> {
    Some(("path".to_owned(), path.canonicalize().ok()?.display().to_string()))
}

/// Returns the name that cells give to a bundled drive or to Linux, without opening it. Returns
/// `None` for other targets.
pub fn name_in_cells(written: &str) -> Option<String> {
    match is_linux(written) {
        true => parse_linux(written).ok().map(|spec| linux::name_in_cells(&spec)),
        false => Some(find_model(written.strip_prefix("sim:")?).ok()?.name),
    }
}

/// Converts a file name to a target's name: `-` replaces characters that a cell's name cannot have.
fn cell_name(text: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    text.chars().map(fine).collect()
}
