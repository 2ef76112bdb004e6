//! What modelled drives tell of themselves is what an expectation may name, and nothing more.

use assay_analysis::metric::{TOLD, is_known};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Every kind of drive: page and hybrid mapping, a disk, arrays with cards, spares and arrays in
/// them. Writes that collect and merge, and reads behind them.
const EXPERIMENT: &str = r#"
format = 1
name = "told"
question = "What do they tell?"
log = false
targets = [
    "sim:tiny-page.toml", "sim:tiny-hybrid.toml", "sim:mortal-ssd.toml", "sim:leaving-ssd.toml",
    "sim:small-map-ssd.toml", "sim:warm-ssd.toml",
    "sim:ssd-m", "sim:wd1600js", "sim:seagate-archive-8tb", "sim:gp3-100", "sim:optane-p4800x",
    "raid5(sim:ssd-m*3, failed=1, rebuild=50MB/s, controller=perc-6i)",
    "raid1(raid0(sim:ssd-m@areca-1680*2), sim:wd1600js)",
]

[[workload]]
name = "mixed"
read_share = 0.5
size = "4KiB"
pattern = "random"
queue_depth = 4
measure = { requests = 3000 }
"#;

#[test]
fn every_number_that_a_drive_tells_may_be_expected() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["page", "hybrid"] {
        let text = std::fs::read_to_string(root.join(format!("fuzz/tiny/{name}.toml"))).unwrap();
        std::fs::write(dir.path().join(format!("tiny-{name}.toml")), text).unwrap();
    }
    for name in ["mortal", "leaving", "small-map", "warm"] {
        let file = format!("{name}-ssd.toml");
        let drive = root.join("examples/devices").join(&file);
        std::fs::copy(drive, dir.path().join(file)).unwrap();
    }
    std::fs::write(dir.path().join("told.toml"), EXPERIMENT).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(dir.path()).args(["run", "told.toml", "--quiet", "--out", "out"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(dir.path().join("out/cells.json")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&text).unwrap();
    let repeats = cells["cells"].as_array().unwrap().iter().map(|c| &c["repeats"][0]);
    let told: BTreeSet<&str> = repeats
        .flat_map(|r| r["device"].as_array().unwrap())
        .map(|pair| pair[0].as_str().unwrap())
        .collect();
    let unknown: Vec<_> = told.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "told, and not in the list: {unknown:?}");
    // The causes of programs occur or do not; everything else is always told.
    let silent: Vec<_> =
        TOLD.iter().filter(|name| !told.contains(*name) && !name.starts_with("wa_")).collect();
    assert!(silent.is_empty(), "in the list, and never told: {silent:?}");
}
