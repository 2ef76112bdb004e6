//! The diagnostic of a wrong declaration: what is wrong, where, and what to do next.
//!
//! It is rendered like the messages of good compilers:
//!
//! ```text
//! error: unknown key `quue_depth` in workload
//!   --> slow.toml:7:1
//!    |
//!  7 | quue_depth = 4
//!    | ^^^^^^^^^^ expected one of `name`, `jobs`, `queue_depth`, …
//! hint: did you mean `queue_depth`?
//! ```

use std::fmt;
use std::ops::Range;

/// The kind of a mistake. Code and tests match on it, and `assay explain` takes its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The text is not TOML.
    Syntax,
    /// A key that no declaration has.
    UnknownKey,
    /// A required key that is missing.
    MissingKey,
    /// A value of the wrong type.
    WrongType,
    /// A number without a unit, or with a unit that does not exist or does not fit.
    BadUnit,
    /// A word that is not one of those expected.
    UnknownValue,
    /// A value outside its range.
    OutOfRange,
    /// Values that are each valid, but impossible together.
    Impossible,
    /// A version of the format that this program does not read.
    Format,
}

impl Kind {
    /// Every kind with its stable name and its explanation.
    pub const ALL: &[(Kind, &str, &str)] = &[
        (
            Kind::Syntax,
            "syntax",
            "The file is not TOML. The position is where the parser gave up; the mistake is there \
             or just before it (a missing quote, bracket or `=`).",
        ),
        (
            Kind::UnknownKey,
            "unknown-key",
            "A key that no declaration has. assay never ignores a key: if it skipped a misspelt \
             key, it would measure something other than you asked for.",
        ),
        (
            Kind::MissingKey,
            "missing-key",
            "The declaration has no meaning without this key. There are no hidden defaults for \
             values that change a measurement.",
        ),
        (
            Kind::WrongType,
            "wrong-type",
            "The value has another type than the key takes, e.g. a string where a list is \
             expected. Sizes and times are strings with a unit: `\"4KiB\"`, `\"10ms\"`.",
        ),
        (
            Kind::BadUnit,
            "bad-unit",
            "Every size and time is written with its unit. KiB, MiB, GiB, TiB, PiB are powers of \
             1024; kB, MB, GB, TB, PB are powers of 1000; times take ns, us, ms, s, m, h; rates \
             take `/s`. `KB` and `K` are refused because different tools mean different things by \
             them.",
        ),
        (
            Kind::UnknownValue,
            "unknown-value",
            "The key accepts only words of a fixed list, such as patterns, policies or names of \
             devices. This word is not in the list.",
        ),
        (
            Kind::OutOfRange,
            "out-of-range",
            "The value has the right type but is outside its range. The message gives the range.",
        ),
        (
            Kind::Impossible,
            "impossible",
            "Each value is valid alone, but the values together cannot be built or run, e.g. a \
             drive that promises more bytes than its chips hold, or a range beyond the end of the \
             device.",
        ),
        (
            Kind::Format,
            "format",
            "Spec files say `format = 1`. A file of a later format was written for a later assay.",
        ),
    ];

    /// Returns the stable name.
    pub fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(k, ..)| *k == self).map_or("unknown", |(_, name, _)| name)
    }
}

/// A mistake in a declaration, with its place.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The kind of mistake, on which code matches.
    pub kind: Kind,
    /// What is wrong.
    pub message: String,
    /// What was expected at this place; may be empty.
    pub expected: String,
    /// What to do next. If it is empty, the message refers to `assay explain`.
    pub hint: String,
    /// The name of the file.
    pub file: String,
    /// The line, the column, the text of the line and the width of the mark; `None` if the mistake
    /// has no place, such as a key that is missing at the top of a file.
    pub place: Option<Place>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The number of characters to underline.
    pub width: usize,
    /// The text of the line.
    pub text: String,
}

impl Place {
    /// Returns the place of a byte range in `source`. Accepts any range, also one outside `source`.
    pub fn of(source: &str, span: Range<usize>) -> Place {
        let mut start = span.start.min(source.len());
        while !source.is_char_boundary(start) {
            start -= 1;
        }
        let line_start = source[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |i| start + i);
        let mut end = span.end.clamp(start, line_end);
        while !source.is_char_boundary(end) {
            end -= 1;
        }
        Place {
            line: source[..start].matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            width: source[start..end].chars().count().max(1),
            text: source[line_start..line_end].trim_end_matches('\r').to_owned(),
        }
    }
}

/// The number of characters of a line that are shown before a mistake, and from its start on.
const SHOWN: [usize; 2] = [80, 120];

impl Place {
    /// Returns the line, or the part around the mistake if the line is long, with the number of
    /// characters before the mistake and the number to underline.
    fn excerpt(&self) -> (String, usize, usize) {
        let [before, behind] = SHOWN;
        let start = self.column - 1;
        let first = start.saturating_sub(before);
        let mut text: String = self.text.chars().skip(first).take(start - first + behind).collect();
        let is_cut = self.text.chars().nth(start + behind).is_some();
        let (left, right) = (if first > 0 { "…" } else { "" }, if is_cut { "…" } else { "" });
        text = format!("{left}{text}{right}");
        (text, start - first + left.chars().count(), self.width.min(behind))
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.place {
            Some(p) => {
                let gutter = p.line.to_string().len().max(2);
                write!(f, "\n{:gutter$}--> {}:{}:{}", "", self.file, p.line, p.column)?;
                let (text, start, width) = p.excerpt();
                write!(f, "\n{:gutter$} |\n{:>gutter$} | {text}", "", p.line)?;
                // Tabs stay tabs so that the mark stands under the mistake.
                let pad: String =
                    text.chars().take(start).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                write!(f, "\n{:gutter$} | {pad}{}", "", "^".repeat(width))?;
                if !self.expected.is_empty() {
                    write!(f, " expected {}", self.expected)?;
                }
            }
            None => {
                write!(f, "\n  --> {}", self.file)?;
                if !self.expected.is_empty() {
                    write!(f, ": expected {}", self.expected)?;
                }
            }
        }
        match self.hint.as_str() {
            // Every message says how to go on.
            "" => write!(f, "\nhint: `assay explain {}` tells more", self.kind.name()),
            hint => write!(f, "\nhint: {hint}"),
        }
    }
}

impl std::error::Error for Diagnostic {}

/// Returns the candidate closest to `word`, if one is close enough to be meant.
pub fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let by_distance = candidates.iter().map(|c| (edit_distance(word, c), *c));
    by_distance.filter(|(d, _)| *d <= limit).min_by_key(|(d, _)| *d).map(|(_, c)| c)
}

/// Returns the Levenshtein distance, ignoring case and the difference between `-` and `_`.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let fold = |s: &str| -> Vec<char> { s.to_lowercase().replace('-', "_").chars().collect() };
    let (a, b) = (fold(a), fold(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Returns the words in backquotes, as in "one of `a`, `b`, `c`".
pub fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".into(),
        [one] => one.clone(),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_word_is_found_or_none() {
        let words = ["sequential", "random", "queue_depth"];
        assert_eq!(closest("randm", &words), Some("random"));
        assert_eq!(closest("queue-depth", &words), Some("queue_depth"));
        assert_eq!(closest("zebra", &words), None);
    }

    #[test]
    fn places_survive_any_span() {
        let text = "a = 1\nµ = \"x\"\n";
        assert_eq!(Place::of(text, 0..1).line, 1);
        let p = Place::of(text, 11..14);
        assert_eq!((p.line, p.column, p.width), (2, 5, 3));
        let p = Place::of(text, 500..900);
        assert_eq!(p.line, 3);
        Place::of(text, 7..8); // inside a two-byte character
    }
}
