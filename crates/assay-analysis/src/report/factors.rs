//! Factors on the page: the findings, a bar for each level, the pairs, the best combinations.

use super::axis::{self, Scale};
use super::charts::figure;
use super::finding_list::items;
use super::html::{escape, slug};
use super::svg::{self, Axis, Bar, ChartText};
use super::tables::table;
use crate::factors::{Crossed, all};
use crate::finding::Finding;
use crate::finding::factors::{by_share, left_out, matters, percent};
use crate::load::Run;
use crate::stats::effects::Effects;
use crate::text::plus_minus;
use assay_spec::units::three_digits;

/// The numbers of rows of the ranking, from its top and from its end.
const BEST: usize = 20;
const LAST: usize = 5;

/// Returns every workload over factors, or `None` if there is none.
pub(super) fn section(run: &Run, findings: &[Finding]) -> Option<String> {
    let parts: Vec<String> = all(run).iter().map(|c| one(c, findings)).collect();
    (!parts.is_empty()).then(|| parts.concat())
}

fn one(crossed: &Crossed<'_>, findings: &[Finding]) -> String {
    let of = |f: &&Finding| f.id.ends_with(&format!("/{}", crossed.id()));
    let mut out = format!("<h3>{}</h3>", escape(&crossed.id()));
    out += &items(findings.iter().filter(of));
    let paragraphs = left_out(crossed);
    let paragraph = |line: &String| format!("<p class=\"dim\">{}.</p>", escape(line));
    out += &paragraphs.iter().map(paragraph).collect::<String>();
    if let Some(effects) = crossed.effects() {
        out += &mains(crossed, &effects);
        if crossed.is_full {
            out += &pairs(crossed, &effects);
        }
    }
    out + &ranking(crossed)
}

/// Returns the factors, those with the largest share first if the shares are known.
fn order(crossed: &Crossed<'_>, effects: &Effects) -> Vec<usize> {
    match crossed.is_full {
        true => by_share(effects).into_iter().map(|(factor, _)| factor).collect(),
        false => (0..crossed.factors.factors.len()).collect(),
    }
}

fn mains(crossed: &Crossed<'_>, effects: &Effects) -> String {
    let (mut bars, levels) = (Vec::new(), crossed.levels(effects));
    for (style, factor) in order(crossed, effects).into_iter().enumerate() {
        let named = &crossed.factors.factors[factor];
        for (level, (cells, mean)) in named.levels.iter().zip(&levels[factor]) {
            let Some(mean) = mean else { continue };
            let cells = if crossed.is_full { format!(", {cells} cells") } else { String::new() };
            bars.push(Bar {
                style,
                name: format!("{} {}", named.name, level.name),
                value: mean.value,
                interval: mean.interval,
                text: format!("{} {}{cells}", plus_minus(mean), crossed.measure.heading),
                pale: false,
                published: None,
            });
        }
    }
    if bars.is_empty() {
        return String::new();
    }
    let list: Vec<String> = bars.iter().map(|b| format!("{} {}", b.name, b.text)).collect();
    let words = ChartText {
        id: format!("factors-{}", slug(&crossed.id())),
        title: "Mean of each level".into(),
        description: list.join(", "),
    };
    let highest = bars.iter().map(|b| b.interval.map_or(b.value, |(_, high)| high));
    let scale = Scale::from_zero(highest.fold(0.0, f64::max));
    let x = Axis { scale, label: axis::number, name: &crossed.measure.heading };
    let caption = match crossed.is_full {
        true => {
            "Mean of each level over all levels of the others (least squares on the cells that \
             exist), with the 95 % interval"
        }
        false => "Each level by itself, all other factors as in the base",
    };
    figure(caption, &svg::bars(&words, x, &bars), "")
}

fn pairs(crossed: &Crossed<'_>, effects: &Effects) -> String {
    let factors = &crossed.factors.factors;
    let alone = by_share(effects).into_iter().map(|(factor, share)| {
        vec![escape(&factors[factor].name), escape(&percent(share)), String::new()]
    });
    let chance = |p: Option<f64>| match p {
        None => "–".to_owned(),
        Some(p) if p < 0.001 => "&lt; 0.001".to_owned(),
        Some(p) => three_digits(p),
    };
    let together = effects.pairs.iter().map(|p| {
        let name = format!("{} with {}", factors[p.of.0].name, factors[p.of.1].name);
        vec![escape(&name), escape(&percent(p.share)), chance(p.probability)]
    });
    let (what, share) = match effects.pairs.is_empty() {
        true => ("two and more (too few cells to tell)", effects.beyond_additive),
        false => ("three and more", effects.beyond_pairs),
    };
    let left = vec![what.to_owned(), escape(&percent(share)), String::new()];
    let rows: Vec<Vec<String>> = alone.chain(together).chain([left]).collect();
    let heading = ["factor or pair", "share of the variance (eta²)", "by chance (F test)"];
    let mut out = table("What explains the differences", &heading, &rows);
    let Some(strongest) = effects.pairs.first().filter(|p| matters(p)) else { return out };
    let (a, b) = (&factors[strongest.of.0], &factors[strongest.of.1]);
    let corner = format!("{} \\ {}", a.name, b.name);
    let mut heading = vec![corner.as_str()];
    heading.extend(b.levels.iter().map(|l| l.name.as_str()));
    let rates = crossed.table(strongest.of);
    let row = |(level, rates): (&assay_spec::experiment::FactorLevel, &Vec<Option<f64>>)| {
        let rates = rates.iter().map(|r| r.map_or_else(|| "–".into(), three_digits));
        [escape(&level.name)].into_iter().chain(rates).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = a.levels.iter().zip(&rates).map(row).collect();
    let of = &crossed.measure.heading;
    let caption = format!("The strongest pair, {} with {}: mean {of}", a.name, b.name);
    out += &table(&caption, &heading, &rows);
    out
}

fn ranking(crossed: &Crossed<'_>) -> String {
    let mut heading = vec!["place"];
    heading.extend(crossed.factors.factors.iter().map(|f| f.name.as_str()));
    heading.push(&crossed.measure.heading);
    let count = crossed.measured.len();
    let row = |place: usize| {
        let m = &crossed.measured[place];
        let levels = crossed.factors.factors.iter().zip(&m.levels);
        let mut row = vec![(place + 1).to_string()];
        row.extend(levels.map(|(f, l)| escape(&f.levels[*l].name)));
        row.push(escape(&plus_minus(&m.value)));
        row
    };
    let last = (count.saturating_sub(LAST)).max(BEST)..count;
    let rows: Vec<Vec<String>> = (0..count.min(BEST)).chain(last).map(row).collect();
    table("The best combinations, and the last", &heading, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample;
    use assay_spec::experiment::Better;
    use assay_spec::record::{CellPlan, ExperimentRecord, TargetRecord};

    const TEXT: &str = "format = 1\nname = \"e\"\nquestion = \"?\"\n[factors]\n\
        target = \"raid0(sim:{drive}*{drives}, chunk={chunk})\"\n\
        base = { drive = \"ssd-m\", drives = 2, chunk = \"64KiB\" }\n[factors.levels]\n\
        drive = [\"ssd-m\", \"ssd-l\"]\ndrives = [2, 3]\nchunk = [\"64KiB\", \"16KiB\"]\n\
        [[workload]]\nname = \"w\"\nread_share = 1.0\nsize = \"4KiB\"\npattern = \"random\"\n\
        measure = { requests = 10 }\n";

    /// Returns a run of all combinations. Those with a number were measured: with so many requests,
    /// or by a program that printed it.
    fn run(numbers: &[Option<u64>; 8], is_program: bool) -> Run {
        let mut run = sample::run(Vec::new());
        let record = |text: &str| ExperimentRecord {
            name: "e".into(),
            file: "e.toml".into(),
            text: text.into(),
        };
        run.record.experiments.push(record(TEXT));
        let parsed = assay_spec::experiment::Experiment::parse(assay_spec::decode::Source {
            file: "e.toml",
            text: TEXT,
        });
        let factors = parsed.unwrap().factors.unwrap();
        for (point, number) in factors.all().into_iter().zip(numbers) {
            let name = factors.name(&point.levels);
            let id = format!("e/w@{name}");
            run.record.targets.push(TargetRecord {
                written: point.target.unwrap(),
                name: name.clone(),
                title: String::new(),
                kind: "array".into(),
                capacity: assay_spec::Bytes(1),
                identity: Vec::new(),
                spec: None,
                virtual_time: true,
                created: false,
            });
            let (experiment, workload) = ("e".to_owned(), "w".to_owned());
            let target = name.clone();
            run.record.plan.push(CellPlan { id: id.clone(), experiment, workload, target });
            if let Some(number) = number {
                let latencies = vec![100; *number as usize];
                let cell = match is_program {
                    true => sample::cell_of_program("", "wait", Better::Lower, &[*number as f64]),
                    false => sample::cell(&[&latencies]),
                };
                run.cells.push(assay_spec::record::CellRecord { id, target: name, ..cell });
            }
        }
        run
    }

    fn shown(requests: &[Option<u64>; 8]) -> String {
        let run = run(requests, false);
        section(&run, &crate::finding::findings(&run)).expect("it has factors")
    }

    #[test]
    fn a_program_is_compared_by_what_it_prints() {
        let run = run(&[10, 20, 30, 60, 10, 20, 30, 90].map(Some), true);
        let page = section(&run, &crate::finding::findings(&run)).expect("it has factors");
        let best = "of 8 combinations, ssd-m/2/64KiB has the best `wait`: wait (1/s) 10.0, 0.111 \
                    times that of the worst, ssd-l/3/16KiB";
        assert!(page.contains(best), "{page}");
        assert!(page.contains("wait (1/s)") && !page.contains("MB/s"), "{page}");
    }

    #[test]
    fn pairs_are_told_apart_if_there_are_cells_enough() {
        // More drives add bandwidth only with the first kind of drive: drive interacts with drives.
        let all = [400, 400, 800, 801, 100, 101, 120, 120].map(Some);
        let page = shown(&all);
        assert!(page.contains("The strongest pair, drive with drives: mean MB/s"), "{page}");
        assert!(
            page.contains("Pairs of factors with a large joint effect: drive with drives ("),
            "{page}"
        );
        assert!(page.contains("three and more") && !page.contains("are impossible"));
        let few = [Some(400), Some(400), None, Some(801), Some(100), None, None, None];
        let page = shown(&few);
        assert!(
            page.contains("There are too few cells to estimate the effects of pairs of factors"),
            "{page}"
        );
        assert!(page.contains("two and more (too few cells to tell)"), "{page}");
        assert!(page.contains("4 have no result (4: not yet measured)"), "{page}");
    }
}
