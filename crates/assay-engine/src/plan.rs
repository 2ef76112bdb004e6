//! Opens targets as the user writes them: `null`, `sim:NAME`, `sim:FILE.toml`, `raid5(…)`,
//! `linux(…)`, or a path.

mod array;
mod linux;
mod model;
mod real;
mod reopen;
mod target;

pub(crate) use array::switch_caches_off;
pub use linux::open_drives;
pub use model::load_model;
pub use real::{Use, check_named_once};
pub use reopen::reopen_target;
pub use target::{PlanError, PlannedTarget, TargetKind};

use crate::error::Error;
use assay_spec::array::{is_array, parse_linux};
use assay_spec::diagnostic::edit_distance;
use assay_spec::linux::is_linux;
use assay_spec::record::IntentRecord;
use model::{find_model, model_target, null_target};
use real::{directory, open_real};
use std::path::Path;

/// Opens the target written as `written` for the use that `plan` says.
///
/// # Errors
/// If there is no such target, or `intent` does not allow this use.
pub fn open_target(
    written: &str,
    intent: &IntentRecord,
    plan: Use,
) -> std::result::Result<PlannedTarget, PlanError> {
    if written.trim() != written && !Path::new(written).exists() {
        let hint = "leave out the blanks before or after the name: they count as part of the name";
        let message = format!("there is no target `{written}`");
        return Err(Error::usage("unknown-target", message, hint).into());
    }
    if is_linux(written) && !Path::new(written).exists() {
        return linux::open(written, None, || Ok(Ok(linux::kernel()?)));
    }
    if is_array(written) && !Path::new(written).exists() {
        return array::open(written, None);
    }
    match written.split_once(':') {
        Some(("sim", name)) => {
            let (spec, text) = load_model(name)?;
            Ok(model_target(written, spec, text))
        }
        None if written == "null" => Ok(null_target()),
        Some((word, rest)) if is_misspelt_sim(word) && !Path::new(written).exists() => {
            Err(unknown_target(written, rest).into())
        }
        None if !Path::new(written).exists() && find_model(written).is_ok() => {
            Err(unknown_target(written, written).into())
        }
        _ if Path::new(written).is_dir() => Ok(directory(written)?),
        _ => Ok(open_real(written, intent, plan)?),
    }
}

/// Opens a target like [`open_target`], but also Linux for which there is no kernel. The cells of
/// such a target are skipped and say why.
pub fn open_target_or_skip(
    written: &str,
    intent: &IntentRecord,
    plan: Use,
) -> std::result::Result<PlannedTarget, PlanError> {
    if !is_linux(written) || written.trim() != written || Path::new(written).exists() {
        return open_target(written, intent, plan);
    }
    linux::open(written, None, || {
        Ok(linux::kernel().map_err(|e| format!("{}: {}", e.message, e.hint)))
    })
}

/// Returns `true` if `word` may be a misspelt `sim`. A word with a slash is always a path.
fn is_misspelt_sim(word: &str) -> bool {
    !word.contains('/') && edit_distance(word, "sim") <= 2
}

fn unknown_target(written: &str, rest: &str) -> Error {
    let hint = format!("did you mean `sim:{rest}`? For a file of this name, write `./{written}`");
    Error::usage("unknown-target", format!("there is no target `{written}`"), hint)
}

/// Returns the name that cells give to a bundled drive or to Linux, without opening it. Returns
/// `None` for other targets.
pub fn name_in_cells(written: &str) -> Option<String> {
    match is_linux(written) {
        true => parse_linux(written).ok().map(|spec| linux::name_in_cells(&spec)),
        false => Some(find_model(written.strip_prefix("sim:")?).ok()?.name),
    }
}
