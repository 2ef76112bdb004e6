//! Writes files of text, each of which appears as a whole, and reports failures.

use crate::error::{Error, Result};
use crate::safety::layers::OpenLayers;
use assay_fs::{Directory, Draft, Node, Replace};
use assay_spec::Bytes;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Converts the value of the file `name` to a line of JSON.
///
/// # Errors
/// If it has more than `most` bytes, the size limit of its reader.
pub(super) fn json<T: serde::Serialize>(name: &str, value: &T, most: u64) -> Result<String> {
    let mut text = serde_json::to_string(value).expect("records are plain data");
    text.push('\n');
    if text.len() as u64 <= most {
        return Ok(text);
    }
    let message =
        format!("`{name}` would have more than {}, and assay reads no larger one", Bytes(most));
    let hint = "make several runs with fewer cells or repeats each, or keep fewer latencies with \
                `first`";
    Err(Error::environment("too-large-record", message, hint))
}

/// Replaces the file `path`, which a user named, as a whole.
///
/// # Errors
/// If it cannot be written, or the name belongs to something that may not be replaced. If a device
/// below could not keep it, or does not answer before the user interrupts.
pub fn write_text(path: &Path, text: &str, replace: Replace) -> Result<()> {
    let failed = |e| not_written(path, e);
    let name = path.file_name().ok_or_else(|| failed(ErrorKind::InvalidInput.into()))?;
    let directory = Directory::open_for_new(path.parent().unwrap_or(Path::new(".")));
    let directory = directory.map_err(failed)?;
    let below = OpenLayers::below(directory.node().map_err(failed)?)?;
    write(Draft::begin(&directory, name), text, replace).map_err(failed)?;
    below.flush(|cause| results_lost(path, cause))
}

/// Writes `text` to a draft and gives it its name.
pub(super) fn write(
    draft: io::Result<(Draft, std::fs::File)>,
    text: &str,
    replace: Replace,
) -> io::Result<Node> {
    let (draft, mut file) = draft?;
    file.write_all(text.as_bytes())?;
    draft.publish(&file, replace)
}

/// Returns the error for results at `path` that a device below has lost.
pub(super) fn results_lost(path: &Path, cause: io::Error) -> Error {
    let message = format!("not all of {} reached the disk", path.display());
    let hint = "check the disk (`dmesg`) and the free space of the file systems below; do not \
                trust what is there: it may be gone after the next mount";
    Error::environment("results-lost", message, hint).caused_by(cause)
}

/// Returns the error for a file that was not written because of `cause`.
pub(super) fn not_written(path: &Path, cause: std::io::Error) -> Error {
    let name = path.display();
    let error = match cause.kind() {
        ErrorKind::AlreadyExists => Error::environment(
            "not-replaced",
            format!("{name} existed before and was not replaced"),
            "choose another name, or give `--force` if this regular file may be replaced",
        ),
        ErrorKind::InvalidInput | ErrorKind::Unsupported => Error::environment(
            "not-written",
            format!("{name} cannot be written"),
            "name a file elsewhere: `/dev`, `/proc` and `/sys` do not keep files",
        ),
        ErrorKind::ReadOnlyFilesystem => Error::environment(
            "not-written",
            format!("{name} cannot be written"),
            "remount the file system read-write, or work on a copy elsewhere",
        ),
        ErrorKind::NotFound => Error::usage(
            "not-written",
            format!("{name} cannot be written"),
            "name a file in a directory that exists",
        ),
        _ => Error::environment(
            "not-written",
            format!("{name} cannot be written"),
            "check the permissions and the free space (`df`) of this place, or choose another",
        ),
    };
    error.caused_by(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_reader_would_refuse_is_not_written() {
        assert_eq!(json("cells.json", &[1, 2], 6).unwrap(), "[1,2]\n");
        assert_eq!(json("cells.json", &[1, 2], 5).unwrap_err().id, "too-large-record");
    }
}
