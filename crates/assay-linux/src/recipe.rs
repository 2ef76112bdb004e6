//! From Debian's kernel source to a kernel for virtual time.
//!
//! User-Mode Linux of the pinned source, unchanged but for `kernel.patch`, with the options of
//! `kernel.config`. Everything happens in the cache directory; what is not needed afterwards is
//! removed. The same source and recipe give the same kernel, byte for byte.

use crate::error::{Error, Result};
use crate::kernel::{cache, missing, tool_path};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian's package of the source.
const PACKAGE: &str = "linux-source-6.12";
/// Its version, and the checksum of the source in it.
const VERSION: &str = "6.12.117-1~deb12u1";
const CHECKSUM: &str = "585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f";
/// Counts changes of what is below: results belong to one recipe.
const RECIPE: u32 = 4;
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
/// What a guest could do to its host: it is root there, may mount what it likes, and sees the host's
/// files. Of those it can change only what is in its own directory. The kernel's side of `hostfs`
/// refuses the rest as on a file system that is read-only; the host's side opens nothing else for
/// writing and follows no link on its way, for what the kernel has cached may have become one. Nor
/// can root open `/dev/mem`, through which he could change the kernel. Drives that are files of the
/// host's (`ubd`) are made by the command line alone.
///
/// *The numbers.* Random numbers, and with them where files come to lie, depend on how many were
/// drawn at boot, one for each device's name, and on addresses in the kernel's code. So drivers that
/// nobody needs stay (`/dev/mem`, `ubd`), and the host's side calls what it called before.
///
/// And `/dev/virtual-time`, a page with the time in it, for our program to read it without a call.
const PATCH: &str = include_str!("kernel.patch");

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

/// Builds the kernel with so many processes; returns its identity.
///
/// # Errors
/// What is missing, and how to get it; what the build said, if it failed.
pub fn build(origin: &Origin, jobs: usize, progress: &mut dyn Progress) -> Result<String> {
    check_tools()?;
    let target = cache()?.join("linux");
    let work = cache()?.join("linux.building");
    let made = |e| Error::system(&format!("the directory {}", work.display()), e);
    if work.exists() {
        fs::remove_dir_all(&work).map_err(made)?;
    }
    fs::create_dir_all(&work).map_err(made)?;
    progress.step("fetch the source", None);
    let (tarball, version) = match origin {
        Origin::Apt => download(&work)?,
        Origin::File(path) => (path.clone(), String::new()),
    };
    progress.step("check it", None);
    let identity = identify(&tarball, &version)?;
    progress.step("unpack it", None);
    let tree = work.join("source");
    fs::create_dir(&tree).map_err(made)?;
    run(Command::new("tar")
        .arg("-xf")
        .arg(&tarball)
        .arg("--strip-components=1")
        .arg("-C")
        .arg(&tree))?;
    change(&work, &tree)?;
    progress.step("configure it", None);
    configure(&tree, &work.join("build"))?;
    progress.step("compile it", Some(FILES));
    compile(&tree, &work.join("build"), jobs, progress)?;
    progress.step("put it in place", None);
    let out = work.join("out");
    fs::create_dir(&out).map_err(made)?;
    run(Command::new("strip").arg("-o").arg(out.join("linux")).arg(work.join("build/linux")))?;
    fs::write(out.join("identity"), format!("{identity}\n")).map_err(made)?;
    if target.exists() {
        fs::remove_dir_all(&target).map_err(made)?;
    }
    fs::rename(&out, &target).map_err(made)?;
    // The kernel is there; a directory that stays is only room.
    let _ = fs::remove_dir_all(&work);
    Ok(identity)
}

/// Whether a kernel of this identity is made as this program makes them.
pub fn is_current(identity: &str) -> bool {
    identity.ends_with(&format!(", recipe {RECIPE}"))
}

fn check_tools() -> Result<()> {
    const TOOLS: [(&str, &str); 9] = [
        ("gcc", "build-essential"),
        ("make", "build-essential"),
        ("ld", "build-essential"),
        ("patch", "build-essential"),
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("xz", "xz-utils"),
        ("tar", "tar"),
    ];
    let gone = TOOLS.iter().filter(|(tool, _)| tool_path(tool).is_none());
    let gone: Vec<&(&str, &str)> = gone.collect();
    let Some((tool, _)) = gone.first() else { return Ok(()) };
    let packages: Vec<&str> = gone.iter().map(|(_, package)| *package).collect();
    Err(missing(tool, &packages.join(" ")))
}

/// Fetches and unpacks Debian's package; returns the source in it and the package's version.
fn download(work: &Path) -> Result<(PathBuf, String)> {
    if tool_path("apt-get").is_none() || tool_path("dpkg-deb").is_none() {
        let message = "this machine has no `apt-get` to fetch the source with";
        let hint = format!(
            "get `{PACKAGE}` {VERSION} of Debian elsewhere and give the \
             `{PACKAGE}.tar.xz` in it: `assay linux build --source FILE`"
        );
        return Err(Error::new("linux-no-source", message, hint));
    }
    let fetch =
        |what: &str| run(Command::new("apt-get").arg("download").arg(what).current_dir(work));
    // The archive keeps a version until some time after the next one.
    if let Err(first) = fetch(&format!("{PACKAGE}={VERSION}")) {
        fetch(PACKAGE).map_err(|_| Error {
            hint: format!("does `apt-get update` help? Debian has it as `{PACKAGE}`"),
            ..first
        })?;
    }
    let entries = fs::read_dir(work).map_err(|e| Error::system("the package", e))?;
    let mut files = entries.filter_map(|e| Some(e.ok()?.path()));
    let package = files.find(|p| p.extension().is_some_and(|e| e == "deb"));
    let package = package.ok_or_else(|| {
        Error::new("linux-no-source", "apt has fetched nothing", "does `apt-get update` help?")
    })?;
    let output = Command::new("dpkg-deb").arg("-f").arg(&package).arg("Version").output();
    let version = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(work))?;
    Ok((work.join(format!("usr/src/{PACKAGE}.tar.xz")), version.unwrap_or_default()))
}

/// What the source is, by its checksum. Another than the pinned one is taken only from apt, which
/// has checked its signature.
fn identify(tarball: &Path, version: &str) -> Result<String> {
    let output = Command::new("sha256sum").arg(tarball).output();
    let output = output.map_err(|_| missing("sha256sum", "coreutils"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let checksum = text.split_whitespace().next().unwrap_or_default();
    if checksum == CHECKSUM {
        return Ok(format!("Debian {VERSION}, recipe {RECIPE}"));
    }
    if checksum.is_empty() {
        let message = format!("{} cannot be read", tarball.display());
        return Err(Error::new("linux-no-source", message, "is the path right?"));
    }
    if !version.is_empty() {
        return Ok(format!("Debian {version} ({}), recipe {RECIPE}", &checksum[..12]));
    }
    let message = format!("{} has another checksum than {PACKAGE} {VERSION}", tarball.display());
    let hint = format!("it must be {CHECKSUM}; without `--source` apt fetches it");
    Err(Error::new("linux-checksum", message, hint))
}

fn change(work: &Path, tree: &Path) -> Result<()> {
    let path = work.join("kernel.patch");
    fs::write(&path, PATCH).map_err(|e| Error::system("the changes", e))?;
    let mut patch = Command::new("patch");
    patch.args(["-p1", "--fuzz=0", "--forward", "--batch", "-d"]).arg(tree).arg("-i").arg(&path);
    run(&mut patch).map_err(|e| {
        let message = format!("this source is not as the recipe knows it ({})", e.message);
        Error::new("linux-source", message, "take the pinned version")
    })
}

/// `make` for this source; all that would tell when, where and by whom it was built is fixed.
fn make(tree: &Path, build: &Path) -> Command {
    let mut command = Command::new("make");
    command.arg("-C").arg(tree).arg("ARCH=um").arg(format!("O={}", build.display()));
    command.env("KBUILD_BUILD_TIMESTAMP", "2010-01-01").env("KBUILD_BUILD_VERSION", "1");
    command.env("KBUILD_BUILD_USER", "assay").env("KBUILD_BUILD_HOST", "localhost");
    command.env_remove("MAKEFLAGS");
    command
}

fn configure(tree: &Path, build: &Path) -> Result<()> {
    fs::create_dir(build).map_err(|e| Error::system("the build directory", e))?;
    run(make(tree, build).arg("defconfig"))?;
    let path = build.join(".config");
    let configured =
        || fs::read_to_string(&path).map_err(|e| Error::system("the configuration", e));
    fs::write(&path, configured()? + CONFIG).map_err(|e| Error::system("the configuration", e))?;
    run(make(tree, build).arg("olddefconfig"))?;
    let got = configured()?;
    let lost: Vec<&str> = CONFIG.lines().filter(|line| !is_so(line, &got)).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let message = format!("this source does not have it so: {}", lost.join(", "));
    Err(Error::new("linux-source", message, "take the pinned version"))
}

/// Whether a configuration is as a line of [`CONFIG`] wants it. What is not set need not be there.
fn is_so(line: &str, got: &str) -> bool {
    match line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set")) {
        Some(option) => !got.lines().any(|l| l.split('=').next() == Some(option)),
        None => got.lines().any(|l| l == line),
    }
}

fn compile(tree: &Path, build: &Path, jobs: usize, progress: &mut dyn Progress) -> Result<()> {
    let log_path = build.join("build.log");
    let log = File::create(&log_path).map_err(|e| Error::system("the build's log", e))?;
    let mut command = make(tree, build);
    command.arg(format!("-j{jobs}")).arg("linux");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().map_err(|_| missing("make", "build-essential"))?;
    let out = child.stdout.take().expect("it was asked for");
    let mut files = 0;
    for line in BufReader::new(out).lines().map_while(std::result::Result::ok) {
        if line.starts_with("  ") {
            files += 1;
            progress.done(files);
        }
    }
    let status = child.wait().map_err(|e| Error::system("the build", e))?;
    if status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(&log_path).unwrap_or_default();
    let errors = said.lines().filter(|l| l.contains("rror")).take(3).collect::<Vec<_>>().join("; ");
    let message = format!("the kernel could not be compiled: {errors}");
    Err(Error::new("linux-build", message, format!("all it said: {}", log_path.display())))
}

/// Runs a step to its end.
fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|_| missing(&name, &name))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().last().unwrap_or_default();
    let message = format!("`{name}` failed: {last}");
    Err(Error::new("linux-build", message, "is there room for 3 GB in the cache directory?"))
}
