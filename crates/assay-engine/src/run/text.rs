//! Writes files of text, each of which appears as a whole, and reports failures.

use crate::error::{Error, Result};
use assay_fs::{Draft, Node, Replace};
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
/// If it cannot be written, or the name belongs to something that may not be replaced.
pub fn write_text(path: &Path, text: &str, replace: Replace) -> Result<()> {
    write(Draft::at(path), text, replace).map(drop).map_err(|e| not_written(path, e))
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
        ErrorKind::NotFound => Error::usage(
            "not-written",
            format!("{name} cannot be written"),
            "name a file in a directory that exists",
        ),
        _ => Error::environment(
            "not-written",
            format!("{name} cannot be written"),
            "free space or choose another place with `--out DIR`",
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
