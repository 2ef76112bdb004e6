//! The built kernel: finds it, and checks that this machine can run it.

use crate::error::{Error, Result};
use assay_fs::{Node, NodeKind, changeable_by_others};
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};

/// The largest size of the processor's floating-point and vector registers that the kernel is
/// built for, in bytes.
const REGISTERS_MAX: u64 = 11_264;

/// The files in a kernel's directory: the binary, the first program of its guests, and its version.
pub(crate) const KERNEL: &str = "linux";
pub(crate) const INIT: &str = "init";
pub(crate) const IDENTITY: &str = "identity";
/// The checksums of the kernel and the first program, as sha256sum prints them.
pub(crate) const CHECKSUMS: &str = "sha256sums";
/// The size, in bytes, from which a file is no identity.
const LONGEST_IDENTITY: u64 = 4096;

/// A kernel, ready to run.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The binary.
    pub path: PathBuf,
    /// The first program of its guests.
    pub init: PathBuf,
    /// The version of its source and of the recipe, as text.
    pub identity: String,
}

/// Returns assay's cache directory: `ASSAY_CACHE`, or `assay` in the user's cache directory.
///
/// # Errors
/// If neither it nor a home directory is set.
pub fn cache() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = || set("HOME").map(|home| home.join(".cache"));
    let base =
        set("ASSAY_CACHE").or_else(|| Some(set("XDG_CACHE_HOME").or_else(home)?.join("assay")));
    let base = base.ok_or_else(|| {
        let hint = "set HOME, or set ASSAY_CACHE to a directory with 3 GB of free space";
        Error::new("linux-no-cache", "there is no cache directory for the kernel", hint)
    })?;
    // An absolute path, because the kernel is started in another directory.
    std::path::absolute(base).map_err(|e| Error::system("the working directory", e))
}

/// Finds the kernel in the cache directory.
///
/// # Errors
/// If there is none, if root runs assay and another user may change it, or if the machine cannot
/// run it.
pub fn find() -> Result<Kernel> {
    let directory = cache()?.join("linux");
    let (path, init) = (directory.join(KERNEL), directory.join(INIT));
    let identity = identity(&directory);
    if !path.exists() || identity.is_empty() {
        return Err(Error::new(
            "linux-not-built",
            "the kernel for virtual time is not built",
            "build it once with `assay linux build`, in about ten minutes",
        ));
    }
    if !init.exists() {
        let message = "the kernel for virtual time was built by another version of assay";
        let hint = "build it again with `assay linux build`, in about ten minutes";
        return Err(Error::new("linux-not-built", message, hint));
    }
    check_owner(&path)?;
    check_owner(&init)?;
    check_owner(&directory.join(IDENTITY))?;
    can_run()?;
    Ok(Kernel { path, init, identity: identity.trim().to_owned() })
}

/// Returns the identity of the kernel in `directory`, or nothing if there is none.
pub(crate) fn identity(directory: &Path) -> String {
    let read = || {
        let node = Node::find(&directory.join(IDENTITY)).ok()?;
        let NodeKind::File(0..LONGEST_IDENTITY) = node.kind else { return None };
        std::io::read_to_string(node.open(OFlags::RDONLY).ok()?).ok()
    };
    read().unwrap_or_default()
}

/// Checks that root runs only what no other user can have put there: the kernel and all directories
/// above it belong to root, and no one else may write to them.
fn check_owner(kernel: &Path) -> Result<()> {
    let Some(open) = changeable_by_others(kernel) else { return Ok(()) };
    let message = format!("another user may change {}", open.display());
    let hint = "build a kernel that only root can write, with `ASSAY_CACHE=DIR assay linux build`, \
                or remove the rights of others with `chown root` and `chmod go-w`";
    Err(Error::new("linux-not-built", message, hint))
}

/// Checks that this machine can run the kernel.
///
/// # Errors
/// If it cannot: the reason, and a hint.
pub fn can_run() -> Result<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        let message = "User-Mode Linux runs on x86-64 Linux only";
        return Err(Error::new("linux-machine", message, "use such a machine"));
    }
    if !Path::new("/proc/sys/kernel").exists() {
        let message = "/proc is not mounted";
        return Err(Error::new("linux-machine", message, "mount it: `mount -t proc proc /proc`"));
    }
    tool_path("setarch").ok_or_else(|| missing("setarch", "util-linux"))?;
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    if scope.is_ok_and(|scope| scope.trim() == "3") {
        let message = "ptrace is switched off on this machine (kernel.yama.ptrace_scope is 3)";
        let hint = "set kernel.yama.ptrace_scope to another value and reboot: User-Mode Linux \
                    needs ptrace";
        return Err(Error::new("linux-no-ptrace", message, hint));
    }
    check_registers()
}

/// Checks that the processor's registers fit into the kernel's buffer. The system tells every
/// process the smallest size of a signal frame: the registers and less than a kilobyte.
fn check_registers() -> Result<()> {
    const AT_MINSIGSTKSZ: u64 = 51;
    const FRAME: u64 = 1024;
    let auxiliary = std::fs::read("/proc/self/auxv").unwrap_or_default();
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
    let mut pairs = auxiliary.chunks_exact(16).map(|pair| (word(&pair[..8]), word(&pair[8..])));
    let frame = pairs.find(|(key, _)| *key == AT_MINSIGSTKSZ).map_or(0, |(_, value)| value);
    if frame <= REGISTERS_MAX + FRAME {
        return Ok(());
    }
    let message = format!(
        "the registers of this processor need {frame} bytes, more than the guest's kernel supports"
    );
    let hint = "please report it: the recipe needs a larger number";
    Err(Error::new("linux-machine", message, hint))
}

/// Finds a program in `PATH`, `/usr/sbin` and `/sbin`.
pub fn tool_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    places.map(|place| place.join(&name)).find(|path| path.is_file())
}

/// Creates the error for a missing program of Debian's `package`.
pub fn missing(tool: &str, package: &str) -> Error {
    let hint = format!("install it; on Debian: `apt-get install {package}`");
    Error::new("linux-no-tool", format!("`{tool}` is not installed"), hint)
}
