//! The models of a guest's drives, and what the guest sees of them.

use super::setup::{LinuxSetup, depth, rotational, wears_out};
use crate::error::{Error, Result};
use crate::plan::switch_caches_off;
use crate::stop::{interrupted, is_interrupted};
use crate::target::block::Image;
use assay_linux::disks::{DiskSetup, Disks, TAGS_PER_PROCESS, Watch};
use assay_linux::store::Store;
use assay_sim::{Drive, Host, InitialState, MemberSetup};
use assay_spec::Bytes;
use assay_spec::experiment::HostSpec;
use std::path::{Path, PathBuf};

/// Builds the models, and the drives that the guest sees on them.
pub(super) fn drives<'w>(
    setup: &LinuxSetup,
    past: InitialState,
    is_cached: bool,
    paths: &[PathBuf],
    images: &[Image],
    watch: Watch<'w>,
) -> Result<Disks<'w>> {
    let mut all = setup.drives.clone();
    if !is_cached {
        switch_caches_off(&mut all);
    }
    let sizes: Vec<Bytes> = all.members.iter().map(|m| m.drive.capacity()).collect();
    let is_flash: Vec<bool> = rotational(setup).into_iter().map(|turns| !turns).collect();
    let settings = &setup.spec.settings;
    let elevator = settings.historical();
    let hosted = |drive: Box<dyn Drive>| -> Box<dyn Drive> {
        let Some(elevator) = elevator else { return drive };
        // An array accepts any number of requests, which then wait for its members. The host
        // limits them to what the members can work on, so that the elevator has a choice.
        let deepest = settings.queue_depth.unwrap_or_else(|| depth(&setup.drives));
        let spec = HostSpec { queue_depth: Some(deepest), ..HostSpec::default() };
        let mut host = Host::new(drive, spec, elevator);
        host.set_processes(TAGS_PER_PROCESS);
        Box::new(host)
    };
    // Drives that share a card are one model; otherwise each drive is a model.
    let shared = !all.controllers.is_empty();
    let least = sizes.iter().copied().min().unwrap_or(Bytes::ZERO);
    let models: Vec<Box<dyn Drive>> = match shared {
        true => {
            let array = all.build_unless(past, &is_interrupted).ok_or_else(interrupted)?;
            vec![hosted(Box::new(array))]
        }
        false => {
            let build = |(i, m): (usize, &MemberSetup)| {
                Some(hosted(m.drive.build_unless(past.of_member(i), &is_interrupted)?))
            };
            let models = all.members.iter().enumerate().map(build);
            models.collect::<Option<_>>().ok_or_else(interrupted)?
        }
    };
    let disk = |(index, size): (usize, &Bytes)| -> Result<DiskSetup> {
        let capacity = if shared { least } else { *size };
        let capacity = settings.partition.map_or(capacity, |part| part.min(capacity));
        let image = images.get(index).map(|image| (image, paths[index].as_path()));
        Ok(DiskSetup {
            model: if shared { 0 } else { index },
            base: if shared { least * index as u64 } else { Bytes::ZERO },
            capacity,
            discards: settings.discard && is_flash[index],
            wears_out: wears_out(&all.members[index].drive),
            store: store(image, capacity)?,
        })
    };
    let disks = sizes.iter().enumerate().map(disk).collect::<Result<Vec<DiskSetup>>>()?;
    let disks = Disks::new(models, disks, watch);
    Ok(if elevator.is_some() { disks.by_process() } else { disks })
}

/// Opens the contents of a drive: in an image at a path, or in memory.
fn store(image: Option<(&Image, &Path)>, capacity: Bytes) -> Result<Store> {
    let Some((image, path)) = image else {
        return Store::in_memory(capacity).map_err(|e| {
            let hint = "free some memory, or keep the contents of the drives in files with \
                        `--image`";
            Error::environment(
                "linux-system",
                "there is no memory for the contents of a drive",
                hint,
            )
            .caused_by(e)
        });
    };
    let file = image.file.try_clone().map_err(|e| {
        let message = "an image cannot be opened twice";
        Error::environment("linux-image", message, "close some files").caused_by(e)
    })?;
    Ok(Store::in_file(file, path, capacity)?)
}
