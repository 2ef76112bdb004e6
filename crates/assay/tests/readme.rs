//! README.md shows what the program prints.

mod command;

use command::{assay, temporary};
use std::fs;
use std::path::Path;

#[test]
fn the_first_example_is_what_quick_prints() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let shown = readme.split_once("run quick\n").unwrap().1.split_once("\n  …").unwrap().0;
    assert!(shown.lines().count() > 3, "{shown}");
    let directory = temporary();
    let output = assay(directory.path(), &["run", "quick", "--out", "run"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains(shown), "README.md has\n{shown}\nbut this is printed:\n{printed}");
}
