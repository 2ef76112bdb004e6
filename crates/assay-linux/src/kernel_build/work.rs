//! The steps of a build, in a directory of its own.

use super::recipe::{CHECKSUM, CONFIG, FIRST_PROGRAM, PACKAGE, PATCHES, RECIPE, VERSION};
use crate::child::{self, tool, watched_tool};
use crate::error::{Error, Result};
use crate::kernel::tool_path;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A receiver of the build's progress.
pub trait Progress {
    /// Notes that a step begins, with its number of parts if that is known.
    fn step(&mut self, name: &str, parts: Option<u64>);
    /// Notes that `parts` parts of the step are done in all.
    fn done(&mut self, parts: u64);
}

/// The directory of a build, and a function that returns `true` if the build is to stop.
pub(super) struct Work<'a> {
    pub(super) path: &'a Path,
    pub(super) stop: fn() -> bool,
}

impl Work<'_> {
    /// Returns the error for a file that cannot be written here.
    pub(super) fn failed(&self, e: std::io::Error) -> Error {
        Error::system(&format!("the directory {}", self.path.display()), e)
    }

    /// Makes the directory `name` for a step.
    pub(super) fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir(&path).map_err(|e| self.failed(e))?;
        Ok(path)
    }

    /// Runs a program of a step to its end; returns its output.
    pub(super) fn run(&self, command: &mut Command) -> Result<String> {
        let said = self.path.join("said");
        let name = command.get_program().to_string_lossy().into_owned();
        let status = child::run(command.stdin(Stdio::null()), &said, self.stop, || {})?;
        let text = String::from_utf8_lossy(&fs::read(&said).unwrap_or_default()).into_owned();
        if status.success() {
            return Ok(text);
        }
        let last = text.lines().last().unwrap_or_default();
        let why = status.signal().map_or_else(|| last.to_owned(), |n| format!("signal {n}"));
        let message = format!("`{name}` failed: {why}");
        Err(Error::new(
            "linux-build",
            message,
            "check that the cache directory has 3 GB of free space",
        ))
    }

    /// Fetches and unpacks Debian's package; returns the source in it and the package's version.
    pub(super) fn download(&self) -> Result<(PathBuf, String)> {
        if tool_path("apt-get").is_none() || tool_path("dpkg-deb").is_none() {
            let message = "this machine has no `apt-get` to fetch the source with";
            let hint = format!(
                "get Debian's package `{PACKAGE}` {VERSION} elsewhere, and give the \
                 `{PACKAGE}.tar.xz` from it: `assay linux build --source FILE`"
            );
            return Err(Error::new("linux-no-source", message, hint));
        }
        let place = self.directory("package")?;
        let fetch = |what: &str| {
            // With the user's environment, which says how to reach the archive.
            self.run(Command::new("apt-get").arg("download").arg(what).current_dir(&place))
        };
        // The archive keeps a version for some time after the next one.
        match fetch(&format!("{PACKAGE}={VERSION}")) {
            Ok(_) => {}
            Err(stopped) if stopped.id == "linux-stopped" => return Err(stopped),
            Err(first) => {
                fetch(PACKAGE).map_err(|_| Error {
                    hint: format!(
                        "try `apt-get update`: the source is Debian's package `{PACKAGE}`"
                    ),
                    ..first
                })?;
            }
        }
        let entries = fs::read_dir(&place).map_err(|e| Error::system("the package", e))?;
        let mut files = entries.filter_map(|e| Some(e.ok()?.path()));
        let package = files.find(|p| p.extension().is_some_and(|e| e == "deb"));
        let package = package.ok_or_else(|| {
            Error::new("linux-no-source", "apt fetched no package", "try `apt-get update`")
        })?;
        let version = self.run(tool("dpkg-deb").arg("-f").arg(&package).arg("Version"))?;
        self.run(tool("dpkg-deb").arg("-x").arg(&package).arg(&place))?;
        let tarball = place.join(format!("usr/src/{PACKAGE}.tar.xz"));
        Ok((tarball, version.trim().to_owned()))
    }

    /// Identifies the source by its checksum. One that differs from the pinned one is accepted only
    /// from apt, which has checked its signature.
    pub(super) fn identify(&self, tarball: &Path, version: &str) -> Result<String> {
        let compiler = self.run(tool("gcc").arg("-dumpfullversion"))?;
        let compiler = format!("gcc {}", compiler.trim());
        let text = self.run(tool("sha256sum").arg(tarball))?;
        let checksum = text.split_whitespace().next().unwrap_or_default();
        if checksum == CHECKSUM {
            return Ok(format!("Debian {VERSION}, recipe {RECIPE}, {compiler}"));
        }
        if !version.is_empty() {
            let short = checksum.get(..12).unwrap_or(checksum);
            return Ok(format!("Debian {version} ({short}), recipe {RECIPE}, {compiler}"));
        }
        let name = tarball.display();
        let message = format!("the checksum of {name} is not that of {PACKAGE} {VERSION}");
        let hint = format!(
            "give the file with the checksum {CHECKSUM}, or leave out `--source` so that apt \
             fetches it"
        );
        Err(Error::new("linux-checksum", message, hint))
    }

    /// Patches the source.
    pub(super) fn change(&self, tree: &Path) -> Result<()> {
        let path = self.path.join("patch");
        PATCHES.into_iter().try_for_each(|changes| {
            fs::write(&path, changes).map_err(|e| Error::system("the changes", e))?;
            let mut patch = tool("patch");
            patch.args(["-p1", "--fuzz=0", "--forward", "--batch", "-d"]);
            patch.arg(tree).arg("-i").arg(&path);
            self.run(&mut patch).map(drop).map_err(|e| match e.id {
                "linux-build" => {
                    let cause = e.message;
                    let message =
                        format!("this source is not the one that the recipe changes ({cause})");
                    Error::new("linux-source", message, "use the pinned version of the source")
                }
                _ => e,
            })
        })
    }

    /// Configures the kernel with our options, and checks that they are in effect.
    pub(super) fn configure(&self, tree: &Path, build: &Path) -> Result<()> {
        self.run(of_source(&mut tool("make"), tree, build).arg("defconfig"))?;
        let path = build.join(".config");
        let configured =
            || fs::read_to_string(&path).map_err(|e| Error::system("the configuration", e));
        fs::write(&path, configured()? + CONFIG)
            .map_err(|e| Error::system("the configuration", e))?;
        self.run(of_source(&mut tool("make"), tree, build).arg("olddefconfig"))?;
        let got = configured()?;
        let lost: Vec<&str> = CONFIG.lines().filter(|line| !is_so(line, &got)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let message = format!(
            "with this source, these options of the recipe are not in effect: {}",
            lost.join(", ")
        );
        Err(Error::new("linux-source", message, "use the pinned version of the source"))
    }

    /// Compiles the kernel and reports progress: the output has a line with two leading blanks per
    /// file.
    pub(super) fn compile(
        &self,
        tree: &Path,
        build: &Path,
        jobs: usize,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let said = self.path.join("said");
        let mut command = watched_tool("make");
        of_source(&mut command, tree, build).arg(format!("-j{jobs}")).arg("linux");
        let (mut log, mut text) = (None, String::new());
        let status = child::run(&mut command, &said, self.stop, || {
            log = log.take().or_else(|| File::open(&said).ok());
            let more = log.as_mut().map(|log: &mut File| log.read_to_string(&mut text));
            if more.is_some_and(|more| more.is_ok_and(|count| count > 0)) {
                progress.done(text.lines().filter(|line| line.starts_with("  ")).count() as u64);
            }
        })?;
        if status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&fs::read(&said).unwrap_or_default()).into_owned();
        let errors = text.lines().filter(|l| l.contains("rror")).take(8);
        let errors = errors.collect::<Vec<_>>().join("; ");
        let message = format!("the kernel could not be compiled: {errors}");
        let hint = "check the memory for so many compiler processes (`--jobs`), and that the cache \
                    directory has 3 GB of free space";
        Err(Error::new("linux-build", message, hint))
    }

    /// Compiles the first program of a guest.
    pub(super) fn first_program(&self, to: &Path) -> Result<()> {
        let source = self.path.join("init.c");
        fs::write(&source, FIRST_PROGRAM).map_err(|e| self.failed(e))?;
        let mut gcc = tool("gcc");
        gcc.args(["-O2", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector"]);
        self.run(gcc.arg("-s").arg("-o").arg(to).arg(&source)).map(drop)
    }
}

/// Lets `make` work on this source, with fixed values for the time, place and builder that it would
/// record.
fn of_source<'a>(make: &'a mut Command, tree: &Path, build: &Path) -> &'a mut Command {
    make.arg("-C").arg(tree).arg("ARCH=um").arg(format!("O={}", build.display()));
    make.env("KBUILD_BUILD_TIMESTAMP", "2010-01-01").env("KBUILD_BUILD_VERSION", "1");
    make.env("KBUILD_BUILD_USER", "assay").env("KBUILD_BUILD_HOST", "localhost")
}

/// Returns `true` if a configuration agrees with a line of [`CONFIG`]. An option that is not to be
/// set may be missing.
fn is_so(line: &str, got: &str) -> bool {
    match line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set")) {
        Some(option) => !got.lines().any(|l| l.split('=').next() == Some(option)),
        None => got.lines().any(|l| l == line),
    }
}
