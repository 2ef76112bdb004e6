//! `assay devices`: lists modelled drives, controllers, processors, and the block devices of this
//! machine, each with its permitted use; shows one model with the sources of its values.

use super::options::Common;
use crate::output::plan::Plan;
use crate::output::{DONE, Failure, Outcome, data, json, one_line, shown};
use assay_engine::plan::load_model;
use assay_engine::{read, safety};
use assay_spec::Bytes;
use assay_spec::catalog::{self, CONTROLLERS, DEVICES, PROCESSORS};
use assay_spec::decode::Source;
use assay_spec::device::{
    ControllerSpec, DeviceKind, DeviceSpec, Fact, Origin, ProcessorSpec, RateSpec,
};
use assay_spec::disksim;
use assay_spec::units::human_size;
use std::path::{Path, PathBuf};

/// Options of `assay devices`.
#[derive(Debug, clap::Args)]
pub struct DevicesOptions {
    /// A modelled drive, a controller, a processor, or a device file (`mine.toml`): show every
    /// value with its source
    name: Option<String>,
    /// Print the device file of a disk that DiskSim has parameters for (`FILE.diskspecs`; the model
    /// and the seek curve that it names must be in the same directory)
    #[arg(long, value_name = "FILE.diskspecs", conflicts_with = "name")]
    import_disksim: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: DevicesOptions) -> Outcome {
    if options.common.plan {
        let specs: Vec<&PathBuf> = options.import_disksim.iter().collect();
        return Plan::reading(&specs).show(&options.common);
    }
    if let Some(specs) = &options.import_disksim {
        return import_disksim(specs);
    }
    match &options.name {
        Some(name) => show(name.strip_prefix("sim:").unwrap_or(name), &options.common),
        None => list(&options.common),
    }
}

/// Prints the device file of the disk that the `.diskspecs` file `specs` and the files beside it
/// describe.
fn import_disksim(specs: &Path) -> Outcome {
    let read = |path: &Path| {
        read::text(path, read::SPEC_MAX).map_err(|e| {
            let hint = "put the disk's three files of DiskSim (.diskspecs, .model and .seek) into \
                        one directory";
            Failure::usage(format!("cannot read {}: {e}", path.display()), e.hint(hint))
        })
    };
    let unnamed = |what: &str| {
        let text = format!("{} names no {what}", specs.display());
        Failure::usage(text, "check that it is a .diskspecs file with a `disksim_disk` block")
    };
    let text = read(specs)?;
    let (model, _) = disksim::references(&text, None);
    let model = read(&specs.with_file_name(model.ok_or_else(|| unnamed("model"))?))?;
    let (_, seek) = disksim::references(&text, Some(&model));
    let seek = read(&specs.with_file_name(seek.ok_or_else(|| unnamed("seek curve"))?))?;
    let stem = specs.file_stem().map(|s| s.to_string_lossy().to_lowercase().replace('_', "-"));
    let name = stem.unwrap_or_else(|| "disk".to_owned());
    let device = disksim::import(&model, &text, &seek, &name);
    let hint = "check that the file is complete and has the format of the parameter files that \
                DiskSim comes with";
    let device = device.map_err(|e| Failure::usage(e.to_string(), hint))?;
    data(device.trim_end());
    Ok(DONE)
}

fn list(common: &Common) -> Outcome {
    let mut specs = Vec::new();
    for bundled in DEVICES {
        specs.push(DeviceSpec::parse(Source { file: bundled.file, text: bundled.text })?);
    }
    let mut controllers = Vec::new();
    for bundled in CONTROLLERS {
        controllers.push(ControllerSpec::parse(Source { file: bundled.file, text: bundled.text })?);
    }
    let mut processors = Vec::new();
    for bundled in PROCESSORS {
        processors.push(ProcessorSpec::parse(Source { file: bundled.file, text: bundled.text })?);
    }
    let real = safety::survey();
    if common.json {
        json(&serde_json::json!({
            "models": specs.iter().map(|s| serde_json::json!({
                "name": s.name, "aliases": s.aliases, "title": s.title, "bytes": s.capacity,
            })).collect::<Vec<_>>(),
            "controllers": controllers.iter().map(|c| serde_json::json!({
                "name": c.name, "title": c.title,
            })).collect::<Vec<_>>(),
            "processors": processors.iter().map(|p| serde_json::json!({
                "name": p.name, "title": p.title,
            })).collect::<Vec<_>>(),
            "block_devices": real.iter().map(|d| serde_json::json!({
                "name": d.name, "path": shown(&d.path), "bytes": d.size, "model": d.model,
                "serial": d.serial, "rotational": d.rotational, "may": d.may.to_string(),
            })).collect::<Vec<_>>(),
        }));
        return Ok(DONE);
    }
    let width = specs.iter().map(|s| s.name.len() + "sim:".len()).max().unwrap_or(0);
    let mut lines = vec!["Modelled drives (virtual time)".to_owned()];
    for spec in &specs {
        let aliases = match spec.aliases.as_slice() {
            [] => String::new(),
            names => format!(" (also {})", names.join(", ")),
        };
        let name = format!("sim:{}", spec.name);
        lines.push(format!("  {name:<width$}  {}{aliases}", spec.title));
    }
    lines.push("\nControllers, for arrays: `raid5(sim:ssd-m*4, controller=perc-6i)`".to_owned());
    lines.extend(controllers.iter().map(|c| format!("  {:<width$}  {}", c.name, c.title)));
    let example = "`linux(fs=ext4, sim:wd-raptor, processor=core-2-2660)`";
    lines.push(format!("\nProcessors, for guests: {example}"));
    lines.extend(processors.iter().map(|p| format!("  {:<width$}  {}", p.name, p.title)));
    lines.push("\nBlock devices of this machine".to_owned());
    for d in &real {
        let path = d.path.display().to_string();
        let size = human_size(d.size);
        let model = d.model.as_deref().unwrap_or("");
        let may = d.may.to_string();
        lines.push(format!("  {path:<width$}  {size:>10}  {model:<20} {}", one_line(&may)));
    }
    if real.is_empty() {
        lines.push("  none".to_owned());
    }
    lines.push("\nA file works too: `assay run quick --on ./scratch.img --size 1GiB`".to_owned());
    data(&lines.join("\n"));
    Ok(DONE)
}

fn show(name: &str, common: &Common) -> Outcome {
    if let Some(bundled) = catalog::find(CONTROLLERS, name) {
        let spec = ControllerSpec::parse(Source { file: bundled.file, text: bundled.text })?;
        let what =
            "shared by drives: `controller=` lets the card make the array, `@` connects members to \
             it"
                .to_owned();
        show_facts((&spec.name, &[], &spec.title), what, &spec.facts, common);
        return Ok(DONE);
    }
    if let Some(bundled) = catalog::find(PROCESSORS, name) {
        let spec = ProcessorSpec::parse(Source { file: bundled.file, text: bundled.text })?;
        let what =
            "the processor of a guest, `processor=`: what its kernel's work costs".to_owned();
        show_facts((&spec.name, &[], &spec.title), what, &spec.facts, common);
        return Ok(DONE);
    }
    let (spec, _) = load_model(name)?;
    let made_of = match &spec.kind {
        DeviceKind::Ssd(ssd) => {
            let spare = ssd.nand.raw().0 as f64 / spec.capacity.0 as f64 - 1.0;
            let share = format!("{:.1} %", spare * 100.0);
            format!(
                "{} of flash on {} planes for {}: {share} spare",
                ssd.nand.raw(),
                ssd.nand.planes(),
                human_size(spec.capacity)
            )
        }
        DeviceKind::Hdd(hdd) => {
            format!("{} cylinders, {} heads, {} zones", hdd.cylinders(), hdd.heads, hdd.zones.len())
        }
        DeviceKind::Volume(volume) => {
            let rate = |r: &RateSpec, show: fn(u64) -> String| match r.burst > r.baseline {
                true => format!("{}/s, {}/s at most", show(r.baseline), show(r.burst)),
                false => format!("{}/s", show(r.baseline)),
            };
            let operations = rate(&volume.operations, |n| format!("{n} operations"));
            let bytes = rate(&volume.throughput, |n| human_size(Bytes(n)));
            format!("{operations}; {bytes}")
        }
    };
    show_facts((&spec.name, &spec.aliases, &spec.title), made_of, &spec.facts, common);
    Ok(DONE)
}

/// Prints the name, the aliases, the title and every value of a device with the value's origin. A
/// table also has the line `what`, which describes the device.
fn show_facts(
    (name, aliases, title): (&str, &[String], &str),
    what: String,
    facts: &[Fact],
    common: &Common,
) {
    let origin = |o: &Origin| match o {
        Origin::Source(text) => ("source", text.clone()),
        Origin::Derived(how) => ("derived", how.clone()),
        Origin::Assumed(why) => ("assumed", why.clone()),
    };
    if common.json {
        let facts = facts.iter().map(|f| {
            let (kind, text) = origin(&f.origin);
            serde_json::json!({ "path": f.path, "value": f.value, "origin": kind, "text": text })
        });
        json(&serde_json::json!({
            "name": name, "aliases": aliases, "title": title,
            "facts": facts.collect::<Vec<_>>(),
        }));
        return;
    }
    let title = format!("{name}: {}", one_line(title));
    let mut lines = vec![title, what, String::new()];
    for fact in facts {
        let (kind, text) = origin(&fact.origin);
        let value = fact.value.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.push(format!("  {:<22} {value:<14} {kind}: {}", fact.path, one_line(&text)));
    }
    data(&lines.join("\n"));
}
