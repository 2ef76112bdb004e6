//! Interference and background operations: streams together compared with each alone, and streams
//! without pauses compared with those with pauses.

use super::ask::{Answer, Ask, no, yes};
use super::rule::{Change, NamedDifference, largest, that_are, unclear};
use crate::metric;
use assay_spec::Op;
use assay_spec::record::CellRecord;

/// The mixtures of reads and writes in turn, and whether they go in strides. The third does, and is
/// compared with strides alone, since the pattern is another question.
const TURNS: [(&str, bool); 4] =
    [("rw-n-n", false), ("wr-n-n", false), ("rw-n-n1", true), ("rw-n-4mb", false)];

/// The largest ratio between the numbers of requests of two cells that are compared: beyond it, one
/// of them has filled what the other has not.
const AS_MANY: f64 = 2.0;

/// Returns the cell with one kind of request alone.
fn alone<'a>(ask: &mut Ask<'a>, op: Op, stride: bool) -> Result<&'a CellRecord, String> {
    match (op, stride) {
        (Op::Read, true) => ask.cell("reads", "stride-rd-4k"),
        (_, true) => ask.cell("writes", "stride-wr-4k"),
        (Op::Read, false) => ask.cell("interference", "only-read"),
        _ => ask.cell("interference", "only-write"),
    }
}

/// Compares both kinds of request of every mixture with that kind alone. `suffix` chooses the
/// mixtures with pauses.
fn turns(ask: &mut Ask<'_>, suffix: &str) -> Result<Vec<NamedDifference>, String> {
    let mut all = Vec::new();
    for (turn, stride) in TURNS {
        let mixed = ask.cell("interference", &format!("{turn}{suffix}"))?;
        for op in [Op::Read, Op::Write] {
            match alone(ask, op, stride) {
                Ok(base) => {
                    let what = format!("{}s of {turn}{suffix}", op.name());
                    all.push(ask.compare_named(
                        (&what, "alone"),
                        (mixed, Some(op)),
                        (base, None),
                    )?);
                }
                // The strides alone belong to other experiments, which this run may not have.
                Err(why) if stride => ask.evidence.push(format!("left out: {turn}, {why}")),
                Err(why) => return Err(why),
            }
        }
    }
    Ok(all)
}

pub(super) fn interference(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let all = turns(ask, "")?;
    let slower = that_are(&all, Change::Slower);
    let Some(worst) = largest(&slower) else {
        unclear(&all)?;
        let most = largest(&all.iter().collect::<Vec<_>>()).map(|n| n.told());
        return no(format!(
            "no mixture makes reads or writes slower; at most {}",
            most.unwrap_or_default()
        ));
    };
    let of = |op: &str| {
        let hit: Vec<&NamedDifference> =
            slower.iter().copied().filter(|n| n.what.starts_with(op)).collect();
        match largest(&hit) {
            Some(n) => format!("{op} suffer, most {}", n.told()),
            None => format!("{op} do not suffer"),
        }
    };
    let paused = match turns(ask, "-gap") {
        Ok(gap) => pauses(&gap, worst),
        Err(why) => format!("the effect of pauses is not determined ({why})"),
    };
    yes(format!("{}; {}; {paused}", of("reads"), of("writes")))
}

/// Returns in words what pauses do to the worst case.
fn pauses(gap: &[NamedDifference], worst: &NamedDifference) -> String {
    let same = |n: &&NamedDifference| n.what == format!("{}-gap", worst.what);
    match gap.iter().find(same) {
        Some(n) => {
            format!("with pauses of 10 ms the worst case is {}", n.by.times())
        }
        None => "the worst case was not measured with pauses".into(),
    }
}

/// Compares one kind of request of a cell without pauses with that of a cell with pauses. `None` if
/// the numbers of requests differ too much.
fn hurried(
    ask: &mut Ask<'_>,
    op: Op,
    hurried: (&str, &str),
    paused: (&str, &str),
) -> Result<Option<NamedDifference>, String> {
    let (x, y) = (ask.cell(hurried.0, hurried.1)?, ask.cell(paused.0, paused.1)?);
    let [n, m] = [x, y].map(|cell| metric::histogram(cell, Some(op)).count() as f64);
    if n.max(m) > AS_MANY * n.min(m) {
        ask.evidence.push(format!("left out: {} has {n} requests and {} {m}", x.id, y.id));
        return Ok(None);
    }
    let what = format!("{}s of {}", op.name(), hurried.1);
    ask.compare_named((&what, "with pauses of 10 ms"), (x, Some(op)), (y, Some(op))).map(Some)
}

pub(super) fn background(ask: &mut Ask<'_>) -> Result<Answer, String> {
    let (mix, gap) = (("background", "mix-50"), ("background", "mix-50-gap"));
    let mut all = Vec::new();
    for op in [Op::Read, Op::Write] {
        all.extend(hurried(ask, op, mix, gap)?);
    }
    for pattern in ["seq-wr-4k", "rnd-wr-4k"] {
        let gap = format!("{pattern}-gap");
        match hurried(ask, Op::Write, ("writes", pattern), ("background", &gap)) {
            Ok(named) => all.extend(named),
            // The cell without pauses belongs to another experiment, which this run may not have.
            Err(why) => ask.evidence.push(format!("left out: {why}")),
        }
    }
    if all.is_empty() {
        return Err("the numbers of completed requests with and without pauses differ too \
                    much"
            .into());
    }
    let slower = that_are(&all, Change::Slower);
    if let Some(worst) = largest(&slower) {
        let others = slower.len() - 1;
        let more = if others > 0 { format!(", and {others} more") } else { String::new() };
        return yes(format!("without pauses, {}{more}", worst.told()));
    }
    unclear(&all)?;
    let told: Vec<String> = all.iter().map(NamedDifference::told).collect();
    no(format!("pauses do not make requests faster: {}", told.join("; ")))
}
