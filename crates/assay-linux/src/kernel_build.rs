//! From Debian's kernel source to a kernel for virtual time.
//!
//! User-Mode Linux of the pinned source, unchanged but for `kernel.patch`, with the options of
//! `kernel.config`. Everything happens in a directory of its own in the cache directory, which is
//! removed at the end, however that comes. The same source and recipe give the same kernel, byte
//! for byte.

mod place;
mod work;

use crate::child::tool;
use crate::error::{Error, Result};
use crate::kernel::{IDENTITY, INIT, KERNEL, cache, missing, tool_path};
use assay_fs::Scratch;
use place::Place;
use std::fs;
use std::path::{Path, PathBuf};
use work::Work;

/// Debian's package of the source.
const PACKAGE: &str = "linux-source-6.12";
/// Its version, and the checksum of the source in it.
const VERSION: &str = "6.12.117-1~deb12u1";
const CHECKSUM: &str = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f";
/// Counts changes of what is below: results belong to one recipe.
const RECIPE: u32 = 5;
/// Options that differ from the kernel's own for this architecture.
const CONFIG: &str = include_str!("kernel.config");
/// Files that are compiled, about: for progress.
const FILES: u64 = 1660;

/// Changes of the source, for `patch -p1`.
///
/// What the host needs: the state of the processor's registers is larger than the source allows for
/// since there is AMX; random numbers at boot must be the same each time; the guest's processes
/// shall end with their kernel, however that ends; and reading the clock, which a request does
/// twice, takes 128 ns instead of 256 (less would make programs that spin on it spin longer).
///
/// What a system call costs us: at each, the kernel fetches and sets the floating-point registers
/// of the program, which hardly ever change. It sets what is not there already; to tell, it
/// compares as much as there is instead of as much as there could be.
///
/// What a guest could do to its host: it is root there, may mount what it likes, and sees the
/// host's files. Of those it can change only what is in its own directory. The kernel's side of
/// `hostfs` refuses the rest as on a file system that is read-only; the host's side opens nothing
/// else for writing and follows no link on its way, for what the kernel has cached may have become
/// one. Nor can root open `/dev/mem`, through which he could change the kernel. Drives that are
/// files of the host's (`ubd`) are made by the command line alone.
///
/// *The numbers.* Random numbers, and with them where files come to lie, depend on how many were
/// drawn at boot, one for each device's name, and on addresses in the kernel's code. So drivers
/// that nobody needs stay (`/dev/mem`, `ubd`), and the host's side calls what it called before.
///
/// And `/dev/virtual-time`, a page with the time in it, for our program to read it without a call;
/// and `/dev/mmapper`, where that program lies, can be mapped in parts and needs no page fault.
const PATCH: &str = include_str!("kernel.patch");

/// The first program of a guest.
const FIRST_PROGRAM: &str = include_str!("init.c");

/// Where the source comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Debian's archive, through `apt-get download`: needs no rights.
    Apt,
    /// A file that is there.
    File(PathBuf),
}

/// Told how far it is.
pub trait Progress {
    /// A step begins, of so many parts if that is known.
    fn step(&mut self, name: &str, parts: Option<u64>);
    /// So many parts are done.
    fn done(&mut self, parts: u64);
}

/// Builds the kernel with so many processes, until `stop` says that nobody wants it any more;
/// returns its identity.
///
/// # Errors
/// What is missing, and how to get it; what the build said, if it failed; what is in the way.
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
    let place = Place::new(&cache)?;
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
    fs::write(out.join(IDENTITY), format!("{identity}\n")).map_err(|e| work.failed(e))?;
    let old = work.path.join("old");
    place.fill(&out, &old)?;
    // What was there before is older than what is swept away by itself.
    let _ = fs::remove_dir_all(&old);
    Ok(identity)
}

/// Whether a kernel of this identity is made as this program makes them.
pub fn is_current(identity: &str) -> bool {
    identity.ends_with(&format!(", recipe {RECIPE}"))
}

/// A device, a pipe or a directory is no source, and would be read for ever.
fn check_source(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(()),
        got => {
            let message = format!("{} is no file that can be read", path.display());
            let error = Error::new("linux-no-source", message, "is the path right?");
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
