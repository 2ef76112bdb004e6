//! `--prices` and `--price`: what they do to a run, and what is said about mistakes.

use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const EXPERIMENT: &str = r#"format = 1
name = "small"
question = "What does it cost?"
targets = ["sim:ssd-m", "raid5(sim:ssd-l*3, controller=perc-6i)"]
log = false

[[workload]]
name = "read"
read_share = 1.0
size = "4KiB"
pattern = "random"
measure = { requests = 100 }
"#;

fn assay(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(directory).args(arguments).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory with the experiment, `extra` in it, and with a price list.
fn directory(extra: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let experiment = EXPERIMENT.replace("log = false", &format!("log = false\n{extra}"));
    std::fs::write(directory.path().join("small.toml"), experiment).expect("written");
    let list = "format = 1\nname = \"mine\"\ntitle = \"Mine\"\nsource = \"a shop\"\n\
        date = \"2026-11\"\ncurrency = \"EUR\"\n[[price]]\ndevice = \"ssd-m\"\ntitle = \"M\"\n\
        capacity = \"80GB\"\namount = 200\n";
    std::fs::write(directory.path().join("mine.toml"), list).expect("written");
    directory
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut all = vec!["run", "small.toml", "--quiet", "--out", "out"];
    all.extend(arguments);
    assay(directory, &all)
}

/// The run is refused in these words, before anything is measured.
fn refused(extra: &str, arguments: &[&str], stderr: &str) {
    let directory = directory(extra);
    let output = run(directory.path(), arguments);
    assert_eq!(text(&output.stderr).trim_end(), stderr, "{arguments:?}");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(!directory.path().join("out").exists(), "nothing was run");
}

#[test]
fn a_run_keeps_its_prices_and_needs_no_file_for_them() {
    let directory = directory("prices = \"mine.toml\"");
    let output = run(directory.path(), &["--price", "ssd-l=30"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("EUR/IOPS") && table.contains("prices of 2026-11 and "), "{table}");
    let card = "not included, because their prices are not known:\n  perc-6i)";
    assert!(table.contains(card), "{table}");
    std::fs::remove_file(directory.path().join("mine.toml")).expect("removed");
    let again = assay(directory.path(), &["report", "out", "--quiet"]);
    assert_eq!(text(&again.stdout), table);
    // Of a saved run with other prices; the run keeps its own.
    let other = ["report", "out", "--quiet", "--prices", "cmu08", "--json"];
    let output = assay(directory.path(), &other);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cost = &json["cells"][0]["cost"];
    assert_eq!((&cost["currency"], &cost["price"]), (&"USD".into(), &730.0.into()));
    assert_eq!(cost["dates"], serde_json::json!(["2008-11"]));
    assert!(json["cells"][1]["cost"].is_null(), "no price of its drives is known");
    let page = std::fs::read_to_string(directory.path().join("out/report.html")).expect("read");
    assert!(page.contains("Prices of 2008-11 in USD"));
    let output = assay(directory.path(), &["compare", "out", "--price", "ssd-l=40EUR"]);
    assert!(text(&output.stdout).contains("price per MB/s x"), "{}", text(&output.stdout));
    let last = assay(directory.path(), &["report", "out", "--quiet"]);
    assert_eq!(text(&last.stdout), table);
}

#[test]
fn a_study_has_the_prices_of_its_document_and_others_none() {
    let directory = directory("");
    let output = run(directory.path(), &[]);
    assert!(!text(&output.stdout).contains("USD"), "{}", text(&output.stdout));
    let record = std::fs::read_to_string(directory.path().join("out/run.json")).expect("read");
    assert!(!record.contains("prices"), "{record}");
}

#[test]
fn mistakes_are_answered_before_anything_is_measured() {
    let cases: [(&[&str], &str); 9] = [
        (
            &["--prices", "cmu8"],
            "error: there is no price list `cmu8`\nhint: did you mean `cmu08`?",
        ),
        (
            &["--prices", "elsewhere"],
            "error: there is no price list `elsewhere`\nhint: name a price list \
             (sigmetrics09, cmu08, oslo09) or a file whose name ends in `.toml`",
        ),
        (
            &["--prices", "oslo09"],
            "error: `--prices oslo09` has no effect: no target has a drive of this list\nhint: \
             give single prices with `--price DEVICE=AMOUNT`, or choose another list; \
             docs/prices.md describes the format of lists",
        ),
        (
            &["--price", "ssd-m"],
            "error: `--price ssd-m` is not a price\n\
             hint: write a drive, an amount and a currency, e.g. `--price ssd-m=300USD`",
        ),
        (
            &["--price", "ssd-m=300"],
            "error: `--price ssd-m=300` has no currency\nhint: write the currency after the \
             amount, e.g. `--price ssd-m=300USD`",
        ),
        (
            &["--price", "ssd-h=300USD"],
            "error: `--price ssd-h=…` has no effect: no target has this drive\n\
             hint: name a drive as in `sim:NAME`, or a target as `assay run` names it",
        ),
        (
            &["--price", "ssd-m=300USD", "--price", "ssd-m=200USD"],
            "error: `--price` gives two prices of ssd-m\nhint: give each drive or target one price",
        ),
        (
            &["--prices", "mine.toml", "--price", "ssd-l=30USD"],
            "error: prices in EUR and in USD cannot be compared\nhint: give the prices in the \
             currency of the list, or choose another list with `--prices`",
        ),
        (
            &["--price", "ssd-l=30USD", "--price", "ssd-m=300EUR"],
            "error: prices in USD and in EUR cannot be compared\nhint: give the prices in the \
             currency of the list, or choose another list with `--prices`",
        ),
    ];
    for (arguments, stderr) in cases {
        refused("", arguments, stderr);
    }
    // What is wrong with a list is shown at its place.
    let directory = directory("");
    let output = run(directory.path(), &["--prices", "small.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--> small.toml"), "{}", text(&output.stderr));
}

#[test]
fn an_experiment_names_a_list_that_there_is() {
    let stderr = "error: there is no price list `cmu8`
  --> small.toml:6:10
   |
 6 | prices = \
                  \"cmu8\"
   |          ^^^^^^ expected sigmetrics09, cmu08, oslo09, or a file \
                  that ends in `.toml`
hint: did you mean `cmu08`?";
    refused("prices = \"cmu8\"", &[], stderr);
    let stderr =
        "error: the price list none.toml cannot be read: No such file or directory (os error \
         2)
hint: check the path (a relative path starts at the current directory); docs/prices.md \
         describes the format of lists";
    refused("prices = \"none.toml\"", &[], stderr);
}

#[test]
fn cost_says_what_years_cost_and_what_it_left_out() {
    let directory = directory("prices = \"mine.toml\"");
    let output = run(directory.path(), &["--price", "ssd-l=30"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = assay(directory.path(), &["cost", "out", "--years", "3", "--memory-price", "4"]);
    let table = text(&output.stdout);
    for said in
        ["EUR/IOPS, 3 years", "reference", "memory if used every", "Without energy", "2026-11"]
    {
        assert!(table.contains(said), "{said}: {table}");
    }
    let known = ["cost", "out", "--kwh-price", "0.3"];
    let table = text(&assay(directory.path(), &known).stdout);
    assert!(table.contains("unknown  no watts in the price list"), "{table}");
    let json = ["cost", "out", "--json", "--against", "raid5-3x-ssd-l-perc-6i"];
    let output = assay(directory.path(), &json);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["targets"][1]["total"], 90.0);
    assert!(json["cells"][0]["break_even_price"].as_f64().expect("a price") > 0.0);
    let cases: [(&[&str], &str); 5] = [
        (
            &["--against", "ssd-n"],
            "error: no target `ssd-n` has a price\nhint: did you mean `ssd-m`?",
        ),
        (
            &["--workload", "write"],
            "error: out has no workload `write`\nhint: leave out `--workload` to see all \
             workloads",
        ),
        (
            &["--years", "0"],
            "error: invalid value '0' for '--years <N>': a number from 0.1 to 100 is expected\n\
             hint: write a number from 0.1 to 100, e.g. `--years 3`",
        ),
        (
            &["--writes", "much"],
            "error: invalid value 'much' for '--writes <SIZE>': a size such as `4KiB`, `256KiB`, \
             `30GB` or `1GiB` is expected\nhint: write a size, e.g. `--writes 50GB`",
        ),
        (
            &["--prices", "oslo09"],
            "error: `--prices oslo09` has no effect: no target has a drive of this list\nhint: \
             give single prices with `--price DEVICE=AMOUNT`, or choose another list; \
             docs/prices.md describes the format of lists",
        ),
    ];
    for (arguments, stderr) in cases {
        let output = assay(directory.path(), &[&["cost", "out"], arguments].concat());
        assert_eq!(text(&output.stderr).trim_end(), stderr, "{arguments:?}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn cost_of_a_run_without_prices_says_how_to_give_them() {
    let directory = directory("");
    run(directory.path(), &[]);
    let output = assay(directory.path(), &["cost", "out"]);
    let stderr = "error: no target of out has a known price\nhint: give one price, e.g. `--price \
                  ssd-m=300USD`, or a list: `--prices cmu08` or `--prices FILE.toml`";
    assert_eq!(text(&output.stderr).trim_end(), stderr);
    assert_eq!(output.status.code(), Some(2));
    let output = assay(directory.path(), &["cost", "out", "--price", "ssd-m=300USD"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}
