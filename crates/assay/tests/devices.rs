//! `assay devices`: what it lists, and DiskSim's files turned into ours.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::process::{Command, Output};

fn devices(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.arg("devices").args(arguments).output().expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn all_that_is_listed_can_be_shown() {
    let list: serde_json::Value = serde_json::from_slice(&devices(&["--json"]).stdout).unwrap();
    for (kind, least) in [("models", 12), ("controllers", 2), ("processors", 5)] {
        let all = list[kind].as_array().unwrap_or_else(|| panic!("{kind}: {list}"));
        assert!(all.len() >= least, "{kind}: {list}");
        for name in all.iter().map(|one| one["name"].as_str().expect("a name")) {
            let shown = devices(&[name]);
            assert!(shown.status.success(), "{name}: {}", text(&shown.stderr));
        }
    }
}

#[test]
fn a_disk_of_disksim_becomes_a_device_file() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("ASSAY_DATA").map_or(root.join("../shared/data"), PathBuf::from);
    let specs = data.join("disksim/atlas10k.diskspecs");
    if !specs.exists() {
        return println!("skipped: no {}", specs.display());
    }
    let imported = devices(&["--import-disksim", &specs.to_string_lossy()]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    let ours = std::fs::read_to_string(root.join("devices/atlas10k.toml")).expect("in the tree");
    assert!(text(&imported.stdout) == ours, "the catalogue has what the importer makes");
}

#[test]
fn what_is_no_disk_of_disksim_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let specs = folder.path().join("x.diskspecs");
    let refused = |content: &str| {
        std::fs::write(&specs, content).expect("written");
        let output = devices(&["--import-disksim", &specs.to_string_lossy()]);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).replace(&folder.path().display().to_string(), "DIR")
    };
    assert_eq!(
        refused("nothing of the kind"),
        "error: DIR/x.diskspecs names no model\nhint: check that it is a .diskspecs file with a \
         `disksim_disk` block\n"
    );
    let missing = refused("disksim_disk X { Model = source x.model }");
    assert!(missing.starts_with("error: cannot read DIR/x.model: "), "{missing}");
}
