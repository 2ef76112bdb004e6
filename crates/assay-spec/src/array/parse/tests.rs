//! Tests of arrays that are right, and of every way to be wrong.

use super::super::{is_array, split_targets};
use super::*;
use crate::units::{Nanos, Rate};
use proptest::prelude::*;

#[test]
fn an_array_is_what_was_written() {
    let spec = parse("raid5(sim:ssd-m*4, chunk=16KiB, failed=1, controller=perc-6i)").unwrap();
    assert_eq!(spec.level, Level::Raid5);
    assert_eq!(spec.members.len(), 4);
    assert_eq!(spec.members[3].target, MemberTarget::Drive("ssd-m".into()));
    assert_eq!((spec.chunk, spec.failed), (Bytes::KIB * 16, 1));
    assert_eq!(spec.controller.as_deref(), Some("perc-6i"));
    assert_eq!(spec.name(), "raid5-4x-ssd-m-16KiB-failed1-perc-6i");
}

#[test]
fn members_hang_on_controllers_and_may_be_arrays() {
    let spec = parse("raid0(sim:a.toml@perc-6i*3, sim:b*2 @ areca-1680#2)").unwrap();
    let controllers: Vec<_> = spec.members.iter().map(|m| m.controller.as_deref()).collect();
    let (perc, areca) = (Some("perc-6i"), Some("areca-1680#2"));
    assert_eq!(controllers, [perc, perc, perc, areca, areca]);
    assert_eq!(spec.name(), "raid0-3x-a-at-perc-6i-2x-b-at-areca-1680.2");
    assert_eq!((spec.chunk, spec.has_chunk), (CHUNK, false));
    let spec = parse("raid0(raid1(sim:a*2)*2)").unwrap();
    assert_eq!(spec.name(), "raid0-2x-raid1-2x-a");
    let spec = parse("raid6(sim:a*5,failed=2,fail_at=10s,rebuild=50MB/s)").unwrap();
    assert_eq!(spec.fail_at, Some(Nanos::from_secs(10)));
    assert_eq!(spec.rebuild, Some(Rebuild::Rate(Rate(50_000_000))));
}

/// The mistakes that the parser must find: the text, the marked part, the message and the hint.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("raid5(sim:a*2)", "raid5", "a raid5 cannot have 2 members", "write e.g. `raid5(sim:ssd-m*3)`"),
    ("raid7(sim:a*2)", "raid7", "there is no array `raid7`", "did you mean `raid0`?"),
    ("disk(1)", "disk", "there is no array `disk`", "for a file of this name, write `./`"),
    (
        "raid10(sim:a*5)",
        "raid10",
        "a raid10 cannot have 5 members",
        "use 4 or 6 members: they form pairs",
    ),
    ("raid0(sim:a*65)", "65", "65 members are out of range", "use a number within the range"),
    ("raid0(sim:a*x)", "x", "`x` is not a number of members", "write a number without a unit"),
    ("raid0(a*2)", "a*2", "`a*2` cannot be a member", "write a modelled drive as `sim:a`"),
    ("raid0(/dev/sda)", "/dev/sda", "cannot be a member of an array", "use modelled drives"),
    ("raid0(sim:a,,sim:b)", "", "there is nothing between two commas", "remove the comma"),
    ("raid0(sim:a, chnk=4KiB)", "chnk", "no option `chnk`", "did you mean `chunk`?"),
    ("raid0(sim:a, chunk=4)", "4", "`chunk` has no unit", "write the unit"),
    ("raid0(sim:a, chunk=1000B)", "1000B", "`chunk` = 1kB is out of range", "use e.g. 64KiB"),
    ("raid1(sim:a*2, chunk=4KiB)", "4KiB", "a raid1 has no chunks", "use `raid10`"),
    ("raid0(sim:a*2, failed=1)", "1", "does not survive 1 failures", "the array loses data"),
    ("raid6(sim:a*6, failed=3)", "3", "does not survive 3 failures", "the array loses data"),
    (
        "raid5(sim:a*3, fail_at=1s)",
        "1s",
        "`fail_at` is given, but no member fails",
        "add `failed=1`",
    ),
    ("raid5(sim:a*3, rebuild=idle)", "idle", "`rebuild` is given, but no member", "add `failed=1`"),
    (
        "raid5(sim:a*3, failed=1, rebuild=9)",
        "9",
        "`9` is not a way to rebuild",
        "with `idle`, the array rebuilds",
    ),
    ("raid0(sim:a, chunk=4KiB, chunk=4KiB)", "chunk", "`chunk` is given twice", "remove one"),
    ("raid0(sim:a*2*2)", "2", "a count is given twice", "remove one"),
    ("raid0(sim:a@)", "@", "`@` without a controller", "`assay devices` lists"),
    ("raid0(sim:a, controller=)", "controller", "without a controller", "`assay devices` lists"),
    ("raid0(raid1(sim:a*2)", "(", "the parenthesis is not closed", "write an array as"),
    ("raid0(sim:a)(sim:b)", "(sim:b)", "there is text after the end of the array", "remove it"),
];

#[test]
fn every_mistake_has_its_place_and_a_way_out() {
    for (text, marked, message, hint) in MISTAKES {
        assert!(is_array(text), "{text}");
        let e = parse(text).expect_err(text);
        assert!(e.message.contains(message), "{text}: {}", e.message);
        assert!(e.hint.contains(hint), "{text}: {}", e.hint);
        let place = e.place.expect("a place");
        let found: String = place.text.chars().skip(place.column - 1).take(place.width).collect();
        assert!(marked.is_empty() || found == *marked, "{text}: `{found}`");
    }
}

#[test]
fn lists_are_cut_outside_of_parentheses() {
    let list = "sim:a,raid0(sim:a*2, chunk=4KiB),./x";
    assert_eq!(split_targets(list), ["sim:a", "raid0(sim:a*2, chunk=4KiB)", "./x"]);
    assert_eq!(split_targets("./x ,, ./y"), ["./x ", " ./y"]);
    assert!(!is_array("./disk(1)") && !is_array("sim:a") && !is_array("dir/raid0(1)"));
}

proptest! {
    #[test]
    fn it_survives_any_text(text in ".{0,60}", inner in "[sim:a*@(),=k4 raid0]{0,40}") {
        let _ = parse(&text);
        let _ = parse(&format!("raid0({inner})"));
        let _ = split_targets(&text);
    }
}
