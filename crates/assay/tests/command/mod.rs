//! The command and a place to run it in.

use std::path::Path;
use std::process::{Command, Output};

/// An empty directory, removed when it is dropped; on a disk, so that `O_DIRECT` works.
pub fn temporary() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs `assay` in `dir` to its end.
pub fn assay(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(dir).args(arguments).output().unwrap()
}
