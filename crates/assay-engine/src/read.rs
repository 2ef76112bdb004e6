//! Reads files that a user names, or that others may have put into a run directory, so that none of
//! them can hang the program or fill its memory.
//!
//! Only regular files are opened, also through symlinks: a pipe makes the reader wait, and a device
//! may have no end. A file that is read as a whole has a size limit, even if it grows meanwhile.

use crate::available::available_memory;
use crate::error::limit_hint;
use assay_spec::Bytes;
use assay_spec::units::human_size;
use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The size limit, in bytes, of specs, devices, controllers, price lists, DiskSim's files and
/// `trace.json`.
pub const SPEC_MAX: u64 = 1 << 20;
/// The size limit of `run.json`, in bytes. It contains all specs of its run.
pub const RUN_MAX: u64 = 64 << 20;
/// The size limit of `cells.json`, in bytes.
pub const CELLS_MAX: u64 = 1 << 30;

/// The reason why a file was not read.
#[derive(Debug)]
pub struct Unread {
    /// The system's error, or what is wrong with the file.
    pub error: Error,
    /// Advice, if the kind or the size of the file is wrong.
    hint: Option<&'static str>,
}

impl Unread {
    /// Returns advice: what is wrong with the kind or size of the file, or which limit of the
    /// process a system call met, else `otherwise`.
    pub fn hint(&self, otherwise: &str) -> String {
        self.hint.or(limit_hint(&self.error)).unwrap_or(otherwise).to_owned()
    }

    /// Returns `true` if the file was read but is not text.
    pub fn is_no_text(&self) -> bool {
        self.hint.is_none() && self.error.kind() == ErrorKind::InvalidData
    }

    /// Returns `true` if the system denied permission.
    pub fn is_forbidden(&self) -> bool {
        self.error.kind() == ErrorKind::PermissionDenied
    }

    /// Returns `true` if the name is wrong: there is no such file, or it is of the wrong kind.
    pub fn is_wrong_name(&self) -> bool {
        use ErrorKind::{InvalidData, InvalidInput, NotADirectory, NotFound};
        matches!(self.error.kind(), InvalidData | InvalidInput | NotADirectory | NotFound)
    }

    fn new(what: impl Into<String>, hint: &'static str) -> Unread {
        let error = Error::new(ErrorKind::InvalidData, what.into());
        Unread { error, hint: Some(hint) }
    }
}

impl From<Error> for Unread {
    fn from(error: Error) -> Unread {
        Unread { error, hint: None }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)
    }
}

/// Opens a regular file for reading.
///
/// # Errors
/// If it cannot be opened or is not a regular file.
pub fn file(path: &Path) -> Result<File, Unread> {
    // The first check comes before opening, because opening a device may have effects.
    regular(&path.metadata()?)?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    // The second one comes after it, because the name may lead elsewhere by now.
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Refuses anything but a regular file.
fn regular(found: &std::fs::Metadata) -> Result<(), Unread> {
    let kind = found.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "it is a directory",
        () if kind.is_fifo() => "it is a pipe",
        () if kind.is_socket() => "it is a socket",
        () => "it is a device",
    };
    Err(Unread::new(what, "name a regular file; save other input to a regular file first"))
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// If it cannot be read, is not a regular file, or is larger.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    let file = file(path)?;
    let too_large = || {
        let what = format!("it has more than {}", Bytes(most));
        Unread::new(what, "check that it is the right file: no file of this kind is so large")
    };
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // The file may grow meanwhile; reading one byte more than the limit reveals that.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

/// Reads a UTF-8 file as [`bytes`] does.
///
/// # Errors
/// If it cannot be read, is not a regular file, is larger than `most`, or is not UTF-8.
pub fn text(path: &Path, most: u64) -> Result<String, Unread> {
    let no_text = || Error::new(ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(bytes(path, most)?).map_err(|_| no_text().into())
}

/// Checks that there is memory for the values of a JSON text, which take more than the text where
/// strings and lists are short.
///
/// # Errors
/// If there is too little. The message calls the file `name`.
pub fn check_json_memory(name: &Path, text: &str) -> Result<(), crate::error::Error> {
    let (needed, available) = (json_memory(text), available_memory());
    if needed <= available {
        return Ok(());
    }
    let message = format!(
        "{} may take {} of memory, but only {} are available",
        name.display(),
        human_size(needed),
        human_size(available)
    );
    let hint = "free memory, or read the file on a machine that has more";
    Err(crate::error::Error::environment("too-much-memory", message, hint))
}

/// Estimates the memory of a JSON text and its values, for records with many short strings: a
/// string is a pointer, two lengths and its bytes, and a growing list is copied.
fn json_memory(text: &str) -> Bytes {
    let count = |byte: u8| text.bytes().filter(|b| *b == byte).count() as u64;
    Bytes(text.len() as u64 + 2 * (8 * count(b',') + 32 * count(b'"')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &Path, most: u64) -> String {
        text(path, most).expect_err("it is refused").to_string()
    }

    #[test]
    fn regular_files_are_read_up_to_their_bound() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "1234").unwrap();
        assert_eq!(text(&path, 4).unwrap(), "1234");
        assert_eq!(said(&path, 3), "it has more than 3B");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(text(&link, 4).unwrap(), "1234");
        std::fs::write(&path, b"12\xff4").unwrap();
        assert_eq!(said(&path, 4), "it is not UTF-8 text");
        assert_eq!(bytes(&path, 4).unwrap(), b"12\xff4");
    }

    #[test]
    fn values_are_counted_with_the_text() {
        assert_eq!(json_memory(r#"["","",1]"#), Bytes(9 + 2 * (8 * 2 + 32 * 4)));
    }

    #[test]
    fn what_has_no_end_or_is_waited_for_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("zero");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        assert_eq!(said(&link, 9), "it is a device");
        assert_eq!(said(directory.path(), 9), "it is a directory");
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(said(&socket, 9), "it is a socket");
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(said(&pipe, 9), "it is a pipe");
        let none = text(&directory.path().join("none"), 9).unwrap_err();
        assert_eq!((none.error.kind(), &*none.hint("other")), (ErrorKind::NotFound, "other"));
    }
}
