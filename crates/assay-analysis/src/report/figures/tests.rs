//! Tests of the descriptions against the studies, and of pages with and without the cells.

use super::*;
use crate::load::sample;
use assay_spec::catalog::STUDIES;
use assay_spec::trace::TraceRow;
use assay_spec::{Bytes, Nanos, Op};

#[test]
fn every_figure_names_workloads_of_its_study() {
    for document in studies::all().map(|study| study.document()) {
        let study = STUDIES.iter().find(|s| s.name == document.study).expect("a study");
        let parse = |b: &assay_spec::catalog::Bundled| {
            Experiment::parse(Source { file: b.file, text: b.text }).expect("decodes")
        };
        let experiments: Vec<Experiment> = study.experiments.iter().map(parse).collect();
        let mut run = sample::run(Vec::new());
        let record = |b: &assay_spec::catalog::Bundled| assay_spec::record::ExperimentRecord {
            name: b.name.into(),
            file: b.file.into(),
            text: b.text.into(),
        };
        run.record.experiments = study.experiments.iter().map(record).collect();
        let sweeps = sweep::all(&run);
        let exists = |experiment: &str, workload: &str| {
            let of = experiments.iter().filter(|e| [&e.name, ""].contains(&experiment));
            of.flat_map(|e| &e.workloads).any(|w| w.name == workload)
        };
        for figure in document.figures {
            assert!(experiments.iter().any(|e| e.name == figure.experiment), "{}", figure.number);
            let told = figure.told.iter().map(|s| (s.experiment, s.workload));
            for (e, w) in figure.parts.iter().flat_map(|p| p.form.cells(&sweeps)).chain(told) {
                assert!(exists(e, w), "{}: {e}/{w}", figure.number);
            }
            for part in figure.parts {
                assert!(!part.form.cells(&sweeps).is_empty(), "{}", part.title);
            }
        }
        let mut numbers: Vec<&str> = document.figures.iter().map(|f| f.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), document.figures.len(), "each is found by its number");
    }
}

#[test]
fn requests_shown_one_by_one_are_kept() {
    for part in
        studies::all().iter().flat_map(|study| study.document().figures).flat_map(|f| f.parts)
    {
        let Form::OneByOne { series, .. } = part.form else { continue };
        let all = STUDIES.iter().flat_map(|s| s.experiments);
        let file = all.into_iter().find(|b| b.name == series.experiment).expect("exists");
        let spec = Experiment::parse(Source { file: file.file, text: file.text }).expect("decodes");
        let workload = spec.workloads.iter().find(|w| w.name == series.workload);
        assert!(workload.expect("exists").first > 0, "{}", series.workload);
    }
}

#[test]
fn a_run_without_the_cells_has_no_empty_figure() {
    let mut run = sample::run(vec![sample::cell(&[&[100, 200, 300]])]);
    assert_eq!(section(&run, &[], &[]), None, "another study has none at all");
    run.record.study = "sigmetrics09".into();
    let page = crate::report::html(&run, &[]);
    let section = page.split("<section id=\"figures\"").nth(1).expect("is there");
    let section = section.split("</section>").next().expect("ends");
    assert!(!section.contains("<figure") && !section.contains("<svg"), "{section}");
    let figures = studies::of(&run).expect("it has a document").document().figures.len();
    assert_eq!(section.matches("Left out: the run has no measured cell").count(), figures);
}

#[test]
fn any_target_with_the_cells_is_drawn() {
    let names = ["seq-rd-4k", "rnd-rd-4k", "stride-rd-4k"];
    let cell = |w: &str, target: &str| {
        let mut cell = sample::cell(&[&[100, 200, 300]]);
        cell.experiment = "reads".into();
        cell.workload = w.into();
        cell.target = target.into();
        cell.id = format!("reads/{w}@{target}");
        cell
    };
    let mut cells: Vec<_> = names.iter().map(|w| cell(w, "mine")).collect();
    cells.push(cell("seq-rd-4k", "half"));
    let mut run = sample::run(cells);
    run.record.study = "sigmetrics09".into();
    let html = section(&run, &[], &[]).expect("a section");
    assert_eq!(html.matches("<figure>").count(), 1, "one panel, of the target that has all");
    assert!(
        html.contains("half is missing where reads/rnd-rd-4k is needed, which was not measured"),
        "{html}"
    );
}

/// Returns the log of three requests of a checkout, which end after these milliseconds.
fn asked(ms: [u64; 3]) -> Vec<TraceRow> {
    let row = |(i, ms): (usize, u64)| TraceRow {
        submit: Nanos(0),
        complete: Nanos::from_millis(ms),
        queue: Nanos(0),
        insert: Nanos(0),
        dispatch: Nanos(0),
        offset: Bytes(4096 * i as u64),
        length: Bytes(4096),
        op: if i == 0 { Op::Read } else { Op::Write },
        job: 0,
        error: 0,
    };
    ms.into_iter().enumerate().map(row).collect()
}

#[test]
fn what_drives_were_asked_is_drawn_from_their_logs() {
    let cell = |target: &str| {
        let mut cell = sample::cell(&[&[100, 200, 300]]);
        cell.experiment = "file-operations".into();
        cell.workload = "git-checkout".into();
        cell.target = target.into();
        cell.id = format!("file-operations/git-checkout@{target}");
        cell
    };
    let mut run = sample::run(vec![cell("raptor"), cell("ssd"), cell("unlogged")]);
    run.record.study = "oslo09".into();
    run.logs.insert("file-operations/git-checkout@raptor".into(), asked([8, 20_000, 40_000]));
    run.logs.insert("file-operations/git-checkout@ssd".into(), asked([2, 1000, 29_000]));
    let html = section(&run, &[], &[]).expect("a section");
    let figure = |number: &str| {
        let all = html.split("<h3 ");
        all.into_iter().find(|part| part.contains(&format!(">{number}: "))).expect("is there")
    };
    let taken = figure("Figure 4.9");
    for row in [
        "raptor, read: median 8.00 ms",
        "ssd, read: median 2.00 ms",
        "raptor, write: median 30.0 s",
    ] {
        assert!(taken.contains(row), "{row}: {taken}");
    }
    let asked = figure("Figure 4.10");
    assert!(
        asked.contains("2 requests, drawn at their first address"),
        "what came later is left out"
    );
    assert!(asked.contains("3 requests, drawn at their first address"), "{asked}");
    assert!(asked.contains("raptor ends at 16, ssd ends at 24"), "{asked}");
    assert!(!taken.contains("unlogged") && !asked.contains("unlogged"));
}
