//! Scaling of a rate with the number of drives: what each drive adds, where the growth ends, and
//! what ends it.
//!
//! Cells belong together if their targets differ in nothing but the number of equal drives. The
//! declared rates of cards and machine are compared with what passed through them. A resource that
//! reports being busy nearly all the time is the bottleneck; one that does not is no bottleneck,
//! whatever its rate.

mod alike;
mod bound;
#[cfg(test)]
mod tests;

use super::statement::{Finding, bandwidth_line, command, requests};
use crate::load::Run;
use crate::stats::knee::{FLOOR, Knee, Shape, fit};
use alike::Group;
use assay_spec::record::{CellRecord, RepeatRecord};
use assay_spec::units::three_digits;
use bound::Resource;

/// The beginning of the ids of findings about scaling.
pub(crate) const SCALING: &str = "scaling/";

/// Returns one finding for each group of cells with three or more numbers of drives.
pub(super) fn all(run: &Run) -> Vec<Finding> {
    alike::groups(run).iter().filter_map(|group| one(run, group)).collect()
}

fn one(run: &Run, group: &Group<'_>) -> Option<Finding> {
    let points: Vec<(f64, f64)> = group
        .cells
        .iter()
        .flat_map(|(count, cell)| {
            cell.repeats.iter().filter_map(|r| Some((*count as f64, bandwidth(r)?)))
        })
        .collect();
    let knee = fit(&points)?;
    let (most, largest) = group.cells.iter().max_by_key(|(count, _)| *count)?;
    let resources = bound::resources(run, largest);
    let cells: Vec<&CellRecord> = group.cells.iter().map(|(_, cell)| *cell).collect();
    let mut evidence: Vec<String> = cells.iter().map(|c| bandwidth_line(c)).collect();
    evidence.push(in_numbers(&knee));
    evidence.extend(resources.iter().map(|r| r.line(*most)));
    let said = format!("{}: {}", group.title, statement(&knee, &resources, *most));
    Some(Finding {
        id: format!("{SCALING}{}", largest.id),
        statement: said,
        evidence,
        threshold: format!(
            "95 % intervals of the profile likelihood, each point is known to {} % at best; a \
             resource is the limit if it is busy at least {} % of the time with the most drives",
            100.0 * FLOOR,
            100.0 * bound::HOLDS
        ),
        samples: requests(&cells),
        confidence: (knee.shape != Shape::Undetermined).then_some(0.95),
        reproduce: command(run),
    })
}

/// Fits other values of the same cells, e.g. published ones, where there are three or more. Returns
/// the id of each finding and the numbers of the fit.
pub(crate) fn of_others(
    run: &Run,
    rate: &dyn Fn(&CellRecord) -> Option<f64>,
) -> Vec<(String, String)> {
    let one = |group: Group<'_>| {
        let (_, largest) = group.cells.iter().max_by_key(|(count, _)| *count)?;
        let points = group.cells.iter().filter_map(|(count, c)| Some((*count as f64, rate(c)?)));
        let knee = fit(&points.collect::<Vec<_>>())?;
        Some((format!("{SCALING}{}", largest.id), in_numbers(&knee)))
    };
    alike::groups(run).into_iter().filter_map(one).collect()
}

fn in_numbers(knee: &Knee) -> String {
    format!(
        "least squares of min(n x b, cap): b {}, cap {}, knee at {} drives; the points lie within \
         {} % of it",
        range(knee.each, 1e-6, " MB/s"),
        range(knee.cap, 1e-6, " MB/s"),
        range(knee.knee, 1.0, ""),
        three_digits(100.0 * knee.residual)
    )
}

/// Returns the bandwidth of a repeat in bytes a second.
fn bandwidth(repeat: &RepeatRecord) -> Option<f64> {
    let bytes: u64 = repeat.ops.iter().map(|o| o.bytes.0).sum();
    let seconds = repeat.elapsed.0 as f64 * 1e-9;
    (bytes > 0 && seconds > 0.0).then(|| bytes as f64 / seconds)
}

/// Formats a number of the fit with its interval.
fn range((low, value, high): (f64, f64, f64), factor: f64, unit: &str) -> String {
    let ends = match high.is_finite() {
        true => format!("{} to {}", three_digits(low * factor), three_digits(high * factor)),
        false => format!("{} or more", three_digits(low * factor)),
    };
    match high.is_finite() {
        true => format!("{}{unit} ({ends})", three_digits(value * factor)),
        false => format!("{ends}{unit}"),
    }
}

fn statement(knee: &Knee, resources: &[Resource], most: usize) -> String {
    let each = range(knee.each, 1e-6, " MB/s");
    match knee.shape {
        Shape::Linear { cap_above } => format!(
            "each drive adds {each} up to {most} drives, and no knee is seen: a cap, if there is \
             one, is above {} MB/s. The drives themselves are the limit: more drives would raise \
             the bandwidth",
            three_digits(cap_above * 1e-6)
        ),
        Shape::Undetermined => {
            "the knee is not determined: the cells fit a line, a constant, and everything in \
             between. Measure more numbers of drives, or more repeats"
                .into()
        }
        Shape::Flat => format!(
            "more drives add nothing: the bandwidth is {} MB/s with any number of drives. {}",
            three_digits(knee.cap.1 * 1e-6),
            bound::held(resources, knee, most)
        ),
        Shape::Knee => format!(
            "each drive adds {each} up to the knee at {} drives; beyond, {} is the cap. {}",
            range(knee.knee, 1.0, ""),
            range(knee.cap, 1e-6, " MB/s"),
            bound::held(resources, knee, most)
        ),
    }
}
