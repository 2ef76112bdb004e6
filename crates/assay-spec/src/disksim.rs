//! The importer of DiskSim's parameter files of a disk, which makes a device file of assay.
//!
//! DiskSim (Bucy, Schindler, Schlosser, Ganger, CMU-PDL-08-101) describes a disk in three files:
//! `.model` (geometry and mechanics), `.diskspecs` (controller and cache) and `.seek` (the measured
//! seek curve). [`import`] reads their texts and writes the TOML of a device spec in which every
//! value names the file that it comes from. A comment in the TOML lists the parameters that our
//! model does not have. *Invariant:* any text gives a spec or an error with a line; nothing panics.

mod emit;
mod error;
mod model;
mod specs;
mod syntax;
mod take;

pub use error::ImportError;

use crate::units::Nanos;

/// Returns the text of the device file `name`, made from the texts of the three files.
pub fn import(model: &str, specs: &str, seek: &str, name: &str) -> Result<String, ImportError> {
    let mechanics = model::read(model)?;
    let controller = specs::read(specs)?;
    let curve = read_seek(seek)?;
    Ok(emit::emit(name, &mechanics, &controller, &curve))
}

/// Returns the file names (model, seek) that DiskSim's files refer to. The `.diskspecs` file names
/// the model. The model names the seek curve, so that name is known only if `model` is given.
pub fn references(specs: &str, model: Option<&str>) -> (Option<String>, Option<String>) {
    let of = |text: &str, file, kind: &str, key: &str| {
        let blocks = syntax::parse(file, text).ok()?;
        let block = blocks.into_iter().find(|b| b.kind == kind)?;
        find(&block, key)
    };
    let seek = model.and_then(|text| of(text, "model", "dm_disk", "Full seek curve"));
    let model = of(specs, "specs", "disksim_disk", "Model");
    (model.map(|m| m.trim_start_matches("source ").to_owned()), seek)
}

fn find(block: &syntax::Block, key: &str) -> Option<String> {
    block.values.iter().find_map(|(name, value)| match &value.what {
        syntax::What::Text(text) if name == key => Some(text.clone()),
        syntax::What::Block(inner) => find(inner, key),
        _ => None,
    })
}

/// Reads lines `distance, milliseconds[, …]`, after an optional first line that counts them.
fn read_seek(text: &str) -> Result<Vec<(u32, Nanos)>, ImportError> {
    let mut points: Vec<(u32, Nanos)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let error = |message: String| ImportError { file: "seek", line: index + 1, message };
        if line.trim().is_empty() || (index == 0 && line.starts_with("Seek distances measured")) {
            continue;
        }
        let mut fields = line.split(',').map(str::trim);
        let distance = fields.next().and_then(|d| d.parse::<u32>().ok()).filter(|d| *d > 0);
        let time = fields.next().and_then(take::milliseconds).filter(|t| t.0 > 0);
        let (Some(distance), Some(time)) = (distance, time) else {
            return Err(error(format!("`{line}` is not `distance, milliseconds`")));
        };
        if points.last().is_some_and(|(last, _)| *last >= distance) {
            return Err(error(format!("the distance {distance} is not above the one before")));
        }
        points.push((distance, time));
    }
    match points.len() {
        0 | 1 => {
            let message = "fewer than two points".to_owned();
            Err(ImportError { file: "seek", line: text.lines().count().max(1), message })
        }
        _ => Ok(points),
    }
}

#[cfg(test)]
mod tests;
