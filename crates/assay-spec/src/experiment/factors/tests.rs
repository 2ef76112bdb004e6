//! Tests of combinations that are made, and of those that are impossible.

use crate::decode::{Decoded, Source};
use crate::experiment::Experiment;

const REST: &str = "[[workload]]\nname = \"w\"\nread_share = 1.0\nsize = \"4KiB\"\n\
                    pattern = \"random\"\nmeasure = { requests = 10 }\n";
const ARRAYS: &str = r#"
[factors]
target = "{level}(sim:{drive}*{drives}{chunk})"
base = { drive = "ssd-m", level = "raid0", drives = 3, chunk = "64k" }
[factors.levels]
level = ["raid0", "raid1", "raid5"]
drive = ["ssd-m", "ssd-l"]
drives = [2, 3]
chunk = { "64k" = "", "128k" = ", chunk=128KiB" }
[[factors.impossible]]
when = { drive = "ssd-l", drives = [2, 3], chunk = "128k" }
because = "nobody sells it"
"#;

fn parse(factors: &str) -> Decoded<Experiment> {
    let text = format!("format = 1\nname = \"e\"\nquestion = \"?\"\n{factors}\n{REST}");
    Experiment::parse(Source { file: "e.toml", text: &text })
}

/// A number names a level as it is written, in the base as in the list.
#[test]
fn a_level_may_be_a_number() {
    let lines = "[factors]\ntarget = \"linux(raw, raid0(sim:{a}*2), memory={b}GiB)\"\n\
                 base = { a = \"x25-e\", b = 2.0 }\n[factors.levels]\n\
                 a = [\"x25-e\", \"ssd-m\"]\nb = [0.5, 2.0]\n";
    let factors = parse(lines).unwrap_or_else(|e| panic!("{e}")).factors.expect("declared");
    assert_eq!(factors.base, Some(vec![0, 1]));
}

#[test]
fn one_factor_at_a_time_around_the_base_or_all() {
    let mut experiment = parse(ARRAYS).expect("right");
    let expected = [
        "raid0(sim:ssd-m*3)",
        "raid1(sim:ssd-m*3)",
        "raid5(sim:ssd-m*3)",
        "raid0(sim:ssd-l*3)",
        "raid0(sim:ssd-m*2)",
        "raid0(sim:ssd-m*3, chunk=128KiB)",
    ];
    assert_eq!(experiment.targets, expected);
    let factors = experiment.factors.clone().expect("declared");
    let all = factors.all();
    assert_eq!(all.len(), 3 * 2 * 2 * 2);
    let why = |text: &str| all.iter().filter(|p| p.target == Err(text.to_owned())).count();
    // The rule excludes six. Of ssd-m with chunks of 128 KiB, two are a raid1 and one a raid5 of
    // two members. With the usual chunks, each drive has a raid5 of two members.
    assert_eq!(why("nobody sells it"), 6);
    assert_eq!(why("a raid1 has no chunks"), 2);
    assert_eq!(why("a raid5 cannot have 2 members"), 3);
    experiment.factorial();
    assert_eq!(experiment.targets.len(), 24 - 6 - 2 - 3);
    assert_eq!(factors.name(&all[23].levels), "raid5/ssd-l/3/128k");
}

#[test]
fn levels_may_have_places_and_equal_targets_are_one() {
    let lines = r#"
[factors]
target = "linux({fs}, sim:x25-m-g2, memory=6GiB, readahead={ahead})"
base = { fs = "ext4", block = "4k", ahead = "1MiB" }
[factors.levels]
fs = { ext4 = "fs=ext4, mkfs=\"-b {block}\"", btrfs = "fs=btrfs" }
block = { "4k" = "4096", "1k" = "1024" }
ahead = ["128KiB", "1MiB"]
"#;
    let text = format!("scale = \"1/8\"\n{lines}");
    let experiment = parse(&text).expect("right");
    let base = "linux(fs=ext4, sim:x25-m-g2, readahead=1MiB, memory=768MiB, mkfs=\"-b 4096\")";
    assert_eq!(experiment.targets[0], base);
    let all = experiment.factors.expect("declared").all();
    let same = all.iter().filter(|p| p.target.is_err()).map(|p| p.levels.clone());
    assert_eq!(same.collect::<Vec<_>>(), [[1, 1, 0], [1, 1, 1]], "btrfs has no place for blocks");
}

#[test]
fn mistakes_are_pointed_at() {
    let with = |from: &str, to: &str| {
        assert!(ARRAYS.contains(from), "{from}");
        parse(&ARRAYS.replacen(from, to, 1)).map(|_| ()).expect_err(to)
    };
    let cases = [
        ("{drives}{chunk}", "{drivess}{chunk}", "`{drivess}` is not a factor", "`{drives}`?"),
        ("{drives}{chunk}", "{drives}", "`chunk` has no place", "in braces"),
        ("drives = 3, ", "", "the base point has no level of `drives`", "`drives = \"2\"`"),
        ("drives = 3, ", "drives = 4000, ", "`drives` has no level `4000`", "names of levels"),
        ("base = {", "base = { drivess = 2,", "`drivess` is not a factor", "`drives`?"),
        (
            "drives = [2, 3]\n",
            "drives = [3]\n",
            "`drives` has fewer than two levels",
            "into `target`",
        ),
        ("drives = [2, 3]\n", "drives = [2, 3, 2]\n", "the level `2` twice", "one of the two"),
        ("drives = [2, 3]\n", "drives = 3\n", "of `drives` are not a list", "`drives = ["),
        ("drives = [2, 3]\n", "drives = [2, \"a b\"]\n", "`a b` cannot be", "a table"),
        ("drives = [2, 3]\n", "drives = [2, true]\n", "not a level", "e.g."),
        ("because", "becuase", "has no `because`", "the file has `becuase`"),
        ("level = \"raid0\"", "level = \"raid4x\"", "has no level `raid4x`", ""),
        ("\"raid0\", drives = 3", "\"raid5\", drives = 2", "base point is impossible", "choose"),
        (
            "drive = \"ssd-l\", drives",
            "drve = \"ssd-l\", drives",
            "`drve` is not a factor",
            "drive",
        ),
        ("target = ", "targt = ", "has no `target`", "the file has `targt`"),
    ];
    for (from, to, message, hint) in cases {
        let e = with(from, to);
        assert!(e.message.contains(message), "{to}: {}", e.message);
        assert!(e.hint.contains(hint), "{to}: {}: {}", e.message, e.hint);
        assert!(e.place.is_some(), "{to}");
    }
    let many: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    let many = format!("[{}]", many.join(", "));
    let text = format!(
        "[factors]\ntarget = \"raid0(sim:{{a}}*{{b}})\"\nbase = {{ a = 1, b = 1 }}\n\
         [factors.levels]\na = {many}\nb = {many}\n"
    );
    assert!(parse(&text).expect_err("22500").message.contains("too many"));
}

/// `one_at_a_time` and `all` keep the same one of the combinations with equal targets. Otherwise a
/// run of the former would look like a part of the latter.
#[test]
fn equal_targets_are_that_nearest_to_the_base() {
    for base in ["chunk = \"64k\", more = \"chunk\"", "chunk = \"64k\", more = \"none\""] {
        let lines = format!(
            r#"
[factors]
target = "raid0(sim:ssd-m*2{{more}})"
base = {{ {base} }}
[factors.levels]
chunk = {{ "16k" = "16KiB", "64k" = "64KiB" }}
more = {{ chunk = ", chunk={{chunk}}", none = "" }}
"#
        );
        let factors = parse(&lines).expect("right").factors.expect("declared");
        let kept = |points: Vec<super::Point>| -> Vec<Vec<usize>> {
            points.into_iter().filter(|p| p.target.is_ok()).map(|p| p.levels).collect()
        };
        let (few, all) = (kept(factors.one_at_a_time()), kept(factors.all()));
        assert!(few.contains(factors.base.as_ref().expect("declared")), "{base}");
        let near = all.iter().filter(|levels| factors.steps(levels) <= 1);
        assert!(near.clone().all(|levels| few.contains(levels)), "{few:?} {all:?}");
        assert_eq!(near.count(), few.len());
    }
}

#[test]
fn without_a_base_there_are_all_combinations_or_none() {
    let lines = "targets = [\"sim:ssd-m\"]\n[factors]\ntarget = \"sim:{drive}\"\n\
                 levels = { drive = [\"ssd-m\", \"ssd-l\"] }\n";
    let mut experiment = parse(lines).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(experiment.targets, ["sim:ssd-m"]);
    for _ in 0..2 {
        experiment.factorial();
        assert_eq!(experiment.targets, ["sim:ssd-m", "sim:ssd-l"]);
    }
}

/// Each level has the place of the next factor twenty times: the target would have 20^8 bytes.
#[test]
fn a_target_that_would_be_long_beyond_measure_is_none() {
    let mut lines = "[factors]\ntarget = \"{f0}\"\n".to_owned();
    let base: Vec<String> = (0..=8).map(|n| format!("f{n} = \"x\"")).collect();
    lines += &format!("base = {{ {} }}\n[factors.levels]\n", base.join(", "));
    for n in 0..8 {
        let places = format!("{{f{}}}", n + 1).repeat(20);
        lines += &format!("f{n} = {{ x = \"{places}\", y = \"null\" }}\n");
    }
    lines += "f8 = { x = \"null\", y = \"sim:ssd-m\" }\n";
    let said = match parse(&lines) {
        Ok(work) => work.factors.expect("declared").one_at_a_time()[0].target.clone(),
        Err(error) => Err(error.message),
    };
    let said = said.expect_err("too long");
    assert!(said.contains("longer than 16384 bytes"), "{said}");
}
