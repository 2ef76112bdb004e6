//! Decodes text of blkparse in its default format, with lines such as
//! `8,0 1 17 0.012678481 8826 D R 1370616 + 8 [git]`.
//!
//! Lines that do not begin with a device (headings, the summary at the end, blank lines) are no
//! events, and are only counted. A line that begins with a device must be complete.

use super::event::{Action, Event, Of, SECTORS_MAX, TIME_MAX};
use assay_spec::Op;
use assay_spec::trace::{BLOCK, Device};

/// The length of the longest line that is accepted, in bytes.
pub const LONGEST: usize = 64 << 10;

/// The reason why decoding stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextStop {
    /// The data has no more complete line.
    Short,
    /// There are as many events as wanted.
    Full,
    /// The next line is wrong in this column, counted from 1.
    Broken(usize, String),
}

/// The amount of data that was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The number of bytes of the decoded lines.
    pub bytes: usize,
    /// The number of decoded lines.
    pub lines: u64,
    /// The number of lines among them that are no events.
    pub others: u64,
}

/// Decodes lines into `events`, up to `room` of them; with `end`, the last one needs no line feed.
pub fn decode(
    data: &[u8],
    end: bool,
    events: &mut Vec<Event>,
    room: usize,
) -> (Progress, TextStop) {
    let mut done = Progress::default();
    while events.len() < room {
        let rest = &data[done.bytes..];
        let feed = rest.iter().take(LONGEST).position(|c| *c == b'\n');
        let (line, length) = match feed {
            Some(at) => (&rest[..at], at + 1),
            None if rest.len() >= LONGEST => {
                return (done, TextStop::Broken(LONGEST, "the line does not end".to_owned()));
            }
            None if end && !rest.is_empty() => (rest, rest.len()),
            None => return (done, TextStop::Short),
        };
        match (Line { text: line, at: 0 }).event() {
            Ok(Some(event)) => events.push(event),
            Ok(None) => done.others += 1,
            Err((at, text)) => return (done, TextStop::Broken(at + 1, text)),
        }
        done.bytes += length;
        done.lines += 1;
    }
    (done, TextStop::Full)
}

/// The column where a line is wrong, from 0, and what is wrong.
type Wrong = (usize, String);

/// A line that has been read up to the column `at`.
struct Line<'a> {
    text: &'a [u8],
    at: usize,
}

impl Line<'_> {
    /// Reads the event, or returns `None` if the line is none.
    fn event(&mut self) -> Result<Option<Event>, Wrong> {
        let Some(device) = self.device()? else { return Ok(None) };
        let cpu = self.number("the processor", u64::from(u32::MAX))? as u32;
        let sequence = self.number("the sequence number", u64::from(u32::MAX))? as u32;
        let time = self.time()?;
        let process = self.number("the process", u64::from(u32::MAX))? as u32;
        let action = self.action()?;
        let mut event = Event {
            time,
            sector: 0,
            bytes: 0,
            device,
            sequence,
            cpu,
            process,
            error: 0,
            action,
            of: Of::Nothing,
        };
        if action != Action::Notify {
            self.about(&mut event)?;
        }
        Ok(Some(event))
    }

    /// Reads direction, place and outcome into `event`.
    fn about(&mut self, event: &mut Event) -> Result<(), Wrong> {
        let (from, letters) = self.word();
        if letters.is_empty() || !letters.iter().all(u8::is_ascii_uppercase) {
            return Err((from, "letters such as `R` or `WS` belong here".to_owned()));
        }
        let has = |letter| letters.contains(&letter);
        let direction = (has(b'D'), has(b'W'), has(b'R'));
        let may_flush = has(b'F');
        if !event.action.is_of_request() && event.action != Action::Remap {
            return Ok(());
        }
        let placed = self.peek().is_some_and(|c| c.is_ascii_digit());
        if placed {
            self.place(event)?;
        } else if self.peek().is_some_and(|c| !b"[(".contains(&c)) {
            return Err((self.at, "the first block belongs here".to_owned()));
        }
        if event.action == Action::Complete {
            event.error = self.outcome();
        }
        event.of = match direction {
            (true, ..) => Of::Data(Op::Trim),
            _ if event.bytes == 0 && may_flush => Of::Data(Op::Flush),
            // A passthrough command has a length but no place.
            (_, true, _) | (_, _, true) if !placed => Of::Command,
            (_, true, _) => Of::Data(Op::Write),
            (_, _, true) => Of::Data(Op::Read),
            _ => Of::Nothing,
        };
        Ok(())
    }

    /// Reads first block and length into `event`, as in `1370616 + 8`. The length may be missing.
    fn place(&mut self, event: &mut Event) -> Result<(), Wrong> {
        let from = self.at;
        event.sector = self.number("the first block", u64::MAX)?;
        if self.peek() != Some(b'+') {
            return Ok(());
        }
        if event.sector >= SECTORS_MAX {
            return Err((from, format!("block {} lies beyond every drive", event.sector)));
        }
        self.at += 1;
        let most = u64::from(u32::MAX) / BLOCK.0;
        event.bytes = self.number("the number of blocks", most)? as u32 * BLOCK.0 as u32;
        Ok(())
    }

    /// Reads the device, as in `8,16`. Returns `None` if the line does not begin with one.
    fn device(&mut self) -> Result<Option<Device>, Wrong> {
        self.skip();
        let digits = self.text[self.at..].iter().take_while(|c| c.is_ascii_digit()).count();
        if digits == 0 || self.text.get(self.at + digits) != Some(&b',') {
            return Ok(None);
        }
        let major = self.digits("the device", u64::from(u32::MAX))? as u32;
        self.at += 1;
        let minor = self.number("the device", u64::from(u32::MAX))? as u32;
        Ok(Some(Device { major, minor }))
    }

    /// Reads a time in seconds, with up to nine decimals; returns it in ns.
    fn time(&mut self) -> Result<u64, Wrong> {
        self.skip();
        let from = self.at;
        let seconds = self.digits("the time", TIME_MAX / 1_000_000_000 - 1)?;
        let mut nanos = 0;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            let decimals = self.at;
            nanos = self.digits("the time", 999_999_999)?;
            let missing = 9_usize.checked_sub(self.at - decimals);
            let missing = missing.ok_or((from, "a time has at most nine decimals".to_owned()))?;
            nanos *= 10_u64.pow(missing as u32);
        }
        self.ends("the time")?;
        Ok(seconds * 1_000_000_000 + nanos)
    }

    fn action(&mut self) -> Result<Action, Wrong> {
        let (from, letters) = self.word();
        if letters.is_empty() || letters.len() > 3 || !letters[0].is_ascii_alphabetic() {
            return Err((from, "an action such as `Q`, `D` or `C` belongs here".to_owned()));
        }
        let named = |action: &&Action| action.names().0.as_bytes() == letters;
        Ok(Action::ALL.iter().find(named).copied().unwrap_or(Action::Unknown))
    }

    /// Returns the number in the last brackets without its sign: an `errno`, or 0.
    fn outcome(&self) -> i32 {
        let inside = self.text[self.at..].rsplit(|c| *c == b'[').next().unwrap_or_default();
        let number = inside.split(|c| *c == b']').next().unwrap_or_default();
        let number = std::str::from_utf8(number).ok().and_then(|n| n.trim().parse::<i32>().ok());
        // Older versions of blkparse write the 16 bits of the record without a sign.
        i32::from(number.unwrap_or(0) as i16).abs()
    }

    fn skip(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Skips white space, and returns the byte after it.
    fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.text.get(self.at).copied()
    }

    /// Reads the next word; returns the column where it begins, and the word.
    fn word(&mut self) -> (usize, &[u8]) {
        self.skip();
        let from = self.at;
        let rest = &self.text[from..];
        let length = rest.iter().take_while(|c| !c.is_ascii_whitespace()).count();
        self.at += length;
        (from, &rest[..length])
    }

    /// Reads a number of at most `most` that is followed by white space.
    fn number(&mut self, what: &str, most: u64) -> Result<u64, Wrong> {
        self.skip();
        let number = self.digits(what, most)?;
        self.ends(what)?;
        Ok(number)
    }

    /// Checks that white space or the end of the line comes next.
    fn ends(&self, what: &str) -> Result<(), Wrong> {
        match self.text.get(self.at) {
            Some(c) if !c.is_ascii_whitespace() => {
                Err((self.at, format!("{what} is not a number")))
            }
            _ => Ok(()),
        }
    }

    /// Reads a number of at most `most`; `what` is its name in errors.
    fn digits(&mut self, what: &str, most: u64) -> Result<u64, Wrong> {
        let from = self.at;
        let mut number: u64 = 0;
        while let Some(c) = self.text.get(self.at).filter(|c| c.is_ascii_digit()) {
            let larger = number.checked_mul(10).and_then(|n| n.checked_add(u64::from(c - b'0')));
            let fits = larger.filter(|n| *n <= most);
            number = fits.ok_or_else(|| (from, format!("{what} is larger than {most}")))?;
            self.at += 1;
        }
        if self.at > from {
            return Ok(number);
        }
        let found = if from == self.text.len() { "is missing" } else { "is not a number" };
        Err((from, format!("{what} {found}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<Option<Event>, Wrong> {
        (Line { text: line.as_bytes(), at: 0 }).event()
    }

    #[test]
    fn a_line_is_an_event() {
        let event = one("  8,16   1      212     0.260302001  4711  C  RA 74103 + 8 [0]");
        let event = event.unwrap().unwrap();
        assert_eq!((event.device, event.cpu), (Device { major: 8, minor: 16 }, 1));
        assert_eq!((event.sequence, event.process, event.time), (212, 4711, 260_302_001));
        assert_eq!((event.sector, event.bytes, event.error), (74_103, 4096, 0));
        assert_eq!((event.action, event.of), (Action::Complete, Of::Data(Op::Read)));
        let with_tabs =
            one("8,16\t1\t212\t0.260302001\t4711\tC RA 74103 + 8 [0]").unwrap().unwrap();
        assert_eq!(with_tabs, event);
        // With blkparse's `-t`, the duration stands before the outcome.
        let timed = one("8,16 1 212 0.260302001 4711 C RA 74103 + 8 ( 120473) [0]");
        assert_eq!(timed.unwrap().unwrap(), event);
    }

    #[test]
    fn directions_and_outcomes() {
        let of = |rest: &str| one(&format!("8,0 0 1 1.5 9 {rest}")).unwrap().unwrap();
        let cases = [
            ("Q WS 8 + 8 [x]", Of::Data(Op::Write), 4096, 0),
            ("Q FWS [x]", Of::Data(Op::Flush), 0, 0),
            ("D  FN [x]", Of::Data(Op::Flush), 0, 0),
            ("C  FN 0 [0]", Of::Data(Op::Flush), 0, 0),
            ("Q FWFSM 8 + 8 [x]", Of::Data(Op::Write), 4096, 0),
            ("C WSM 8 [0]", Of::Data(Op::Write), 0, 0),
            ("D  DS 0 + 2097152 [x]", Of::Data(Op::Trim), 1 << 30, 0),
            ("C   R 8 + 8 [65531]", Of::Data(Op::Read), 4096, 5),
            ("C   R 8 + 8 [-5]", Of::Data(Op::Read), 4096, 5),
            ("P   N [x]", Of::Nothing, 0, 0),
            ("UT  N [x] 1", Of::Nothing, 0, 0),
            ("m   N cfq4711S / 7 busy", Of::Nothing, 0, 0),
        ];
        for (rest, about, bytes, error) in cases {
            let event = of(rest);
            assert_eq!((event.of, event.bytes, event.error), (about, bytes, error), "{rest}");
        }
        assert_eq!(of("ZZ  N [x]").action, Action::Unknown);
        assert_eq!(of("X  R 8 / 16 [x]").action, Action::Split);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_column() {
        let cases = [
            ("8,x 0 1 1.5 9 Q R 8 + 8", 2, "the device is not a number"),
            ("8,0 0 1 1.5.5 9 Q R 8 + 8", 11, "the time is not a number"),
            ("8,0 0 1 1.5 9", 13, "an action such as `Q`, `D` or `C` belongs here"),
            ("8,0 0 1 1.5 9 Q [git]", 16, "letters such as `R` or `WS` belong here"),
            ("8,0 0 1 1.5 9 Q W xx + 8 [x]", 18, "the first block belongs here"),
            ("8,0 0 1 1.5 9 Q R 8 + [x]", 22, "the number of blocks is not a number"),
            ("8,0 0 1 1.5 9 Q R 8 +", 21, "the number of blocks is missing"),
            ("8,0 0 99999999999 1 9 Q R 8", 6, "the sequence number is larger than 4294967295"),
            ("8,0 0 1 1.0000000001 9 Q R 8", 8, "a time has at most nine decimals"),
            (
                "8,0 0 1 1 9 Q R 99999999999999999 + 8",
                16,
                "block 99999999999999999 lies beyond every drive",
            ),
        ];
        for (line, at, text) in cases {
            assert_eq!(one(line), Err((at, text.to_owned())), "{line}");
        }
        for other in
            ["", "   ", "CPU0 (8,0):", " Reads Queued: 3, 12KiB", "8 requests", "Device CPU"]
        {
            assert_eq!(one(other), Ok(None), "{other}");
        }
    }
}
