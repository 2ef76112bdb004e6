//! Builds the modelled drive of a declaration.

use crate::drive::Drive;
use crate::ftl::page::scaled_drive::Shape;
use crate::hdd::Hdd;
use crate::initial_state::InitialState;
use crate::ssd::build::build as build_ssd;
use crate::volume::Volume;
use assay_spec::device::{DeviceKind, DeviceSpec, FtlSpec};

/// Checks whether a drive can be built in the steady state of random writes.
///
/// # Errors
/// Returns the reason in words. Only a page map can have one: it is modelled on a smaller drive,
/// which is not possible if there are too few blocks, or too few or too many spare pages.
pub fn can_be_steady(spec: &DeviceSpec) -> Result<(), &'static str> {
    let DeviceKind::Ssd(ssd) = &spec.kind else { return Ok(()) };
    let map = match &ssd.ftl {
        FtlSpec::Page(map) => map,
        // A hybrid map needs only the end of the history; in-place writes leave no traces.
        FtlSpec::Hybrid(_) | FtlSpec::InPlace => return Ok(()),
    };
    let logical = (spec.capacity.0 / ssd.nand.page.0) as u32;
    Shape::of(&ssd.nand, map, logical).map(|_| ())
}

/// Builds the drive of `spec`.
///
/// # Panics
/// If `past` is steady and [`can_be_steady`] returns an error.
pub fn build(spec: &DeviceSpec, past: InitialState) -> Box<dyn Drive + Send> {
    if let (InitialState::Steady(_), Err(why)) = (past, can_be_steady(spec)) {
        panic!("{} cannot be built steady: {why}", spec.name);
    }
    match &spec.kind {
        DeviceKind::Ssd(ssd) => build_ssd(ssd, spec.link, spec.capacity, past),
        DeviceKind::Hdd(hdd) => Box::new(Hdd::new(hdd, spec.link, spec.capacity)),
        DeviceKind::Volume(volume) => Box::new(Volume::new(volume, spec.link, spec.capacity)),
    }
}
