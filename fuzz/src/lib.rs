//! What each fuzz target does with its bytes. Bad input is refused with a message; a panic, an
//! overflow and a broken invariant are bugs.
//!
//! Texts that decode are taken one step further: an expectation is evaluated as far as its syntax
//! goes, a small drive is built and asked something, since what a declaration's checks let through
//! must work.

#![forbid(unsafe_code)]

#[path = "../../crates/assay-sim/tests/random/mod.rs"]
mod random;

use assay_analysis::cost::{Assumptions, Costs, owned};
use assay_analysis::expr::Expr;
use assay_analysis::ledger::{Knowledge, LedgerVerdicts, judge};
use assay_analysis::load::Run;
use assay_analysis::{compare, finding, report, text};
use assay_engine::measure::log;
use assay_engine::trace::{Input, follow};
use assay_sim::{Accept, Drive, InitialState, build};
use assay_spec::array;
use assay_spec::catalog::LEDGERS;
use assay_spec::claims::Ledger;
use assay_spec::decode::Source;
use assay_spec::device::{ControllerSpec, DeviceKind, DeviceSpec};
use assay_spec::experiment::Experiment;
use assay_spec::prices::PriceList;
use assay_spec::{Bytes, Nanos, Op, Request, disksim};
use std::io::Write;
use std::path::Path;

/// Larger drives decode, but are not built: they would only be slow.
const FLASH_MAX: Bytes = Bytes(64 << 20);
const BLOCKS_MAX: u32 = 4096;
const CYLINDERS_MAX: u32 = 100_000;

/// A random drive and its work, both decided by the bytes.
pub fn drives(data: &[u8]) {
    random::random_drive(random::Draw::Bytes(data));
}

/// A device or controller file.
pub fn device(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = || Source { file: "fuzz.toml", text };
    if let Err(error) = ControllerSpec::parse(source()) {
        assert!(!error.to_string().is_empty());
    }
    match DeviceSpec::parse(source()) {
        Ok(spec) if is_small(&spec) => exercise(&spec),
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn is_small(spec: &DeviceSpec) -> bool {
    match &spec.kind {
        DeviceKind::Ssd(ssd) => {
            let blocks = ssd.nand.pages() / u64::from(ssd.nand.pages_per_block);
            ssd.nand.raw() <= FLASH_MAX && blocks <= u64::from(BLOCKS_MAX)
        }
        DeviceKind::Hdd(hdd) => hdd.cylinders() <= CYLINDERS_MAX,
        DeviceKind::Volume(_) => true,
    }
}

/// Requests at both ends of the drive and in its middle, one after the other.
fn exercise(spec: &DeviceSpec) {
    let sectors = spec.capacity.0 / 512;
    if sectors == 0 {
        return;
    }
    let mut drive = build(spec, InitialState::Filled);
    let (mut now, mut done) = (Nanos::ZERO, Vec::new());
    for (tag, place) in [0, sectors - 1, sectors / 2, sectors / 3, 0].into_iter().enumerate() {
        for op in [Op::Write, Op::Read, Op::Flush, Op::Trim] {
            let length = if op == Op::Flush { 0 } else { 16.min(sectors - place) };
            let (offset, length) = match op {
                Op::Flush => (Bytes::ZERO, Bytes::ZERO),
                _ => (Bytes(place * 512), Bytes(length * 512)),
            };
            let request = Request { tag: tag as u32, op, offset, length, fua: place % 2 == 1 };
            assert_eq!(drive.submit(now, request), Accept::Accepted, "{request:?}");
            now = drive.run(Nanos::NEVER, &mut done);
            assert_eq!(done.len(), 1, "{request:?} ends once");
            done.clear();
        }
    }
    drive.check();
}

/// An experiment file with its expectations, and the same text as an expectation.
pub fn experiment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Experiment::parse(Source { file: "fuzz.toml", text }) {
        Ok(experiment) => {
            let expectations = experiment.workloads.iter().flat_map(|w| &w.expect);
            expectations.for_each(|text| drop(Expr::parse_expectation(text)));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(expression) = Expr::parse_expectation(text) {
        expression.references();
    }
}

/// A list of targets, each of which may be an array.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for target in array::split_targets(text) {
        array::is_array(&target);
        match array::parse(&target) {
            Ok(array) => assert!(!array.name().is_empty(), "{target:?}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// The text as each of DiskSim's files beside two that are right; cut at zero bytes, as all three.
pub fn disksim(data: &[u8]) {
    const MODEL: &str = include_str!("../tiny/tiny.model");
    const SPECS: &str = include_str!("../tiny/tiny.diskspecs");
    const SEEK: &str = include_str!("../tiny/tiny.seek");
    let Ok(text) = std::str::from_utf8(data) else { return };
    imported(text, SPECS, SEEK);
    imported(MODEL, text, SEEK);
    imported(MODEL, SPECS, text);
    disksim::references(text, Some(text));
    let parts: Vec<&str> = text.split('\0').collect();
    if let [model, specs, seek] = parts[..] {
        imported(model, specs, seek);
    }
}

fn imported(model: &str, specs: &str, seek: &str) {
    match disksim::import(model, specs, seek, "fuzz") {
        Ok(text) => device(text.as_bytes()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A block trace: records or text, whichever the bytes look like.
pub fn trace(data: &[u8]) {
    let (mut rows, mut bytes) = (0, 0);
    let input = Input::of_bytes("fuzz", data.to_vec());
    let read = follow(vec![input], None, &mut |row| {
        assert!(row.submit <= row.complete, "{row:?}");
        (rows, bytes) = (rows + 1, bytes + row.length.0);
    });
    match read {
        Ok(record) => {
            assert_eq!(record.requests.iter().map(|r| r.requests).sum::<u64>(), rows);
            assert_eq!(record.requests.iter().map(|r| r.bytes.0).sum::<u64>(), bytes);
        }
        Err(error) => assert!(!error.message.is_empty() && !error.hint.is_empty()),
    }
}

/// What parts `run.json` from `cells.json`.
pub const SEAM: u8 = 0;

/// A run directory, its two files parted by a zero byte: read, and shown in every way there is.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((record, cells)) = text.split_once(char::from(SEAM)) else { return };
    match Run::from_json(record, cells) {
        Ok(run) => shown(&run),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// No value was chosen with a claim in sight, and every experiment is offered.
fn known() -> Knowledge<'static> {
    Knowledge { calibrations: &[], offered: &|_, _| true }
}

fn shown(run: &Run) {
    let ledgers: Vec<LedgerVerdicts> = LEDGERS
        .iter()
        .filter_map(|b| Ledger::parse(Source { file: b.file, text: b.text }).ok())
        .map(|ledger| judge(&ledger, Some(run), known()))
        .collect();
    let tables: usize = ledgers.iter().map(|v| text::ledger_table(v, 100).len()).sum();
    assert!(tables > 0);
    finding::findings(run);
    text::csv(run);
    text::summary_table(run);
    for target in run.targets() {
        text::comparison(&compare::table(run, target));
    }
    text::comparison(&compare::runs(("a", run), ("b", run)));
    if let Some(costs) = Costs::of(run) {
        let supposed = Assumptions {
            years: 5.0,
            busy: 0.5,
            kwh_price: Some(0.25),
            pue: 1.4,
            slot_price: 1.0,
            writes_per_day: Some(5e10),
            wear: 2.0,
            memory_per_gb: Some(2.5),
        };
        let reference = run.targets().first().map_or(String::new(), |t| (*t).to_owned());
        text::owned(&owned(run, &costs, &supposed, &reference));
    }
    let page = report::html(run, &ledgers);
    assert!(!page.contains("<script"), "a page has no script");
}

/// A request log: the bytes as a file, since that is what the reader of Parquet takes.
pub fn requests(data: &[u8]) {
    let path = std::env::temp_dir().join(format!("assay-fuzz-{}.parquet", std::process::id()));
    let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(data));
    written.expect("there is room for a small file");
    match log::read(Path::new(&path)) {
        Ok(log) => assert!(log.rows.iter().all(|row| row.submit <= row.complete)),
        Err(error) => assert!(!error.message.is_empty() && !error.hint.is_empty()),
    }
}

/// A price list.
pub fn prices(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match PriceList::parse(Source { file: "fuzz.toml", text }) {
        Ok(list) => {
            let is_price = |amount: f64| amount > 0.0 && amount <= 1e9;
            assert!(list.prices.iter().all(|p| is_price(p.amount) && p.capacity.0 > 0), "{list:?}");
            assert!(list.prices.iter().all(|p| p.per_gb().is_finite()), "{list:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A ledger, judged without a run.
pub fn ledger(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Ledger::parse(Source { file: "fuzz.toml", text }) {
        Ok(ledger) => drop(self::text::ledger_table(&judge(&ledger, None, known()), 100)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
