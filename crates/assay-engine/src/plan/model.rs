//! Opens modelled drives, and the target that answers at once.

use super::target::{PlanError, PlannedTarget, TargetKind};
use crate::error::{Error, Result};
use crate::read;
use assay_spec::Bytes;
use assay_spec::catalog::{self, DEVICES};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::diagnostic::closest;
use assay_spec::record::TargetRecord;
use std::path::Path;

/// Returns the bundled drive called `name`, or the drive in the file `name` if that ends in
/// `.toml`; and the text of its file.
pub fn load_model(name: &str) -> std::result::Result<(DeviceSpec, String), PlanError> {
    if !name.ends_with(".toml") {
        let spec = find_model(name)?;
        let bundled = catalog::find(DEVICES, &spec.name).expect("found by its name");
        return Ok((spec, bundled.text.to_owned()));
    }
    let text = read::text(Path::new(name), read::SPEC_MAX).map_err(|e| {
        let hint = "check the path (a relative path starts at the current directory); `assay \
                    devices` lists the models";
        let message = format!("the device file {name} cannot be read");
        Error::usage("no-such-file", message, e.hint(hint)).caused_by(e.error)
    })?;
    let spec = DeviceSpec::parse(Source { file: name, text: &text }).map_err(PlanError::Spec)?;
    Ok((spec, text))
}

/// Returns the bundled drive with this name or alias.
pub(super) fn find_model(name: &str) -> Result<DeviceSpec> {
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

pub(super) fn model_target(written: &str, spec: DeviceSpec, text: String) -> PlannedTarget {
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

pub(super) fn null_target() -> PlannedTarget {
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
