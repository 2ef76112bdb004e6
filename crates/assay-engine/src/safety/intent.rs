//! The user's options about writing to a target.

use crate::error::{Error, Result};
use assay_fs::Node;
use assay_spec::Bytes;
use std::path::{Path, PathBuf};

/// The user's options about writing to one target.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// `--write PATH`, which must name the target again.
    pub write: Option<PathBuf>,
    /// `--destroy SERIAL`: the serial number of a device whose contents may be lost; for a device
    /// without one, its kernel name and a digest, e.g. `loop3-5f21ab90`.
    pub destroy: Option<String>,
    /// `--size`, for a file that does not exist.
    pub size: Option<Bytes>,
    /// Whether the plan contains writes (or trims).
    pub writes: bool,
    /// Whether the plan writes to the target if that is a file that assay makes.
    pub writes_if_new: bool,
    /// Whether the plan is only shown: no file is made.
    pub only_shown: bool,
}

/// Checks that `--write` was given and names `path`.
///
/// `fatal` is the reason why the target would be refused even with `--write`, so that the hint must
/// not suggest it.
pub(crate) fn check_write(
    path: &Path,
    node: &Node,
    intent: &Intent,
    fatal: Option<&str>,
) -> Result<()> {
    let Some(write) = &intent.write else {
        let message = format!("the plan writes to {}, which exists", path.display());
        let hint = match fatal {
            Some(reason) => format!("choose another target: {reason}"),
            None => format!(
                "allow it with `--write {}`: the present contents are lost then",
                path.display()
            ),
        };
        return Err(Error::environment("write-not-allowed", message, hint));
    };
    if write == path || Node::find(write).is_ok_and(|named| named.is_same(node)) {
        return Ok(());
    }
    let message = format!("--write names {}, the target is {}", write.display(), path.display());
    let hint = "give the path of the target after --write";
    Err(Error::environment("write-mismatch", message, hint))
}
