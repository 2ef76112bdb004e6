//! Tests of the expression language.

use super::*;
use crate::metric::MetricError;

fn value(text: &str) -> Value {
    let look_up = |r: &Reference| match r.metric.as_str() {
        "bandwidth" => Ok(2e6),
        "p50" | "read.p50" => Ok(200e3),
        "share<300us" => Ok(0.95),
        "client-min" => Ok(7.0),
        other => Err(MetricError::NoSuchMetric(other.into())),
    };
    let parsed = Expr::parse(text).or_else(|_| Expr::parse_expectation(text));
    parsed.unwrap().evaluate(&look_up).unwrap()
}

/// Only the experiment knows the units of printed numbers.
#[test]
fn a_printed_number_has_no_unit() {
    for text in ["run_time < 10", "commit_time < 10", "client_latency > 3"] {
        Expr::parse_expectation(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
    }
    assert!(Expr::parse_expectation("drive_time < 10").is_err(), "a time needs a unit");
}

#[test]
fn numbers_units_and_binding() {
    let cases = [
        ("1 + 2 * 3", 7.0),
        ("-(1 - 4) / 2", 1.5),
        ("10 - 3 - 2", 5.0),
        ("12 / 3 / 2", 2.0),
        ("1.5ms", 1.5e6),
        ("250us + 1ns", 250_001.0),
        ("4KiB / 1kB", 4.096),
        ("240MiB/s / 1MB/s", 251.658_24),
        ("4MB/sqrt(4)", 2e6),
        ("1TiB / 1GiB + 1TB/s / 1GB/s + 2TiB/s / 1TiB/s", 2026.0),
        ("90%", 0.9),
        ("31x", 31.0),
        ("5IOPS * 1e3", 5000.0),
        // Rates are per second, while times are in ns.
        ("5IOPS * 2s", 10.0),
        ("{w@t:bandwidth} * 3s / 1MB", 6.0),
        ("{w@t:bandwidth} * {w@t:p50}", 400.0),
        ("6MB / {w@t:bandwidth}", 3e9),
        ("6MB / 3s / {w@t:bandwidth}", 1.0),
        ("1 / 20us", 50_000.0),
        ("1 / 50IOPS / 1ms", 20.0),
        ("sqrt(3ms * 12ms)", 6e6),
        ("1MB * 3MB/s * 2s / 1MB", 6e6),
        ("max(0, 2s) * 5IOPS", 10.0),
        ("(0 + 2s) * cap(2, 5IOPS, 1, 5IOPS, 3, 5IOPS)", 10.0),
        ("spread(2, 8, 4)", 4.0),
        ("median(9, 1, 3, 5)", 4.0),
        ("deviation(2ms, 4ms, 4ms, 4ms, 6ms) / 1ms", 2.0_f64.sqrt()),
        ("min(3, 1, 2) + max(3, 1, 2) + abs(-4) + log10(100)", 10.0),
        ("100 / ({w@t:bandwidth} / 1MB/s)", 50.0),
        ("1_000", 1000.0),
        ("knee(1, 57, 2, 114, 3, 171)", f64::INFINITY),
        ("cap(2, 5, 1, 5, 3, 5)", 5.0),
    ];
    for (text, expected) in cases {
        let Value::Number(got) = value(text) else { panic!("{text}") };
        let near = (got - expected).abs() < 1e-9 * expected.abs();
        assert!(near || got == expected, "{text} = {got}");
    }
}

#[test]
fn truths_and_bare_metrics() {
    let yes = [
        "1 < 2 and 2 <= 2 and not 3 < 2",
        "1 > 2 or 2 >= 2 and 1 == 1",
        "{a-b.c/d*5@linux(fs=ext4, x):share<300us} > 90%",
        "p50 < 250us",
        "share<300us > 90%",
        "read.p50*2 == 400us",
        "client-min == 7",
        "p50-1us < p50",
        "1 != 2",
        "abs(cap(1, 100MB/s, 2, 200MB/s, 4, 200MB/s) / 200MB/s - 1) < 0.1%",
        "abs(knee(2, 200, 1, 100, 5, 250, 4, 250) - 2.5) < 0.01",
    ];
    for text in yes {
        assert_eq!(value(text), Value::Truth(true), "{text}");
    }
    assert_eq!(value("not (1 < 2) or 1 > 2"), Value::Truth(false));
}

#[test]
fn errors_say_where() {
    let at = |text: &str| Expr::parse(text).unwrap_err().position;
    assert_eq!(at("1 +"), 3);
    assert_eq!(at("1 + {a@b"), 4);
    assert_eq!(at("5parsec"), 1);
    assert_eq!(at("foo(1)"), 0);
    assert_eq!(at("1 < 2 < 3"), 6);
    assert_eq!(at("(1"), 2);
    assert_eq!(at("p50 < 1"), 0);
    assert_eq!(at("1 ; 2"), 2);
    assert_eq!(at("abs(1, 2)"), 0);
    assert_eq!(at("1 + knee(1, 2, 3, 4)"), 4);
    assert_eq!(at("knee(1, 2, 3, 4, 5, 6, 7)"), 0);
    assert_eq!(at(""), 0);
    let apart = Expr::parse_expectation("p99 < 1 ms").unwrap_err();
    assert_eq!((apart.position, apart.hint.contains("`1ms`")), (8, true), "{apart}");
}

#[test]
fn missing_and_mistyped() {
    let missing = |r: &Reference| Err(MetricError::NoSuchMetric(r.metric.clone()));
    let e = Expr::parse("1 < 2 and {w@t:wall} > 1s").unwrap();
    assert!(matches!(e.evaluate(&missing), Err(EvalError::Missing(..))));
    let e = Expr::parse("1 and 2 < 3").unwrap();
    assert!(matches!(e.evaluate(&missing), Err(EvalError::Type { .. })));
    let e = Expr::parse("(1 < 2) + 1").unwrap();
    assert!(matches!(e.evaluate(&missing), Err(EvalError::Type { .. })));
}

#[test]
fn references_and_conjuncts() {
    let e = Expr::parse("{a@x:p50} < {b@x:p50} and max({a@x:p50}, {c@y:p99}) > 1ms").unwrap();
    let names: Vec<String> = e.references().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["a@x:p50", "b@x:p50", "c@y:p99"]);
    let texts: Vec<&str> = e.conjuncts().iter().map(|c| c.text).collect();
    assert_eq!(texts, ["{a@x:p50} < {b@x:p50}", "max({a@x:p50}, {c@y:p99}) > 1ms"]);
}

#[test]
fn nothing_overflows_and_nothing_panics() {
    for open in ["(", "-", "not ", "abs(", "min(1, "] {
        assert!(Expr::parse(&open.repeat(10_000)).is_err());
    }
    assert!(Expr::parse(&"1+".repeat(9_000)).is_err());
    let ands = vec!["1 < 2"; 4_000].join(" and ");
    let e = Expr::parse(&ands).unwrap();
    let none = |r: &Reference| Err(MetricError::NoSuchMetric(r.metric.clone()));
    assert_eq!(e.evaluate(&none), Ok(Value::Truth(true)));
    let pieces = [
        "1", ".", "e", "%", "{a@b:c}", "{", "}", "@", ":", "(", ")", "<", "=", "and", "or ",
        "not ", "min", ",", "-", "/", " ", "µ", "share<", "p50", "MB/s", "\u{0}", "€", "9e999",
    ];
    let mut state = 7_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..state % 12 {
            state = assay_spec::seed::mix(state.wrapping_add(1));
            text += pieces[(state % pieces.len() as u64) as usize];
        }
        state = assay_spec::seed::mix(state.wrapping_add(1));
        for e in [Expr::parse(&text), Expr::parse_expectation(&text)].into_iter().flatten() {
            let _ = e.evaluate(&|_| Ok(1.0));
            assert!(e.conjuncts().iter().all(|c| !c.text.is_empty()));
        }
    }
    let mut bytes = [0_u8; 40];
    for i in 0..20_000_u64 {
        for (j, b) in bytes.iter_mut().enumerate() {
            *b = (assay_spec::seed::mix(i * 64 + j as u64) % 128) as u8;
        }
        let _ = Expr::parse(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_target_may_have_the_name_of_its_machine_before_it() {
    let expression = Expr::parse("{rnd-rd@noop/ssd-l:bandwidth} / 1MB/s > 2").unwrap();
    let [r] = expression.references()[..] else { panic!("one reference") };
    assert_eq!((r.workload.as_str(), r.target.as_str()), ("rnd-rd", "noop/ssd-l"));
    assert_eq!(
        (r.metric.as_str(), r.to_string().as_str()),
        ("bandwidth", "rnd-rd@noop/ssd-l:bandwidth")
    );
}

/// `not` does not make a comparison true that has a side without a number.
#[test]
fn a_side_without_a_number_is_neither_true_nor_false() {
    let texts = [
        "errors / errors > 0",
        "not (errors / errors > 0)",
        "not (sqrt(0 - 1) > 1)",
        "0 / 0 != 1",
        "knee(1, 5, 2, 9, 2, 9) < 9",
        "not (knee(1, 100, 2, 60, 3, 190) < 9)",
    ];
    for text in texts {
        let found = Expr::parse_expectation(text).unwrap().evaluate(&|_| Ok(0.0));
        assert_eq!(found, Err(EvalError::NoNumber), "{text}");
    }
}
