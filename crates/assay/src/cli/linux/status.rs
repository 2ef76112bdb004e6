//! `assay linux status`: prints whether the kernel is built and can run here, and which tools are
//! missing.

use crate::cli::options::Common;
use crate::output::plan::Plan;
use crate::output::{DONE, Failure, Outcome, data, json, shown};
use assay_linux::{kernel, kernel_build};
use assay_spec::linux::FILESYSTEMS;

/// Options of `assay linux status`.
#[derive(Debug, clap::Args)]
pub struct LinuxStatusOptions {
    #[command(flatten)]
    common: Common,
}

/// Runs the verb.
pub fn main(options: &LinuxStatusOptions) -> Outcome {
    if options.common.plan {
        return Plan::default().show(&options.common);
    }
    let kernel = kernel::find().map_err(|e| Failure::from(assay_engine::Error::from(e)))?;
    let tools = ["mdadm", "git", "fio"].into_iter().map(str::to_owned);
    let tools = FILESYSTEMS.iter().map(|fs| tool_of(fs)).chain(tools);
    let gone: Vec<String> = tools.filter(|tool| kernel::tool_path(tool).is_none()).collect();
    if options.common.json {
        let path = shown(&kernel.path);
        json(&serde_json::json!({
            "kernel": kernel.identity,
            "is_current": kernel_build::is_current(&kernel.identity),
            "path": path,
            "missing": gone,
        }));
        return Ok(DONE);
    }
    data(&format!("kernel   {}\npath     {}", kernel.identity, kernel.path.display()));
    if !kernel_build::is_current(&kernel.identity) {
        data(
            "         built with the recipe of another version of assay; `assay linux build` \
             builds it again",
        );
    }
    if !gone.is_empty() {
        data(&format!(
            "missing  {} (workloads that need these programs are skipped)",
            gone.join(", ")
        ));
    }
    Ok(DONE)
}

/// Returns the name of the program that a file system of this kind needs: the one that makes it, or
/// `zfs-fuse`.
fn tool_of(filesystem: &str) -> String {
    if filesystem == "zfs" { "zfs-fuse".to_owned() } else { format!("mkfs.{filesystem}") }
}
