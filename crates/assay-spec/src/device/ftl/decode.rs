//! Decodes the declaration of a flash translation layer: mapping, garbage collection, wear.

use super::{
    Allocation, BackgroundSpec, CollectionSpec, CopyPath, EraseTime, Frontiers, FtlSpec, Pace,
    PageMapSpec, VictimSpec,
};
use crate::decode::{Decoded, Section, with_hint};
use crate::device::hybrid::{self, Logs};
use crate::device::values::Values;
use crate::device::{map, slc, wear};
use crate::diagnostic::Kind;

pub(in crate::device) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<FtlSpec> {
    let mut ftl = top.section("ftl", "ftl")?;
    let words = ["page", "hybrid", "block", "in-place", "bast", "fast"];
    let spec = match values.choice(&mut ftl, "ftl", "mapping", &words)? {
        0 => {
            hybrid::goes_without(&mut ftl);
            let words = ["dynamic", "static"];
            let allocation = match values.choice_or(&mut ftl, "ftl", "allocation", &words, 0)? {
                0 => Allocation::Dynamic,
                _ => Allocation::Static,
            };
            let reserve_blocks = values.count(&mut ftl, "ftl", "reserve_blocks", 2..4097)?;
            let collection = decode_collection(top, values, reserve_blocks, allocation)?;
            let (save_map_every, map_cache) = map::decode(&mut ftl, values)?;
            let words = ["no", "yes"];
            let power_fail_safe =
                values.choice_or(&mut ftl, "ftl", "power_fail_safe", &words, 0)? == 1;
            let wear = wear::decode(top, values)?;
            let slc = slc::decode(top, values)?;
            FtlSpec::Page(PageMapSpec {
                allocation,
                collection,
                wear,
                save_map_every,
                map_cache,
                power_fail_safe,
                slc,
            })
        }
        mapping => {
            let page_only =
                ["allocation", "reserve_blocks", "save_map_every", "map_cache", "power_fail_safe"];
            ftl.goes_with(&page_only, "mapping `page`");
            top.goes_with(&["collection", "background", "wear", "slc"], "`ftl.mapping` `page`");
            if mapping == 3 {
                return in_place(top, ftl);
            }
            let width = |values: &mut Values, s: &mut Section<'_>, key| {
                values.count(s, "ftl", key, 1..65_537).map(Some)
            };
            let width = values.optional(&mut ftl, "superblock_planes", None, width)?;
            FtlSpec::Hybrid(match mapping {
                1 => hybrid::decode(&mut ftl, values, width)?,
                2 => hybrid::plain(&mut ftl, values, width, Logs::Own)?,
                4 => hybrid::plain(&mut ftl, values, width, Logs::Switched)?,
                _ => hybrid::plain(&mut ftl, values, width, Logs::Shared)?,
            })
        }
    };
    ftl.finish()?;
    Ok(spec)
}

/// Decodes the mapping `in-place`, which takes no other keys.
fn in_place(top: &mut Section<'_>, mut ftl: Section<'_>) -> Decoded<FtlSpec> {
    hybrid::goes_without(&mut ftl);
    top.goes_with(&["endurance"], "an `ftl.mapping` other than `in-place`");
    ftl.finish()?;
    Ok(FtlSpec::InPlace)
}

fn decode_collection(
    top: &mut Section<'_>,
    values: &mut Values,
    reserve_blocks: u32,
    allocation: Allocation,
) -> Decoded<CollectionSpec> {
    let mut spec = CollectionSpec {
        victim: VictimSpec::Greedy,
        reserve_blocks,
        pace: Pace::Spread,
        frontiers: Frontiers::Two,
        copy: CopyPath::CopyBack,
        over_drive: false,
        erase: EraseTime::AtOnce,
        background: None,
    };
    let at = "collection";
    if let Some(mut s) = top.optional_section(at, at)? {
        let words = ["greedy", "fifo", "cost-benefit", "random-greedy"];
        s.goes_with(&["choices"], "victim `random-greedy`");
        spec.victim = match values.choice_or(&mut s, at, "victim", &words, 0)? {
            0 => VictimSpec::Greedy,
            1 => VictimSpec::Fifo,
            2 => VictimSpec::CostBenefit,
            _ => {
                VictimSpec::RandomGreedy { choices: values.count(&mut s, at, "choices", 1..1025)? }
            }
        };
        if values.choice_or(&mut s, at, "pace", &["spread", "whole-block"], 0)? == 1 {
            spec.pace = Pace::WholeBlock;
        }
        if values.choice_or(&mut s, at, "frontiers", &["two", "one"], 0)? == 1 {
            spec.frontiers = Frontiers::One;
        }
        if values.choice_or(&mut s, at, "copy", &["copy-back", "controller"], 0)? == 1 {
            spec.copy = CopyPath::Controller;
        }
        if values.choice_or(&mut s, at, "target", &["plane", "drive"], 0)? == 1 {
            spec.over_drive = true;
            check_target(&s, &spec, allocation)?;
        }
        if values.choice_or(&mut s, at, "erase", &["at-once", "when-idle"], 0)? == 1 {
            spec.erase = EraseTime::WhenIdle;
        }
        s.finish()?;
    }
    if let Some(mut s) = top.optional_section("background", "background")? {
        spec.background = Some(BackgroundSpec {
            after: values.time(&mut s, "background", "after")?,
            blocks: values.count(&mut s, "background", "blocks", 2..1_048_577)?,
        });
        s.finish()?;
    }
    Ok(spec)
}

/// Checks that pages can be moved to any plane with these settings.
fn check_target(s: &Section<'_>, spec: &CollectionSpec, allocation: Allocation) -> Decoded<()> {
    let impossible = |message: &str, hint: &str| {
        Err(with_hint(s.error(Kind::Impossible, s.key_span_of("target"), message, ""), hint))
    };
    if spec.copy == CopyPath::CopyBack {
        return impossible(
            "`collection.target` needs pages that can move to any plane, but a copy-back leaves a \
             page in its plane",
            "set `collection.copy` to `controller`, or leave out `target`",
        );
    }
    if allocation == Allocation::Static {
        return impossible(
            "`collection.target` needs pages that can move to any plane, but a static allocation \
             fixes the plane of a page",
            "set `ftl.allocation` to `dynamic`, or leave out `target`",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};

    /// Decodes the page map of a bundled drive, with more keys in `[ftl]` and another
    /// `[collection]`.
    fn page_map(ftl: &[(&str, &str)], collection: &[(&str, &str)]) -> Result<PageMapSpec, String> {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let (before, rest) = text.split_once("[collection]\n").expect("it has a collection");
        let rest = rest.find("\n[").map_or("", |next| &rest[next..]);
        let line = |(key, word): &(&str, &str)| {
            format!("{key} = {{ value = \"{word}\", assumed = \"a test\" }}\n")
        };
        let lines = |pairs: &[(&str, &str)]| pairs.iter().map(line).collect::<String>();
        let before = before.replace("[ftl]\n", &format!("[ftl]\n{}", lines(ftl)));
        let text = format!("{before}[collection]\n{}{rest}", lines(collection));
        let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
        let DeviceKind::Ssd(ssd) = spec.map_err(|e| format!("{e:?}"))?.kind else {
            return Err("not an SSD".into());
        };
        match ssd.ftl {
            FtlSpec::Page(map) => Ok(map),
            _ => Err("not a page map".into()),
        }
    }

    #[test]
    fn each_name_of_a_mapping_has_its_logs() {
        let of = |mapping: &str, keys: &str| {
            let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
            let text = bundled.expect("in the catalogue").text;
            // The test replaces `[ftl]` and removes the sections that belong to a page map.
            let first = text.find("[ftl]").expect("it has a layer");
            let last = text.find("[buffer]").expect("and a buffer");
            let mapping = format!("mapping = {{ value = \"{mapping}\", assumed = \"a test\" }}");
            let text = format!("{}[ftl]\n{mapping}\n{keys}\n{}", &text[..first], &text[last..]);
            let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
            let DeviceKind::Ssd(ssd) = spec.map_err(|e| format!("{e:?}"))?.kind else {
                return Err("not an SSD".into());
            };
            match ssd.ftl {
                FtlSpec::Hybrid(hybrid) => Ok((hybrid.logs, hybrid.log_superblocks)),
                _ => Err("not superblocks".to_owned()),
            }
        };
        let eight = "log_superblocks = { value = 8, assumed = \"a test\" }";
        let unit = "unit = { value = \"4KiB\", assumed = \"a test\" }";
        assert_eq!(of("bast", eight), Ok((Logs::Switched, 8)));
        assert_eq!(of("fast", eight), Ok((Logs::Shared, 8)));
        assert_eq!(of("hybrid", &format!("{eight}\n{unit}")), Ok((Logs::Own, 8)));
        assert_eq!(of("block", ""), Ok((Logs::Own, 0)));
        for (mapping, keys) in [("bast", ""), ("fast", ""), ("block", eight)] {
            assert!(of(mapping, keys).unwrap_err().contains("log_superblocks"), "{mapping}");
        }
        let refused = of("fast", &format!("{eight}\n{unit}")).unwrap_err();
        assert!(refused.contains("hybrid"), "{refused}");
    }

    #[test]
    fn moving_over_the_drive_is_asked_for_and_excludes_what_stays_in_a_plane() {
        let (drive, controller) = (("target", "drive"), ("copy", "controller"));
        let over_drive = |ftl: &[_], collection: &[_]| {
            page_map(ftl, collection).map(|map| map.collection.over_drive)
        };
        assert_eq!(over_drive(&[], &[controller]), Ok(false), "unless asked for");
        assert_eq!(over_drive(&[], &[("target", "plane")]), Ok(false));
        assert_eq!(over_drive(&[], &[drive, controller]), Ok(true));
        let refused = over_drive(&[], &[drive]).expect_err("copy-back is the default");
        assert!(refused.contains("a copy-back leaves a page in its plane"), "{refused}");
        let fixed = over_drive(&[("allocation", "static")], &[drive, controller]);
        assert!(fixed.expect_err("static").contains("a static allocation fixes the plane"));
    }
}
