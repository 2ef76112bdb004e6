//! The output for people and programs: data on stdout, messages on stderr, failures with a hint.

pub mod plan;
pub mod progress;
pub mod stream;

use assay_analysis::unseen::is_unseen;
use assay_engine::plan::PlanError;
use assay_engine::{Error, ErrorKind};
use assay_spec::Diagnostic;
use rustix::fs::OFlags;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use stream::Stream;

/// The exit code of success.
pub const DONE: u8 = 0;
/// The exit code if an expectation of the user was not met.
pub const UNMET: u8 = 1;
/// The exit code of a usage or spec error.
pub const USAGE: u8 = 2;
/// The exit code for lack of permission, a busy or refused device, or a missing tool.
pub const ENVIRONMENT: u8 = 3;
/// The exit code if a result is not steady or too noisy.
pub const INCONCLUSIVE: u8 = 4;
/// The exit code after Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// The id of errors in the command line or in a file that it names.
const USAGE_ID: &str = "usage";

/// The reason why the command ended early, ready to be shown.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The id that `assay explain` takes.
    id: &'static str,
    /// The message, in one line.
    message: String,
    /// The text for people, mostly without the hint.
    text: String,
    hint: String,
    /// File, line and column of a mistake in a declaration.
    place: Option<Box<(String, usize, usize)>>,
}

/// The result of a verb: an exit code, or the reason why it ended early.
pub type Outcome = Result<u8, Failure>;

impl Failure {
    /// Creates a usage error.
    pub fn usage(text: impl Into<String>, hint: impl Into<String>) -> Failure {
        let message = text.into();
        let text = format!("error: {}", one_line(&message));
        Failure { code: USAGE, id: USAGE_ID, message, text, hint: hint.into(), place: None }
    }

    /// Returns what `--json` prints in place of data.
    fn record(&self) -> serde_json::Value {
        let place = self.place.as_deref().map(|(file, line, column)| {
            serde_json::json!({ "file": file, "line": line, "column": column })
        });
        serde_json::json!({ "error": {
            "id": self.id, "message": shortened(&self.message), "hint": self.hint,
            "exit_code": self.code, "place": place,
        }})
    }

    /// Prints the failure for people and, with `--json`, also for programs.
    pub fn tell(&self) {
        say(&shortened(&self.to_string()));
        let words = std::env::args_os().skip(1);
        // Arguments after `--` belong to another program.
        if words.take_while(|word| word != "--").any(|word| word == "--json") {
            json(&self.record());
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.text)?;
        // The text of a mistake in a declaration already has its hint.
        let is_told = self.hint.is_empty() || self.text.contains("\nhint: ");
        if is_told { Ok(()) } else { write!(f, "\nhint: {}", one_line(&self.hint)) }
    }
}

impl From<Box<Diagnostic>> for Failure {
    fn from(d: Box<Diagnostic>) -> Failure {
        let id = d.kind.name();
        let hint = match d.hint.as_str() {
            "" => format!("`assay explain {id}` tells more"),
            hint => hint.to_owned(),
        };
        let place = d.place.as_ref().map(|p| Box::new((d.file.clone(), p.line, p.column)));
        let shown = Diagnostic {
            file: one_line(&d.file).into_owned(),
            message: one_line(&d.message).into_owned(),
            expected: one_line(&d.expected).into_owned(),
            hint: one_line(&d.hint).into_owned(),
            ..(*d).clone()
        };
        Failure { code: USAGE, id, message: d.message, text: shown.to_string(), hint, place }
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        let code = match e.kind {
            ErrorKind::Usage => USAGE,
            ErrorKind::Environment => ENVIRONMENT,
            ErrorKind::Interrupted => INTERRUPTED,
        };
        let message = e.to_string();
        let text = format!("error[{}]: {}", e.id, one_line(&message));
        Failure { code, id: e.id, message, text, hint: e.hint, place: None }
    }
}

impl From<PlanError> for Failure {
    fn from(e: PlanError) -> Failure {
        match e {
            PlanError::Spec(d) => d.into(),
            PlanError::Engine(e) => e.into(),
        }
    }
}

/// Prints data to stdout. If the reader has gone away, the data is dropped.
pub fn data(text: &str) {
    write(&visible(text));
}

/// Prints data as JSON to stdout; characters that would act on a terminal are escaped.
pub fn json<T: serde::Serialize>(value: &T) {
    let text = serde_json::to_string_pretty(value).expect("records are plain data");
    // Such characters occur only in strings, because the syntax of JSON has none of them.
    write(&replaced(&text, json_escape));
}

/// Returns a path for JSON, whose strings are Unicode: U+FFFD stands for what is not.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns `c` as JSON escapes it. A character beyond 16 bits becomes a surrogate pair.
fn json_escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|half| format!("\\u{half:04x}")).collect()
}

fn write(text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{text}{end}");
    let Err(error) = Stream::to(&std::io::stdout()).write_all(text.as_bytes()) else { return };
    // A reader that has gone away, such as `head`, has seen enough. The exit code still says how
    // the command ended. A full disk is an error.
    if error.kind() == io::ErrorKind::BrokenPipe {
        return;
    }
    if stream::is_dropped(&error) {
        std::process::exit(i32::from(INTERRUPTED));
    }
    say(&not_written(&error).to_string());
    std::process::exit(i32::from(ENVIRONMENT));
}

/// Refuses a standard output that is open for reading only: what is printed would be lost without
/// an error.
///
/// # Errors
/// If it is.
pub fn check_writable() -> Result<(), Failure> {
    let flags = rustix::fs::fcntl_getfl(std::io::stdout().as_fd());
    match flags {
        Ok(flags) if flags & OFlags::ACCMODE == OFlags::RDONLY => {
            let text = "the standard output is open for reading only";
            let hint = "redirect it with `>`, not with `<`";
            Err(Error::environment("output-not-written", text, hint).into())
        }
        _ => Ok(()),
    }
}

/// Returns the failure for output that could not be written.
pub fn not_written(error: &std::io::Error) -> Failure {
    let text = format!("the output could not be written: {error}");
    Error::environment("output-not-written", text, "check that the disk is not full").into()
}

/// Prints a message of one line to stderr.
pub fn talk(text: &str) {
    say(&one_line(text));
}

/// Prints a message of several lines to stderr. What these quote must have gone through
/// [`one_line`].
fn say(text: &str) {
    // A closed stderr is no reason to fail.
    let _ = Stream::to(&std::io::stderr()).write_all(format!("{}\n", visible(text)).as_bytes());
}

/// Returns the text with characters that would act on a terminal shown as `\u{1b}` and the like.
/// All text for people goes through this function, because the names, titles and other words that
/// messages quote come from files.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c.escape_unicode().to_string())
}

/// Returns the text with its line feeds escaped as [`visible`] escapes other characters. A name
/// from a file that a message quotes would otherwise end its line, and begin one that looks like an
/// error or a hint of this program. The last words of a guest, which are marked as such, keep their
/// lines.
pub fn one_line(text: &str) -> Cow<'_, str> {
    const GUEST: &str = "\n  guest: ";
    if !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    let parts: Vec<String> = text.split(GUEST).map(|part| part.replace('\n', r"\u{a}")).collect();
    Cow::Owned(parts.join(GUEST))
}

/// The numbers of characters at the beginning and at the end of an overlong line that are shown.
const SHOWN: [usize; 2] = [1500, 200];

/// Returns the text with its overlong lines cut in the middle. A message quotes the user's words,
/// and such a word may have a megabyte.
fn shortened(text: &str) -> String {
    let [first, last] = SHOWN;
    let line = |line: &str| {
        let length = line.chars().count();
        if length <= first + last {
            return line.to_owned();
        }
        let head: String = line.chars().take(first).collect();
        let tail: String = line.chars().skip(length - last).collect();
        format!("{head} … {} characters … {tail}", length - first - last)
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Replaces characters that would act on a terminal with the text that `by` returns. The line ends
/// of CSV (`\r\n`) stay.
fn replaced(text: &str, by: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let ends_a_line = c == '\r' && rest.peek() == Some(&'\n');
        if is_unseen(c) && !ends_a_line { out += &by(c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_something_to_a_terminal_is_shown() {
        assert_eq!(visible("\u{1b}[2J\r\u{7f}\u{9b}x"), r"\u{1b}[2J\u{d}\u{7f}\u{9b}x");
        assert_eq!(visible("a\u{202e}b\u{2066}"), r"a\u{202e}b\u{2066}");
        assert_eq!(
            visible("\u{feff}a\u{ad}b\u{2028}\u{e0041}"),
            r"\u{feff}a\u{ad}b\u{2028}\u{e0041}"
        );
        assert!(matches!(visible("tab\tand\nline, µ and – and 漢"), Cow::Borrowed(_)));
        assert_eq!(visible("a,b\r\nc\u{7}\r\n"), "a,b\r\nc\\u{7}\r\n");
    }

    #[test]
    fn what_a_message_quotes_begins_no_line() {
        assert_eq!(
            one_line("ended\n  guest: a\nb\n  guest: c"),
            "ended\n  guest: a\\u{a}b\n  guest: c"
        );
        let (name, hint) = ("a\r\nerror[x]: b\nhint: c", "rename `d\nhint: e`");
        let shown = visible(&Failure::usage(name, hint).to_string()).into_owned();
        let lines =
            ["error: a\\u{d}\\u{a}error[x]: b\\u{a}hint: c", "hint: rename `d\\u{a}hint: e`"];
        assert_eq!(shown.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn long_lines_of_a_message_are_cut_in_the_middle() {
        assert_eq!(shortened("a\nb"), "a\nb");
        let cut = shortened(&format!("`{}` is no size\nhint: x", "µ".repeat(200_000)));
        assert!(cut.ends_with("µ` is no size\nhint: x") && cut.starts_with("`µµ"), "{cut}");
        assert!(cut.contains(" … 198313 characters … ") && cut.chars().count() < 1800);
    }

    #[test]
    fn json_says_the_same_with_what_is_not_shown_escaped() {
        let text = "\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}\"µ";
        let json = serde_json::to_string(text).unwrap();
        let shown = replaced(&json, json_escape);
        assert!(!shown.contains(is_unseen), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }
}
