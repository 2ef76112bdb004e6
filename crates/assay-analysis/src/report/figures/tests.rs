//! The descriptions against the studies, and a page without the cells.

use super::*;
use crate::load::sample;
use assay_spec::catalog::STUDIES;

#[test]
fn every_figure_names_workloads_of_its_study() {
    for document in DOCUMENTS {
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
    for part in DOCUMENTS.iter().flat_map(|d| d.figures).flat_map(|f| f.parts) {
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
    let figures = sigmetrics09::DOCUMENT.figures.len();
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
        html.contains("half is left out of what needs reads/rnd-rd-4k: not measured"),
        "{html}"
    );
}
