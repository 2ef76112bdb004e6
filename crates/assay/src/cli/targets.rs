//! Opens and names the targets of a run, and checks what the user allows to be done to them.

use crate::output::{Failure, talk};
use assay_engine::plan::{PlannedTarget, Use, check_named_once, open_target, open_target_or_skip};
use assay_spec::experiment::Experiment;
use assay_spec::record::IntentRecord;
use std::collections::BTreeMap;

/// Returns the names of the targets that combinations of factors make (`btrfs/raid0/5`), by the
/// targets as they are written.
pub(super) fn names<'e>(
    experiments: impl Iterator<Item = &'e Experiment>,
) -> BTreeMap<String, String> {
    let factors = experiments.filter_map(|e| e.factors.as_ref());
    let of = |f: &'e assay_spec::experiment::Factors| {
        let points = f.all().into_iter();
        points.filter_map(|point| Some((point.target.ok()?, f.name(&point.levels))))
    };
    factors.flat_map(of).collect()
}

/// Opens every target in `written`, for the use that `plan` says and as far as `intent` allows it.
/// A target whose name is taken gets a number behind its name. `asked_for` are the targets that the
/// user asked for: if there are any, other targets that need a kernel are skipped if there is none.
///
/// # Errors
/// If a target cannot be opened, or Ctrl-C was pressed.
pub(super) fn open_targets(
    written: &[String],
    asked_for: &[String],
    intent: &IntentRecord,
    plan: Use,
    names: &BTreeMap<String, String>,
) -> Result<Vec<PlannedTarget>, Failure> {
    check_named_once(written)?;
    let mut targets: Vec<PlannedTarget> = Vec::new();
    for text in written {
        if assay_engine::stop::is_interrupted() {
            return Err(assay_engine::stop::interrupted().into());
        }
        let mut target = match asked_for.is_empty() || asked_for.contains(text) {
            true => open_target(text, intent, plan)?,
            false => open_target_or_skip(text, intent, plan)?,
        };
        if let Some(name) = names.get(text) {
            target.record.name.clone_from(name);
        }
        let base = target.record.name.clone();
        let mut number = 2;
        while targets.iter().any(|t| t.record.name == target.record.name) {
            target.record.name = format!("{base}.{number}");
            number += 1;
        }
        if target.record.name != base {
            // Claims and findings that use the name refer to the first target of that name.
            talk(&format!(
                "another target is already called `{base}`, so {text} is called `{}` in this run",
                target.record.name
            ));
            if text.starts_with("linux(") {
                talk("hint: give the target its own name with `name=`");
            }
        }
        targets.push(target);
    }
    Ok(targets)
}

/// Refuses permissions and sizes that apply to no target, because the user must have meant
/// something else.
pub(super) fn check_effect(
    intent: &IntentRecord,
    targets: &[PlannedTarget],
) -> Result<(), Failure> {
    let real =
        || targets.iter().filter(|t| matches!(t.record.kind.as_str(), "file" | "block device"));
    let devices = || real().filter(|t| t.record.kind == "block device");
    let files = || real().filter(|t| t.record.kind == "file");
    let refuse = |text: String, hint: &str| Err(Failure::usage(text, hint));
    if let Some(path) = intent.write.as_ref().filter(|_| real().next().is_none()) {
        let text = format!("`--write {path}` has no effect: no target is a file or a device");
        return refuse(text, "leave it out (modelled drives do not need it), or add `--on PATH`");
    }
    if let Some(serial) = intent.destroy.as_ref().filter(|_| devices().next().is_none()) {
        let text = format!("`--destroy {serial}` has no effect: no target is a block device");
        return refuse(text, "leave it out: files that assay made do not need `--destroy`");
    }
    let Some(size) = intent.size else { return Ok(()) };
    // A file's size is rounded down to whole pages.
    let rounded = |t: &PlannedTarget| t.record.capacity.0 == size.0 / 4096 * 4096;
    if files().any(|t| t.record.created || rounded(t)) {
        return Ok(());
    }
    match files().next() {
        None => refuse(
            format!("`--size {size}` has no effect: no target is a file"),
            "leave it out, or name a new file with `--on NAME`: assay makes it with this size",
        ),
        Some(file) => refuse(
            format!(
                "`--size {size}` has no effect: {} exists and its size is {}",
                file.record.written, file.record.capacity
            ),
            "leave it out, or name a file that does not exist",
        ),
    }
}
