//! A small disk of the tests: 10 ms a turn, 2 heads, zones of 100 and 50 sectors a track.

use assay_spec::decode::Source;
use assay_spec::device::{DeviceKind, DeviceSpec, HddSpec};

const TEXT: &str = r#"
format = 1
name = "small"
title = "A disk of the tests"
kind = "hdd"
capacity = { value = "12800KiB", assumed = "test" }
[sources]
[link]
rate = { value = "51200kB/s", assumed = "10 us a sector" }
queue_depth = { value = 1, assumed = "test" }
command = { value = "100us", assumed = "test" }
[disk]
rpm = { value = 6000, assumed = "test" }
heads = { value = 2, assumed = "test" }
zones = { value = [[100, 100], [120, 50]], assumed = "test" }
head_switch = { value = "500us", assumed = "test" }
write_settle = { value = "200us", assumed = "test" }
[seek]
table_ns = { value = [[1, 1000000], [219, 9720000]], assumed = "test" }
[cache]
size = { value = "64KiB", assumed = "test" }
segments = { value = 4, assumed = "test" }
write_segments = { value = 2, assumed = "test" }
write_cache = { value = "no", assumed = "test" }
destage_window = { value = 8, assumed = "test" }
"#;

/// Builds the specification of the small disk with changes: each pair is (old text, new text).
pub(crate) fn device(changes: &[(&str, &str)]) -> DeviceSpec {
    let mut text = TEXT.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "no `{from}`");
        text = text.replace(from, to);
    }
    DeviceSpec::parse(Source { file: "small", text: &text }).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the small disk's own part of the specification, with changes.
pub(crate) fn disk(changes: &[(&str, &str)]) -> HddSpec {
    match device(changes).kind {
        DeviceKind::Hdd(hdd) => hdd,
        _ => panic!("not a disk"),
    }
}
