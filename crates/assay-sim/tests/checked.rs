//! A drive of the catalogue under the checker gives the completions that it gives without.

use assay_sim::{Checker, Closed, build};
use assay_spec::catalog::{DEVICES, find};
use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec};
use assay_spec::seed::mix;
use assay_spec::{Bytes, Op, Request};

const PAGE: u64 = 4096;
const REQUESTS: u64 = 1_000_000;

/// The reference drive with a sixteenth of its blocks, so that collection is soon at work.
fn spec() -> DeviceSpec {
    let bundled = find(DEVICES, "reference-7").expect("in the catalogue");
    let capacity = 64_223_809_536 / 16 / PAGE * PAGE;
    let text = bundled
        .text
        .replace("value = 2048", "value = 128")
        .replace("64223809536B", &format!("{capacity}B"));
    DeviceSpec::parse(Source { file: bundled.file, text: &text }).expect("decodes")
}

/// Every latency, in the order of completion.
fn latencies(spec: &DeviceSpec, checked: bool) -> Vec<u64> {
    let pages = spec.capacity.0 / PAGE;
    let DeviceKind::Ssd(ssd) = &spec.kind else { panic!("a flash drive") };
    let mut drive = build(spec, assay_sim::InitialState::New);
    if checked {
        drive.observe(Box::new(Checker::new(&ssd.nand, pages as u32)));
    }
    let mut closed = Closed::new(32);
    let request = |op, page: u64| Request {
        tag: 0,
        op,
        offset: Bytes(page * PAGE),
        length: Bytes(PAGE),
        fua: false,
    };
    closed.run(&mut *drive, pages, |i| request(Op::Write, i % pages), |_| ());
    let mut all = Vec::with_capacity(REQUESTS as usize);
    let random = |i: u64| {
        let op = if mix(!i).is_multiple_of(4) { Op::Read } else { Op::Write };
        request(op, mix(i) % pages)
    };
    closed.run(&mut *drive, REQUESTS, random, |latency| all.push(latency.0));
    if checked {
        drive.check();
    }
    all
}

#[test]
fn a_million_requests_are_the_same_under_the_checker() {
    let spec = spec();
    let (checked, plain) = (latencies(&spec, true), latencies(&spec, false));
    assert_eq!(checked.len(), REQUESTS as usize);
    let differs = checked.iter().zip(&plain).position(|(a, b)| a != b);
    assert_eq!(differs, None, "the first request that differs");
}
