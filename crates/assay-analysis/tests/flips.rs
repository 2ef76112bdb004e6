//! No predicate of a ledger is true whatever is measured, nor false, nor is any of its parts.
//!
//! For each predicate, values of its metrics are searched at which it holds; then one metric at a
//! time is scaled until it turns. Values that no cell can have together are not tried: shares lie
//! between 0 and 1, and what is said of one cell's latencies must fit one distribution.

use assay_analysis::expr::{Expr, Reference, Value};
use assay_spec::Nanos;
use assay_spec::catalog::LEDGERS;
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use std::collections::BTreeMap;

type Values = BTreeMap<Reference, f64>;

/// What a metric can be.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Share,
    /// From, to: on a log scale.
    Positive(f64, f64),
}

/// Numbers from a fixed seed (Knuth's MMIX).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[(self.next() * of.len() as f64) as usize]
    }
}

/// The metric without the kind of request in front, and that.
fn bare(metric: &str) -> (&str, &str) {
    let kinds = ["read.", "write."];
    let kind = kinds.into_iter().find(|k| metric.starts_with(k)).unwrap_or("");
    (kind, &metric[kind.len()..])
}

fn kind(r: &Reference) -> Kind {
    match bare(&r.metric).1 {
        m if m.starts_with("share") => Kind::Share,
        "bandwidth" => Kind::Positive(1e4, 1e9),
        "iops" | "requests" | "period" => Kind::Positive(1.0, 1e5),
        _ if assay_analysis::metric::NAMES.iter().any(|(n, ..)| *n == bare(&r.metric).1) => {
            Kind::Positive(1e4, 1e9)
        }
        m if m.starts_with(['p', 'f', 'r']) => Kind::Positive(1e4, 1e9),
        // What a target tells of itself can be anything.
        _ => Kind::Positive(1e-2, 1e9),
    }
}

/// A predicate and its parts.
struct Predicate {
    whole: Expr,
    parts: Vec<Expr>,
    references: Vec<Reference>,
    /// The times in its text.
    times: Vec<f64>,
}

impl Predicate {
    fn new(text: &str) -> Predicate {
        let whole = Expr::parse(text).unwrap();
        let parts = whole.conjuncts().iter().map(|c| Expr::parse(c.text).unwrap()).collect();
        let references = whole.references().into_iter().cloned().collect();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
        let words = words.flat_map(|w| w.split(".."));
        let times = words.filter_map(|w| Some(w.parse::<Nanos>().ok()?.0 as f64)).collect();
        Predicate { whole, parts, references, times }
    }

    fn score(&self, values: &Values) -> usize {
        self.parts.iter().filter(|p| holds(p, values)).count()
    }

    /// Values at which it holds.
    fn satisfied(&self, dice: &mut Dice) -> Option<Values> {
        let mut values: Values = BTreeMap::new();
        while values.is_empty() || !coherent(&values) {
            values = self.references.iter().map(|r| (r.clone(), drawn(r, dice))).collect();
            if dice.next() < 0.2 {
                // Distributions on a point are always coherent.
                values.iter_mut().for_each(|(r, v)| *v = plain(r));
            }
        }
        let mut score = self.score(&values);
        for _ in 0..100_000 {
            if score == self.parts.len() {
                return Some(values);
            }
            let failing: Vec<&Expr> = self.parts.iter().filter(|p| !holds(p, &values)).collect();
            let changed = self.step(
                &named(failing[(dice.next() * failing.len() as f64) as usize]),
                &values,
                dice,
            );
            let now = self.score(&changed);
            // A step back now and then leads out of a dead end.
            if (now >= score || dice.next() < 0.02) && coherent(&changed) {
                (score, values) = (now, changed);
            }
        }
        None
    }

    /// The values with one changed, mostly one of the part that fails, or all of that part alike.
    fn step(&self, own: &[Reference], values: &Values, dice: &mut Dice) -> Values {
        let mut changed = values.clone();
        let like = dice.one(own).clone();
        if dice.next() < 0.2 {
            let value = values[&like];
            let alike = own.iter().filter(|r| kind(r) == kind(&like));
            changed.extend(alike.map(|r| (r.clone(), value)));
            return changed;
        }
        // Another metric of a cell may be in the way of the one that fails.
        let one = if dice.next() < 0.7 { like } else { dice.one(&self.references).clone() };
        let value = proposed(&one, values, &self.times, dice);
        changed.insert(one, value);
        changed
    }
}

fn named(e: &Expr) -> Vec<Reference> {
    e.references().into_iter().cloned().collect()
}

fn holds(e: &Expr, values: &Values) -> bool {
    e.evaluate(&|r: &Reference| Ok(values[r])) == Ok(Value::Truth(true))
}

fn drawn(r: &Reference, dice: &mut Dice) -> f64 {
    match kind(r) {
        Kind::Share => *dice.one(&[0.0, 0.0005, 0.01, 0.05, 0.3, 0.6, 0.85, 0.92, 0.97, 1.0]),
        Kind::Positive(low, high) => low * (high / low).powf(dice.next()),
    }
}

fn plain(r: &Reference) -> f64 {
    match kind(r) {
        Kind::Share => 0.0,
        Kind::Positive(low, high) => (low * high).sqrt(),
    }
}

/// Something new, or near to what others have.
fn proposed(r: &Reference, values: &Values, times: &[f64], dice: &mut Dice) -> f64 {
    if kind(r) == Kind::Share || dice.next() < 0.4 {
        return drawn(r, dice);
    }
    let alike = values.iter().filter(|(o, _)| kind(o) == kind(r)).map(|(_, v)| *v);
    let others: Vec<f64> = alike.chain(times.iter().copied()).collect();
    dice.one(&others) * dice.one(&[0.1, 0.5, 0.8, 0.95, 0.995, 1.0, 1.005, 1.05, 1.25, 2.0, 10.0])
}

/// True if some distribution of latencies has all of these of each cell.
fn coherent(values: &Values) -> bool {
    type Metrics<'a> = Vec<(&'a str, f64)>;
    let mut cells: BTreeMap<(&str, &str, &str), Metrics<'_>> = BTreeMap::new();
    for (r, v) in values {
        let (op, metric) = bare(&r.metric);
        cells.entry((&r.workload, &r.target, op)).or_default().push((metric, *v));
    }
    cells.values().all(|all| one_distribution(all))
}

fn one_distribution(all: &[(&str, f64)]) -> bool {
    let time = |text: &str| text.parse::<Nanos>().map(|t| t.0 as f64).unwrap_or(f64::NAN);
    // Points of the distribution function, (latency, share below).
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (metric, v) in all {
        if let Some(limit) = metric.strip_prefix("share<") {
            points.push((time(limit), *v));
        } else if let Some(limit) = metric.strip_prefix("share>") {
            points.push((time(limit), 1.0 - v));
        } else if let Some(q) = metric.strip_prefix('p').and_then(|q| q.parse::<f64>().ok()) {
            points.push((*v, q / 100.0));
        } else if *metric == "min" {
            points.push((*v, 0.0));
        } else if *metric == "max" {
            points.push((*v, 1.0));
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let rising = points.windows(2).all(|pair| pair[0].1 <= pair[1].1);
    let below = |t: f64| points.iter().rev().find(|p| p.0 <= t).map_or(0.0, |p| p.1);
    let above = |t: f64| points.iter().find(|p| p.0 > t).map_or(1.0, |p| p.1);
    let get = |name: &str| all.iter().find(|(m, _)| *m == name).map(|(_, v)| *v);
    let mean = get("mean");
    let within = |(metric, v): &(&str, f64)| match metric.strip_prefix("share=") {
        Some(range) => {
            let (low, high) = range.split_once("..").unwrap();
            *v <= above(time(high)) - below(time(low)) + 1e-9
        }
        None => true,
    };
    // So many requests are so slow at least.
    let heavy = points.iter().all(|(t, q)| mean.is_none_or(|m| m >= t * (1.0 - q)));
    let ends = get("max").zip(mean).is_none_or(|(most, m)| m <= most);
    rising && heavy && ends && all.iter().all(within)
}

/// The values with one scaled, as long as a cell can have them.
fn scaled<'a>(values: &'a Values, r: &'a Reference) -> impl Iterator<Item = Values> + 'a {
    const FACTORS: [f64; 14] =
        [0.97, 1.03, 0.9, 1.1, 0.7, 1.4, 0.5, 2.0, 0.1, 10.0, 0.01, 100.0, 1e-4, 1e4];
    let of = |v: f64| match kind(r) {
        Kind::Share => vec![0.0, v / 2.0, v - 0.05, v + 0.002, v + 0.05, (v + 1.0) / 2.0, 1.0],
        Kind::Positive(..) => FACTORS.iter().map(|f| v * f).collect(),
    };
    let fits = |v: &f64| kind(r) != Kind::Share || (0.0..=1.0).contains(v);
    let with = move |v: f64| {
        let mut changed = values.clone();
        changed.insert(r.clone(), v);
        changed
    };
    of(values[r]).into_iter().filter(move |v| fits(v)).map(with).filter(coherent)
}

/// Why a predicate, or a part of it, cannot turn.
fn complaints(text: &str) -> Vec<String> {
    let predicate = Predicate::new(text);
    let mut dice = Dice(9);
    let mut parts: Vec<&Expr> = predicate.parts.iter().collect();
    let mut references: Vec<&Reference> = predicate.references.iter().collect();
    for _ in 0..60 {
        let Some(values) = predicate.satisfied(&mut dice) else {
            return vec!["never holds".into()];
        };
        let turned = |values: &Values| !holds(&predicate.whole, values);
        references.retain(|r| !scaled(&values, r).any(|v| turned(&v)));
        let of =
            |part: &Expr| named(part).iter().any(|r| scaled(&values, r).any(|v| !holds(part, &v)));
        parts.retain(|part| !of(part));
        if parts.is_empty() && references.is_empty() {
            break;
        }
    }
    let part = |p: &&Expr| format!("always holds: {}", p.text());
    let reference = |r: &&Reference| format!("decides nothing: {r}");
    parts.iter().map(part).chain(references.iter().map(reference)).collect()
}

#[test]
fn every_predicate_can_hold_and_fail_by_each_of_its_parts() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for bundled in LEDGERS {
        let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
        for claim in ledger.claims {
            let Some(predicate) = claim.predicate else { continue };
            seen += 1;
            wrong.extend(complaints(&predicate).into_iter().map(|c| format!("{}: {c}", claim.id)));
        }
    }
    assert!(seen > 60, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_cannot_turn_is_found() {
    let said = |text: &str| complaints(text).join("; ");
    assert_eq!(said("{w@t:p50} < 1ms"), "");
    assert_eq!(said("{w@t:share<1ms} > 100%"), "never holds");
    assert_eq!(said("{w@t:p99} < {w@t:p50}"), "never holds");
    assert_eq!(said("{w@t:mean} > 0"), "always holds: {w@t:mean} > 0; decides nothing: w@t:mean");
    let idle = "{w@t:p50} < 1ms and {w@t:p50} + 0 * {u@t:p50} < 2ms";
    assert_eq!(said(idle), "decides nothing: u@t:p50");
}
