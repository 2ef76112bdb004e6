//! Builds the kernel for virtual time from Debian's kernel source.
//!
//! The kernel is User-Mode Linux of the pinned source with `kernel.patch` and the options of
//! `kernel.config`. The build works in a new directory in the cache directory, which is removed
//! at the end, even after an error. The same source, recipe, compiler and linker give the same
//! kernel, byte for byte.

mod place;
mod recipe;
mod work;

use crate::child::tool;
use crate::error::{Error, Result};
use crate::kernel::{CHECKSUMS, IDENTITY, INIT, KERNEL, cache, missing, tool_path};
use assay_fs::Scratch;
use place::KernelPlace;
use std::fs;
use std::path::{Path, PathBuf};
use work::Work;

pub use recipe::is_current;
pub use work::Progress;

/// The approximate number of files that are compiled, for the progress display.
const FILES: u64 = 1750;

/// The origin of the source.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Debian's archive, through `apt-get download`, which needs no privileges.
    Apt,
    /// A file of the user's, the source as `.tar.xz`.
    File(PathBuf),
}

/// Builds the kernel with `jobs` processes, and returns its identity.
///
/// # Errors
/// If a tool or the source is missing, a step fails, another build is under way, the kernel's place
/// holds something else, or `stop` returns `true`.
pub fn build(
    origin: &Origin,
    jobs: usize,
    stop: fn() -> bool,
    progress: &mut dyn Progress,
) -> Result<String> {
    check_tools()?;
    if let Origin::File(path) = origin {
        check_source(path)?;
    }
    let cache = cache()?;
    let place = KernelPlace::new(&cache)?;
    let scratch = Scratch::new(&cache, "linux.building", |_| true)
        .map_err(|e| Error::system(&format!("a directory in {}", cache.display()), e))?;
    let work = Work { path: scratch.path(), stop };
    progress.step("fetch the source", None);
    let (tarball, version) = match origin {
        Origin::Apt => work.download()?,
        Origin::File(path) => (absolute(path)?, String::new()),
    };
    progress.step("check it", None);
    let identity = work.identify(&tarball, &version)?;
    progress.step("unpack it", None);
    let tree = work.directory("source")?;
    let mut tar = tool("tar");
    tar.arg("-xf").arg(&tarball).arg("--strip-components=1").arg("-C").arg(&tree);
    work.run(&mut tar)?;
    work.change(&tree)?;
    progress.step("configure it", None);
    let build = work.directory("build")?;
    work.configure(&tree, &build)?;
    progress.step("compile it", Some(FILES));
    work.compile(&tree, &build, jobs, progress)?;
    progress.step("put it in place", None);
    let out = work.directory("out")?;
    work.run(tool("strip").arg("-o").arg(out.join(KERNEL)).arg(build.join("linux")))?;
    work.first_program(&out.join(INIT))?;
    let sums = work.run(tool("sha256sum").args([KERNEL, INIT]).current_dir(&out))?;
    // Another compiler or linker makes another kernel of the same source. Its basic blocks are
    // counted, and results depend on its size.
    let checksum = sums.split_whitespace().next().unwrap_or_default();
    let identity = format!("{identity}, build {}", checksum.get(..12).unwrap_or(checksum));
    fs::write(out.join(CHECKSUMS), sums).map_err(|e| work.failed(e))?;
    fs::write(out.join(IDENTITY), format!("{identity}\n")).map_err(|e| work.failed(e))?;
    let old = work.path.join("old");
    place.fill(&out, &old)?;
    // `Scratch` removes no files that are older than its directory, such as the old kernel's.
    let _ = fs::remove_dir_all(&old);
    Ok(identity)
}

/// Checks that the source is a regular file: a device or a pipe might be read for ever.
fn check_source(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(()),
        got => {
            let message = format!("{} is not a file that can be read", path.display());
            let error = Error::new("linux-no-source", message, "check the path");
            Err(got.err().into_iter().fold(error, Error::caused_by))
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| Error::system("the working directory", e))
}

fn check_tools() -> Result<()> {
    const TOOLS: [(&str, &str); 10] = [
        ("gcc", "build-essential"),
        ("make", "build-essential"),
        ("ld", "build-essential"),
        ("patch", "build-essential"),
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("xz", "xz-utils"),
        ("tar", "tar"),
        ("sha256sum", "coreutils"),
    ];
    let gone = TOOLS.iter().filter(|(tool, _)| tool_path(tool).is_none());
    let gone: Vec<&(&str, &str)> = gone.collect();
    let Some((tool, _)) = gone.first() else { return Ok(()) };
    let packages: Vec<&str> = gone.iter().map(|(_, package)| *package).collect();
    Err(missing(tool, &packages.join(" ")))
}
