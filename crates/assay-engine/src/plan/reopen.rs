//! Reopens the targets of a saved run, and refuses any that is not the same.

use super::model::{model_target, null_target};
use super::real::{directory, real_target};
use super::target::{PlanError, PlannedTarget};
use super::{array, linux};
use crate::error::{Error, Result};
use crate::safety::{Intent, identity};
use crate::target::block;
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::record::{IntentRecord, TargetRecord};
use std::path::{Path, PathBuf};

/// Reopens a target of a saved run under its old name. A model comes from the spec that the run
/// keeps. `again` is what the user allows now. What `intent` allowed when the run began still holds
/// for a target that is certainly the same.
///
/// # Errors
/// If the target is gone, is another one, or may not be written to although the run writes.
pub fn reopen_target(
    saved: &TargetRecord,
    intent: &IntentRecord,
    again: &IntentRecord,
    writes: bool,
) -> std::result::Result<PlannedTarget, PlanError> {
    let mut target = match &saved.spec {
        Some(text) if saved.kind == "linux" => {
            let had_kernel = saved.identity.iter().any(|(key, _)| key == "kernel");
            let opened = linux::open(&saved.written, Some(text), || match had_kernel {
                true => Ok(Ok(linux::kernel()?)),
                false => Ok(Err("start a new run: this one began without a kernel".to_owned())),
            })?;
            same_device(saved, &opened.record)?;
            opened
        }
        Some(text) if saved.kind == "array" => array::open(&saved.written, Some(text))?,
        Some(text) => {
            let file = saved.written.strip_prefix("sim:").unwrap_or(&saved.written);
            let spec = DeviceSpec::parse(Source { file, text }).map_err(PlanError::Spec)?;
            model_target(&saved.written, spec, text.clone())
        }
        None if saved.kind == "null" => null_target(),
        None => reopen_real(saved, intent, again, writes)?,
    };
    target.record.name.clone_from(&saved.name);
    target.record.written.clone_from(&saved.written);
    Ok(target)
}

/// Reopens a file, device or directory by its absolute path. Makes no file if the target is gone.
fn reopen_real(
    saved: &TargetRecord,
    intent: &IntentRecord,
    again: &IntentRecord,
    writes: bool,
) -> Result<PlannedTarget> {
    let place = saved.identity.iter().find(|(key, _)| key == "path");
    let place = place.map_or(saved.written.as_str(), |(_, path)| path);
    let path = Path::new(place);
    if !path.exists() {
        let message = format!("{place}, which the run measured, does not exist any more");
        let hint = "bring it back, or start a new run with another `--out`";
        return Err(Error::environment("target-gone", message, hint));
    }
    if saved.kind == "directory" {
        return directory(place);
    }
    let was_allowed = saved.created || intent.write.is_some();
    let is_sure = identity::is_sure(saved.kind == "file", &saved.identity);
    let allowed = match &again.write {
        Some(write) => Some(write.clone()),
        None => (was_allowed && is_sure).then(|| place.to_owned()),
    };
    let must_write = writes && was_allowed;
    let intent = Intent {
        write: allowed.as_ref().map(PathBuf::from),
        destroy: again.destroy.clone(),
        size: None,
        writes: must_write,
        writes_if_new: false,
        only_shown: false,
    };
    let opened = match block::open(path, &intent) {
        Err(e) if e.id == "write-not-allowed" && !is_sure => return Err(not_sure(place)),
        opened => real_target(&saved.written, path, opened?, must_write),
    };
    same_device(saved, &opened.record)?;
    Ok(opened)
}

/// Returns the error for a target without an identity that would prove it to be the same.
fn not_sure(place: &str) -> Error {
    let message = format!(
        "{place} has no identity (e.g. a serial number) that proves that the run began with it"
    );
    let hint = format!("confirm that it is the same: `assay resume DIR --write {place}`");
    Error::environment("write-not-allowed", message, hint)
}

/// Checks that the target is the one with which the run began: a name such as `/dev/sdb` can move
/// to another disk, a file can be replaced, and another kernel sends its drives other requests.
fn same_device(saved: &TargetRecord, found: &TargetRecord) -> Result<()> {
    let of = |record: &TargetRecord, key: &str| {
        record.identity.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone())
    };
    let say = |value: Option<String>| value.unwrap_or_else(|| "none".into());
    let differs = |key: &str| {
        let (was, is) = (of(saved, key), of(found, key));
        (was != is).then(|| format!("its {key} was {} and is now {}", say(was), say(is)))
    };
    let kind = (saved.kind != found.kind)
        .then(|| format!("it was a {} and is now a {}", saved.kind, found.kind));
    let size = (saved.capacity != found.capacity)
        .then(|| format!("its size was {} and is now {}", saved.capacity, found.capacity));
    let differs = || identity::COMPARED.into_iter().chain(["kernel"]).find_map(differs);
    let Some(what) = kind.or(size).or_else(differs) else {
        return Ok(());
    };
    Err(Error::environment(
        "other-device",
        format!("{} is not the one that the run began with: {what}", saved.written),
        "bring the first one back under this name, or start a new run with another `--out`",
    ))
}
