//! Tests of the judge: verdicts, flips, and that every bundled ledger is understood.

use super::*;
use crate::load::sample;
use assay_spec::catalog;
use assay_spec::decode::Source;

fn ledger(predicate: &str, published: &str) -> Ledger {
    let text = format!(
        r#"
format = 1
study = "s"
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
    let run = sample::run(vec![sample::cell(&[&[latency]])]);
    judge(l, Some(&run), &|_, _| false).rows.remove(0)
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
    assert_eq!(far.predicate.unwrap().holds, Some(false));
    assert_eq!(far.reason, "1 of 1 values outside the tolerance; the predicate does not hold");
}

#[test]
fn a_ledger_allows_a_factor_where_there_is_no_tolerance() {
    let text = |within: &str, tolerance: &str| {
        format!(
            "format = 1\nstudy = \"s\"\ntitle = \"T\"\ncitation = \"C\"\n{within}\n\
             [[claim]]\nid = \"X-1\"\nsource = \"here\"\nstatement = \"It reads.\"\n\
             experiment = \"e\"\nkind = \"measured\"\n\
             [[claim.value]]\nlabel = \"mean\"\nmeasure = \"{{w@t:mean}}\"\n\
             published = 90.0\nunit = \"us\"\n{tolerance}\n"
        )
    };
    let at = |within, tolerance, latency| {
        let text = text(within, tolerance);
        let l = Ledger::parse(Source { file: "x.toml", text: &text }).unwrap();
        verdict(&l, latency).verdict
    };
    // 90 us by 1.5 either way.
    assert_eq!(at("within = 1.5", "", 135_000), Verdict::Reproduced);
    assert_eq!(at("within = 1.5", "", 135_001), Verdict::Deviates);
    assert_eq!(at("within = 1.5", "", 60_000), Verdict::Reproduced);
    assert_eq!(at("within = 1.5", "", 59_999), Verdict::Deviates);
    // A value's own tolerance goes before it, and without either it is 15 %.
    assert_eq!(at("within = 1.5", "tolerance = \"10%\"", 100_000), Verdict::Deviates);
    assert_eq!(at("", "", 104_000), Verdict::Deviates);
}

#[test]
fn missing_cells_are_not_built_and_their_neighbours_still_show() {
    let l = ledger(r#"predicate = "{other@t:max} < 1s""#, "published = 100.0");
    let row = verdict(&l, 100_000);
    assert_eq!(row.verdict, Verdict::NotBuilt);
    assert!(row.reason.starts_with("1 of 2 cells measured"), "{}", row.reason);
    assert_eq!(row.values[0].verdict, Verdict::Reproduced);
    let nothing = judge(&l, None, &|_, _| false);
    assert_eq!(nothing.rows[0].verdict, Verdict::NotBuilt);
    assert_eq!(nothing.summary(), "1 not built");
    let offered = judge(&l, None, &|workload, _| workload == "other");
    assert_eq!(offered.rows[0].verdict, Verdict::NotBuilt, "w is offered nowhere");
    let offered = judge(&l, None, &|_, target| target == "t");
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
fn a_number_that_was_put_in_proves_nothing() {
    let published = |value: f64| format!("published = {value:?}\nput_in = \"the length\"");
    let row = verdict(&ledger("", &published(100.0)), 100_000);
    assert_eq!((row.verdict, row.values[0].verdict), (Verdict::Input, Verdict::Input));
    assert_eq!(row.values[0].why, "it gave the length");
    assert_eq!((row.values[0].reproduced, row.values[0].deviation), (Some(100.0), None));
    // Nor does it speak against the claim; the predicate is judged alone.
    let holds = ledger(r#"predicate = "{w@t:max} < 1s""#, &published(5.0));
    assert_eq!(verdict(&holds, 100_000).verdict, Verdict::Reproduced);
    let fails = ledger(r#"predicate = "{w@t:max} > 1s""#, &published(100.0));
    assert_eq!(verdict(&fails, 100_000).verdict, Verdict::Deviates);
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

/// None of what is counted was seen: that is a result, not something missing.
#[test]
fn a_measure_without_a_finite_value_deviates() {
    let mut l = ledger(r#"predicate = "{w@t:max} > 1us""#, "published = 3.0");
    l.claims[0].values[0].measure = Some("1 / {w@t:share>1s}".into());
    let row = verdict(&l, 100_000);
    assert_eq!((row.verdict, row.values[0].reproduced), (Verdict::Deviates, None));
    assert_eq!(row.values[0].why, "the measure has no finite value");
}

/// Every measure is a number and every predicate a truth value over well-formed references.
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

/// What a ledger calls a contradiction is one: without a run, by its own published numbers.
#[test]
fn every_bundled_contradiction_is_shown() {
    let mut shown = Vec::new();
    for bundled in catalog::LEDGERS {
        let ledger = Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
        for row in judge(&ledger, None, &|_, _| false).rows {
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

/// Numbers in prose are reckoned, and none of them is a slip of the pen.
#[test]
fn every_number_of_a_bundled_text_is_understood() {
    let mut numbers = 0;
    for claim in catalog::LEDGERS.iter().flat_map(|bundled| {
        Ledger::parse(Source { file: bundled.file, text: bundled.text }).unwrap().claims
    }) {
        for piece in inset::pieces(&claim.found) {
            let inset::Piece::Number { expression, unit } = piece else { continue };
            let all_there: Find<'_> = &|_| Ok(1.0);
            let number = measured(expression, all_there);
            assert!(number.is_ok(), "{}: {expression}: {number:?}", claim.id);
            let known = unit.is_empty() || crate::expr::unit(unit).is_some();
            assert!(known, "{}: {unit}", claim.id);
            numbers += 1;
        }
    }
    assert!(numbers >= 10, "{numbers}");
}

#[test]
fn a_contradiction_that_is_none_is_said() {
    let with = |published: &str, check: &str| {
        let text = format!(
            r#"
format = 1
study = "s"
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
        judge(&l, None, &|_, _| false).rows.remove(0)
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
