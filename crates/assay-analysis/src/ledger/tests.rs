//! Tests of the judge: verdicts, their changes, and that every bundled ledger is understood.

use super::phrases::measure_unit;
use super::*;
use crate::expr::{Expr, Value};
use crate::load::sample;
use assay_spec::calibration::Calibration;
use assay_spec::catalog;
use assay_spec::decode::Source;
use assay_spec::from_claim::FromClaim;

fn ledger(predicate: &str, published: &str) -> Ledger {
    let text = format!(
        r#"
format = 1
study = "s"
measured = "raw device"
title = "T"
citation = "C"
[[claim]]
id = "X-1"
source = "here"
statement = "It reads."
experiment = "e"
kind = "measured"
{predicate}
[[claim.value]]
label = "mean"
measure = "{{w@t:mean}}"
{published}
unit = "us"
tolerance = "10%"
"#
    );
    Ledger::parse(Source { file: "x.toml", text: &text }).unwrap()
}

fn verdict(l: &Ledger, latency: u64) -> ClaimVerdict {
    repeated(l, &[latency; 3])
}

/// Returns the verdict on a cell whose repeats have one latency each.
fn repeated(l: &Ledger, latencies: &[u64]) -> ClaimVerdict {
    let repeats: Vec<[u64; 1]> = latencies.iter().map(|l| [*l]).collect();
    let repeats: Vec<&[u64]> = repeats.iter().map(|r| r.as_slice()).collect();
    let run = sample::run(vec![sample::cell(&repeats)]);
    judge(l, Some(&run), Knowledge::NOTHING).rows.remove(0)
}

#[test]
fn changing_a_cell_flips_the_verdict() {
    let l = ledger(r#"predicate = "{w@t:max} < 150us""#, "published = 100.0");
    let at = |latency| verdict(&l, latency).verdict;
    assert_eq!(at(100_000), Verdict::Reproduced);
    assert_eq!(at(110_000), Verdict::Reproduced);
    assert_eq!(at(110_001), Verdict::Deviates);
    assert_eq!(at(89_999), Verdict::Deviates);
    let far = verdict(&l, 200_000);
    assert_eq!(far.values[0].deviation, Some(1.0));
    assert_eq!(far.predicate.unwrap().verdict, Verdict::Deviates);
    assert_eq!(far.reason, "1 of 1 values outside the tolerance; the predicate does not hold");
}

#[test]
fn a_ledger_says_how_far_off_its_numbers_may_be() {
    let text = |measured: &str, tolerance: &str| {
        format!(
            "format = 1\nstudy = \"s\"\ntitle = \"T\"\ncitation = \"C\"\n\
             measured = \"{measured}\"\n\
             [[claim]]\nid = \"X-1\"\nsource = \"here\"\nstatement = \"It reads.\"\n\
             experiment = \"e\"\nkind = \"measured\"\n\
             [[claim.value]]\nlabel = \"mean\"\nmeasure = \"{{w@t:mean}}\"\n\
             published = 100.0\nunit = \"us\"\n{tolerance}\n"
        )
    };
    let at = |measured, tolerance, latency| {
        let text = text(measured, tolerance);
        let l = Ledger::parse(Source { file: "x.toml", text: &text }).unwrap();
        verdict(&l, latency).verdict
    };
    assert_eq!(at("raw device", "", 115_000), Verdict::Reproduced);
    assert_eq!(at("raw device", "", 115_001), Verdict::Deviates);
    assert_eq!(at("through Linux", "", 75_000), Verdict::Reproduced);
    assert_eq!(at("through Linux", "", 74_999), Verdict::Deviates);
    // A value may have a narrower tolerance, and a wider one only if the text implies it.
    assert_eq!(at("through Linux", "tolerance = \"10%\"", 111_000), Verdict::Deviates);
    let implied = "tolerance = \"50%\"\nimplied = \"50 to 150 us\"";
    assert_eq!(at("raw device", implied, 149_000), Verdict::Reproduced);
    let wide = text("raw device", "tolerance = \"16%\"");
    let e = Ledger::parse(Source { file: "x.toml", text: &wide }).unwrap_err().to_string();
    assert!(
        e.contains("larger than the tolerance of the ledger") && e.contains("at most 15 %"),
        "{e}"
    );
}

#[test]
fn a_verdict_holds_at_both_ends_of_the_interval() {
    let l = ledger("", "published = 100.0");
    let at = |latencies: [u64; 3]| repeated(&l, &latencies);
    let near = at([104_000, 105_000, 106_000]);
    assert_eq!(near.verdict, Verdict::Reproduced, "105 ± 2.5 of 100 ± 10");
    let wide = at([102_000, 105_000, 108_000]);
    assert_eq!(wide.verdict, Verdict::Undecided, "105 ± 7.5 reaches beyond 110");
    assert_eq!(wide.reason, "1 of 1 values too close to the end of the tolerance");
    let (low, high) = wide.values[0].interval.unwrap();
    assert!((high - 112.452).abs() < 0.01 && (low - 97.548).abs() < 0.01, "{low} to {high}");
    assert_eq!(at([118_000, 120_000, 122_000]).verdict, Verdict::Deviates);
    // A certain failure outweighs a doubt.
    let with = ledger(r#"predicate = "{w@t:max} < 50us""#, "published = 100.0");
    assert_eq!(repeated(&with, &[102_000, 105_000, 108_000]).verdict, Verdict::Deviates);
}

#[test]
fn a_predicate_by_a_hair_is_undecided() {
    let l = ledger(r#"predicate = "{w@t:max} < 100us""#, "held_back = true");
    let at = |latencies: &[u64]| repeated(&l, latencies);
    assert_eq!(at(&[99_000; 3]).verdict, Verdict::Reproduced);
    let close = at(&[99_999; 3]);
    assert_eq!(close.verdict, Verdict::Undecided);
    assert_eq!(close.reason, "the predicate is too close to tell");
    let why = close.predicate.unwrap().complaint().unwrap();
    assert_eq!(why, "too close: {w@t:max} < 100us (is 99999 against 100000)");
    assert_eq!(at(&[100_000; 3]).verdict, Verdict::Deviates, "exactly as much is not less");
    assert_eq!(at(&[90_000, 99_000, 99_000]).verdict, Verdict::Undecided, "96 ± 13");
}

#[test]
fn fewer_than_three_repeats_decide_nothing() {
    let l = ledger(r#"predicate = "{w@t:max} < 150us""#, "published = 100.0");
    for latencies in [&[100_000][..], &[100_000, 100_000]] {
        let row = repeated(&l, latencies);
        assert_eq!(row.verdict, Verdict::Undecided);
        assert!(row.reason.contains("a verdict needs 3: `--repeats 3`"), "{}", row.reason);
        assert_eq!(row.values[0].reproduced, Some(100.0), "what was measured is shown");
    }
}

#[test]
fn missing_cells_are_not_built_and_their_neighbours_still_show() {
    let l = ledger(r#"predicate = "{other@t:max} < 1s""#, "published = 100.0");
    let row = verdict(&l, 100_000);
    assert_eq!(row.verdict, Verdict::NotBuilt);
    assert!(row.reason.starts_with("1 of 2 cells measured"), "{}", row.reason);
    assert_eq!(row.values[0].verdict, Verdict::Reproduced);
    let with = |offered| Knowledge { offered, ..Knowledge::NOTHING };
    let nothing = judge(&l, None, Knowledge::NOTHING);
    assert_eq!(nothing.rows[0].verdict, Verdict::NotBuilt);
    assert_eq!(nothing.summary(), "1 not built");
    let offered = judge(&l, None, with(&|workload, _| workload == "other"));
    assert_eq!(offered.rows[0].verdict, Verdict::NotBuilt, "w is offered nowhere");
    let offered = judge(&l, None, with(&|_, target| target == "t"));
    assert_eq!(offered.rows[0].verdict, Verdict::NotRun);
}

#[test]
fn without_published_values_it_is_predicted() {
    let l = ledger("", "held_back = true");
    let row = verdict(&l, 100_000);
    assert_eq!(row.verdict, Verdict::Predicted);
    assert_eq!(row.values[0].reproduced, Some(100.0));
    let l = ledger(r#"predicate = "{w@t:max} < 1s""#, "held_back = true");
    assert_eq!(verdict(&l, 100_000).verdict, Verdict::Reproduced);
}

#[test]
fn what_the_set_up_was_made_from_proves_nothing() {
    let calibration = |label: Option<&str>| Calibration {
        from: FromClaim { claim: "X-1".into(), label: label.map(Into::into) },
        place: "`nand.read` in devices/d.toml".into(),
    };
    let run = sample::run(vec![sample::cell(&[&[100_000], &[100_000], &[100_000]])]);
    let judged = |l: &Ledger, calibrations: &[Calibration]| {
        judge(l, Some(&run), Knowledge { calibrations, ..Knowledge::NOTHING })
    };
    // The number that was put in is shown, but counts neither for the claim nor against it.
    let one = [calibration(Some("mean"))];
    let l = ledger("", "published = 100.0");
    let row = judged(&l, &one).rows.remove(0);
    assert_eq!((row.verdict, row.values[0].verdict), (Verdict::Input, Verdict::Input));
    assert_eq!(row.values[0].why, "it gave `nand.read` in devices/d.toml");
    assert_eq!((row.values[0].reproduced, row.values[0].deviation), (Some(100.0), None));
    let holds = ledger(r#"predicate = "{w@t:max} < 1s""#, "published = 5.0");
    assert_eq!(judged(&holds, &one).rows[0].verdict, Verdict::Reproduced);
    let fails = ledger(r#"predicate = "{w@t:max} > 1s""#, "published = 100.0");
    assert_eq!(judged(&fails, &one).rows[0].verdict, Verdict::Deviates);
    // A claim that was in sight is judged, and counted separately.
    let all = [calibration(None), calibration(Some("mean"))];
    let l = ledger(r#"predicate = "{w@t:max} < 1s""#, "published = 99.0");
    let independent = judged(&l, &[]);
    let summary = "independent: 1 reproduced, median |deviation| 1.0 % of 1 values";
    assert_eq!(independent.summary(), summary);
    let calibrated = judged(&l, &all[..1]);
    assert!(!calibrated.rows[0].is_independent());
    assert_eq!(calibrated.summary(), "calibrated: 1 reproduced");
    assert_eq!(calibrated.rows[0].values[0].verdict, Verdict::Reproduced);
    let sentence = calibrated.rows[0].calibration().unwrap();
    assert!(sentence.ends_with("were chosen `nand.read` in devices/d.toml"), "{sentence}");
    assert_eq!(judged(&l, &all).rows[0].calibrates.len(), 1, "each place once");
}

#[test]
fn why_it_deviates_is_told_of_what_does() {
    let found = |limit: &str| {
        let lines = format!("found = \"the drive is slow\"\npredicate = \"{{w@t:max}} < {limit}\"");
        let row = verdict(&ledger(&lines, "published = 100.0"), 100_000);
        (row.verdict, row.found)
    };
    assert_eq!(found("1us"), (Verdict::Deviates, "the drive is slow".to_owned()));
    assert_eq!(found("1s"), (Verdict::Reproduced, String::new()));
}

#[test]
fn a_predicate_that_does_not_parse_is_said_and_never_passes() {
    let l = ledger(r#"predicate = "{w@t:max} <""#, "published = 100.0");
    let row = verdict(&l, 100_000);
    assert_eq!(row.verdict, Verdict::NotBuilt);
    assert!(row.reason.contains("does not parse"), "{}", row.reason);
}

/// No request was as slow as the measure asks: that is a result, not a missing measurement.
#[test]
fn a_measure_without_a_finite_value_deviates() {
    let mut l = ledger(r#"predicate = "{w@t:max} > 1us""#, "published = 3.0");
    l.claims[0].values[0].measure = Some("1us / {w@t:share>1s}".into());
    let row = verdict(&l, 100_000);
    assert_eq!((row.verdict, row.values[0].reproduced), (Verdict::Deviates, None));
    assert_eq!(row.values[0].why, "the measure has no finite value");
}

/// Every measure is a number and every predicate a truth value, over well-formed references.
#[test]
fn every_bundled_ledger_is_understood() {
    let mut wrong = Vec::new();
    for bundled in catalog::LEDGERS {
        let source = Source { file: bundled.file, text: bundled.text };
        let ledger = match Ledger::parse(source) {
            Ok(ledger) => ledger,
            Err(e) => {
                wrong.push(e.to_string());
                continue;
            }
        };
        for claim in &ledger.claims {
            let mut check = |text: &str, truth: bool| match Expr::parse(text) {
                Err(e) => wrong.push(format!("{} {}: {e}: {text}", ledger.study, claim.id)),
                Ok(expr) => match expr.evaluate(&|_| Ok(1.0)) {
                    Ok(Value::Truth(_)) if truth => {}
                    Ok(Value::Number(_)) if !truth => {}
                    other => wrong.push(format!("{} {}: {other:?}", ledger.study, claim.id)),
                },
            };
            claim.values.iter().filter_map(|v| v.measure.as_deref()).for_each(|m| check(m, false));
            claim.predicate.iter().for_each(|p| check(p, true));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every contradiction in a ledger is one by its own published numbers, without a run.
#[test]
fn every_bundled_contradiction_is_shown() {
    let mut shown = Vec::new();
    for bundled in catalog::LEDGERS {
        let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
        for row in judge(&ledger, None, Knowledge::NOTHING).rows {
            let named = row.id.starts_with("I-");
            if row.places.is_empty() {
                assert!(!named && row.verdict != Verdict::Contradicted, "{}", row.id);
                continue;
            }
            assert_eq!(row.verdict, Verdict::Contradicted, "{}: {}", row.id, row.reason);
            assert!(row.places.len() > 1 && !row.reason.is_empty());
            if let Some(check) = &row.check {
                assert!(check.why.contains(" = "), "{}: {}", row.id, check.why);
                shown.push((ledger.study.clone(), row.id.clone()));
            }
        }
    }
    assert!(shown.len() >= 16, "{shown:?}");
}

/// Numbers in prose are computed. Each has the dimension of its unit, as do the measures of values.
#[test]
fn every_number_of_a_bundled_text_has_its_unit() {
    let (mut numbers, mut wrong) = (0, Vec::new());
    for claim in catalog::LEDGERS.iter().flat_map(|bundled| {
        Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap().claims
    }) {
        let pieces = inset::pieces(&claim.found).into_iter();
        let in_prose = pieces.filter_map(|piece| match piece {
            inset::Piece::Number { expression, unit } => Some((expression, unit)),
            inset::Piece::Text(_) => None,
        });
        let measured = claim.values.iter().filter_map(|v| Some((v.measure.as_deref()?, &*v.unit)));
        for (expression, unit) in in_prose.chain(measured) {
            numbers += 1;
            let complaint = Expr::parse_measure(expression, measure_unit(unit)).err();
            wrong.extend(complaint.map(|e| format!("{}: {e}", claim.id)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(numbers >= 400, "{numbers}");
}

#[test]
fn a_contradiction_that_is_none_is_said() {
    let with = |published: &str, check: &str| {
        let text = format!(
            r#"
format = 1
study = "s"
measured = "raw device"
title = "T"
citation = "C"
[[claim]]
id = "I-1"
source = "here and there"
statement = "They agree."
kind = "contradiction"
reason = "They do not."
places = ["here: 2 ms", "there"]
check = "{check}"
[[claim.number]]
name = "here"
published = 2.0
unit = "ms"
[[claim.number]]
name = "there"
published = {published}
unit = "us"
"#
        );
        let l = Ledger::parse(Source { file: "x.toml", text: &text }).unwrap();
        judge(&l, None, Knowledge::NOTHING).rows.remove(0)
    };
    let row = with("2001.0", "here >= there");
    assert_eq!((row.verdict, row.reason.as_str()), (Verdict::Contradicted, "They do not."));
    let why = row.check.expect("was reckoned").why;
    assert!(why.starts_with("here >= there (is 2000000 against 2001000); here = "), "{why}");
    assert_eq!(with("2000.0", "here >= there").verdict, Verdict::Deviates);
    assert_eq!(with("2000.0", "here >= nowhere").verdict, Verdict::NotBuilt);
    assert_eq!(with("2000.0", "here >=").verdict, Verdict::NotBuilt);
}

#[test]
fn a_contradiction_needs_two_places_and_numbers_that_are_there() {
    let of = |rest: &str| {
        let text = format!(
            r#"
format = 1
study = "s"
measured = "raw device"
title = "T"
citation = "C"
[[claim]]
id = "I-1"
source = "here"
statement = "They agree."
kind = "contradiction"
reason = "They do not."
{rest}
"#
        );
        Ledger::parse(Source { file: "x.toml", text: &text }).map(|_| ()).unwrap_err().to_string()
    };
    assert!(of("places = [\"here\"]").contains("needs two places"));
    let two = "places = [\"a\", \"b\"]\n[[claim.number]]\nname = \"x\"\n";
    let message = of(&format!("{two}claim = \"X-9\"\nlabel = \"mean\""));
    assert!(message.contains("X-9 has no published number `mean`"), "{message}");
    assert!(of(two).contains("`published`"), "a number of its own");
}
