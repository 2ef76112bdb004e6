//! The reasons why a workload cannot be measured on a target, with advice.

use crate::plan::{PlannedTarget, TargetKind};
use assay_linux::user::User;
use assay_spec::Bytes;
use assay_spec::experiment::{
    CacheReset, FileWork, Operation, ProgramWork, StartState, WorkloadSpec,
};

/// Returns the reason why this workload cannot be measured on this target, if there is one.
pub(super) fn reason(workload: &WorkloadSpec, target: &PlannedTarget) -> Option<String> {
    if let (StartState::Steady, Err(why)) = (workload.phases.start, can_be_steady(&target.kind)) {
        return Some(format!(
            "the workload has `start = \"steady\"`, but assay cannot build the steady state of \
             this drive directly: {why}; reach it with a `[[workload.precondition]]` with `steady`"
        ));
    }
    if let TargetKind::Linux(setup) = &target.kind
        && let Err(why) = &setup.kernel
    {
        return Some(why.clone());
    }
    if let Some(FileWork::Program(work)) = &workload.files {
        return cannot_run(work, &target.kind);
    }
    if let Some(work) = &workload.files {
        return match &target.kind {
            TargetKind::Linux(setup) if setup.spec.settings.filesystem.is_some() => {
                let is_free = setup.processor.is_none();
                is_free.then(|| meaningless(work, setup.spec.settings.memory)).flatten()
            }
            TargetKind::Directory(_) => None,
            _ => Some("the workload works on files: use `linux(fs=ext4, …)` or a directory".into()),
        };
    }
    if let TargetKind::Directory(path) = &target.kind {
        let path = path.display();
        return Some(format!(
            "the workload sends requests to a device or one file, and the target is a directory: \
             name a device, or a file such as {path}/file"
        ));
    }
    if let (false, TargetKind::Real(_)) = (workload.write_cache, &target.kind) {
        let drive = match target.record.kind.as_str() {
            "block device" => &target.record.written,
            _ => "DRIVE",
        };
        return Some(format!(
            "the workload needs the write cache off, but assay does not change settings of a \
             drive: run `hdparm -W0 {drive}`, then a workload without `write_cache`"
        ));
    }
    if workload.writes() && !target.may_write {
        let written = &target.record.written;
        let stranger = match &target.kind {
            TargetKind::Real(opened) => opened.is_stranger,
            _ => false,
        };
        if stranger {
            return Some(
                "the workload writes, but assay writes only to files that it made".to_owned(),
            );
        }
        return Some(format!("the workload writes, but `--write {written}` is not given"));
    }
    let granularity = target.granularity().0;
    let mut sizes = workload.all_streams().flat_map(|s| s.sizes.iter().map(|(size, _)| size.0));
    if let Some(size) = sizes.find(|size| !size.is_multiple_of(granularity)) {
        return Some(format!(
            "requests of {} are not whole blocks of the target ({granularity} B)",
            Bytes(size)
        ));
    }
    let smallest = workload.max_size();
    (target.record.capacity < smallest)
        .then(|| format!("the target is smaller than one request of {smallest}"))
}

/// Returns why a program cannot be run on a target, if so.
fn cannot_run(work: &ProgramWork, target: &TargetKind) -> Option<String> {
    match target {
        TargetKind::Linux(setup) if setup.spec.settings.filesystem.is_some() => {}
        _ => {
            let why = "the workload has a `command`, which runs on a file system of a guest: use \
                       `linux(fs=ext4, …)`";
            return Some(why.to_owned());
        }
    }
    let user = work.user.as_ref().filter(|name| User::find(name).is_none())?;
    Some(format!("the workload runs as `{user}`, and this machine has no such user"))
}

/// Checks whether all modelled drives of a target can be built in the steady state of random
/// writes.
///
/// # Errors
/// Returns the reason why a drive cannot.
fn can_be_steady(kind: &TargetKind) -> Result<(), &'static str> {
    match kind {
        TargetKind::Model(spec) => assay_sim::can_be_steady(spec),
        TargetKind::Array(setup) => setup.can_be_steady(),
        TargetKind::Linux(setup) => setup.drives.can_be_steady(),
        TargetKind::Null | TargetKind::Directory(_) | TargetKind::Real(_) => Ok(()),
    }
}

/// Returns why a workload of files has no meaningful result in a guest of so much `memory` whose
/// work takes no time, if so: reads from the page cache are nothing but work.
fn meaningless(work: &FileWork, memory: Bytes) -> Option<String> {
    let FileWork::Records(records) = work else { return None };
    let cached = !records.is_direct
        && records.length <= memory
        && records.between == CacheReset::Nothing
        && matches!(records.operation, Operation::Read | Operation::Reread | Operation::RandomRead);
    let text = "the workload reads from the page cache, which takes no time in a guest without \
                `processor=`";
    cached.then(|| text.to_owned())
}
