//! Opens Linux targets: finds the kernel and the drives that `linux(…)` names, or those of a saved
//! run.

use super::array::Files;
use super::target::{PlanError, PlannedTarget, TargetKind, cell_name};
use crate::error::Error;
use crate::linux::setup::LinuxSetup;
use assay_linux::kernel::{self, Kernel};
use assay_linux::kernel_build;
use assay_sim::ArraySetup;
use assay_spec::array::{ArraySpec, CHUNK, Level, MemberSpec, parse_linux};
use assay_spec::device::ProcessorSpec;
use assay_spec::linux::{BlockDevice, LinuxSpec, Settings};
use assay_spec::record::TargetRecord;

/// Finds the kernel in the cache. The program in a guest needs one of the current recipe.
///
/// # Errors
/// If there is none.
pub(super) fn kernel() -> Result<Kernel, Error> {
    let kernel = kernel::find()?;
    if kernel_build::is_current(&kernel.identity) {
        return Ok(kernel);
    }
    let message = format!("the kernel ({}) is not of the current recipe", kernel.identity);
    let hint = "build the current one: `assay linux build`";
    Err(Error::environment("linux-not-built", message, hint))
}

/// Opens the Linux target written as `linux(…)`. For a resumed run, `saved` contains the texts that
/// it keeps. `kernel` returns the kernel, or the reason why its cells have none.
pub(super) fn open(
    written: &str,
    saved: Option<&str>,
    kernel: impl FnOnce() -> Result<Result<Kernel, String>, Error>,
) -> Result<PlannedTarget, PlanError> {
    let spec = parse_linux(written).map_err(PlanError::Spec)?;
    let mut files = Files::new(saved);
    let drives = files.setup(&side_by_side(spec.drives()))?;
    check_elevator(&spec.settings, &drives)?;
    let processor = processor(&mut files, &spec.settings)?;
    let kernel = kernel()?;
    let capacity = match &spec.device {
        BlockDevice::Drive(_) => drives.capacity(),
        BlockDevice::Array(array) => {
            let level = array.level;
            ArraySetup { level, chunk: array.chunk, ..drives.clone() }.capacity()
        }
        // The parity takes the space of one drive. What the pool keeps for itself is not known.
        BlockDevice::RaidZ(members) => {
            drives.capacity() / members.len() as u64 * (members.len() as u64 - 1)
        }
    };
    Ok(PlannedTarget {
        record: TargetRecord {
            written: written.into(),
            name: name_in_cells(&spec),
            title: title(&spec),
            kind: "linux".into(),
            capacity,
            identity: kernel.iter().map(|k| ("kernel".to_owned(), k.identity.clone())).collect(),
            spec: Some(files.texts()),
            virtual_time: true,
            created: false,
        },
        kind: TargetKind::Linux(Box::new(LinuxSetup { spec, drives, processor, kernel })),
        may_write: true,
    })
}

/// Returns the name that cells give to this target.
pub(super) fn name_in_cells(spec: &LinuxSpec) -> String {
    spec.settings.name.clone().unwrap_or_else(|| cell_name(&spec.name()))
}

/// Finds kernel and drives for a command in a guest. The drives are written as in `linux(…)`; a
/// bare name such as `wd-raptor` stands for `sim:wd-raptor`.
///
/// # Errors
/// If there is no such drive or no kernel.
pub fn open_drives(written: &[String], settings: Settings) -> Result<LinuxSetup, PlanError> {
    let kernel = Ok(kernel()?);
    let mut members = Vec::new();
    for text in written {
        let bare = !text.contains([':', '(']);
        let text = if bare { format!("sim:{text}") } else { text.clone() };
        let spec = parse_linux(&format!("linux(raw, {text})")).map_err(PlanError::Spec)?;
        members.extend_from_slice(spec.drives());
    }
    let mut files = Files::new(None);
    let drives = files.setup(&side_by_side(&members))?;
    let processor = processor(&mut files, &settings)?;
    check_elevator(&settings, &drives)?;
    // The setup of the device is left to the command, so one drive stands for all.
    let device = BlockDevice::Drive(members.swap_remove(0));
    Ok(LinuxSetup { spec: LinuxSpec { device, settings }, drives, processor, kernel })
}

/// Finds the processor that a target names, if it names one.
fn processor(files: &mut Files, settings: &Settings) -> Result<Option<ProcessorSpec>, PlanError> {
    settings.processor.as_ref().map(|name| files.processor(name)).transpose()
}

/// Refuses a historical elevator before drives that share a card: they are one model, and such an
/// elevator stands before a single drive.
fn check_elevator(settings: &Settings, drives: &ArraySetup) -> Result<(), Error> {
    let Some(kind) = settings.historical() else { return Ok(()) };
    if drives.members.len() == 1 || drives.controllers.is_empty() {
        return Ok(());
    }
    let message =
        format!("`scheduler={}` cannot serve several drives that share a card", kind.name());
    let hint =
        "choose a scheduler of the guest's kernel, use a single drive, or leave out the card";
    Err(Error::usage("linux-elevator", message, hint))
}

/// Returns the drives as a JBOD, in which the kernel sees each by itself, on its card.
fn side_by_side(members: &[MemberSpec]) -> ArraySpec {
    ArraySpec {
        level: Level::Jbod,
        members: members.to_vec(),
        chunk: CHUNK,
        has_chunk: false,
        failed: 0,
        fail_at: None,
        rebuild: None,
        controller: None,
    }
}

/// Returns the title of the target, in one line.
fn title(spec: &LinuxSpec) -> String {
    let what = spec.settings.filesystem.unwrap_or("the device itself");
    let on = match &spec.device {
        BlockDevice::Drive(_) => String::new(),
        BlockDevice::Array(array) => {
            let level = array.level.name().to_uppercase().replace("RAID", "RAID-");
            format!(", md {level} of {}", array.members.len())
        }
        BlockDevice::RaidZ(members) => format!(", RAID-Z of {}", members.len()),
    };
    format!("Linux, {what}{on}")
}
