//! Programs as workloads: a command of the user's, and the numbers that it prints.
//!
//! A key `command` makes such a workload. It runs on a file system of `linux(…)`, in a guest that
//! has this machine's programs.

use super::environment;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{self, Nanos, Rate};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use std::ops::{Range, RangeInclusive};

/// A program of the user's as a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramWork {
    /// The script that makes the files that each repeat begins with.
    pub image: Option<String>,
    /// The script that prepares the work; not measured.
    pub setup: Option<String>,
    /// The script that is measured.
    pub command: String,
    /// The user that they run as; `None` is root.
    pub user: Option<String>,
    /// The names and values of variables of their environment, beside those that each script has.
    pub environment: Vec<(String, String)>,
    /// The names of the variables that have other values in other workloads of the family.
    pub varied: Vec<String>,
    /// The time that its own computing takes.
    pub user_time: UserTime,
    /// The number of transactions of the command, if the author says it.
    pub transactions: Option<TransactionCount>,
    /// The numbers that the script prints.
    pub metrics: Vec<OutputMetric>,
}

/// The number of transactions of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum TransactionCount {
    /// The author knows it.
    Fixed(u32),
    /// The command prints it.
    Printed(OutputPlace),
}

/// The time that a program computes, by what its kernel can count of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserTime {
    /// The time of each system call.
    pub call: Nanos,
    /// The bytes a second that system calls move; `None` if moving takes no time.
    pub moved: Option<Rate>,
    /// The time of each page fault.
    pub fault: Nanos,
}

impl UserTime {
    /// Returns the cost of a call, a byte and a fault in fs.
    pub fn costs(self) -> [u64; 3] {
        const FS_PER_S: u64 = 1_000_000_000_000_000;
        let moved = self.moved.map_or(0, |rate| FS_PER_S / rate.0);
        [self.call.0 * 1_000_000, moved, self.fault.0 * 1_000_000]
    }
}

/// The name of a metric that each program has: the time that its command ran, in seconds.
pub const RUN_TIME: &str = "run_time";

/// A number that a program prints.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputMetric {
    /// The name.
    pub name: String,
    /// The place of the number in the output.
    pub place: OutputPlace,
    /// The unit, for readers only.
    pub unit: String,
    /// Which values are better.
    pub better: Better,
}

/// The place of a number in the output of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputPlace {
    /// The first group of the last match of this regular expression.
    Pattern(String),
    /// The value at this pointer (RFC 6901) in standard output, which is a JSON document.
    Json(String),
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Higher values, as of a rate.
    Higher,
    /// Lower values, as of a latency.
    Lower,
}

impl ProgramWork {
    /// Returns the variables of the image's environment: all but those that are varied and do not
    /// occur in its script. So workloads that differ in these share one image.
    pub fn image_environment(&self) -> Vec<(String, String)> {
        let script = self.image.as_deref().unwrap_or_default();
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let has = |name: &String| script.split(|c| !is_of_name(c)).any(|word| word == name);
        let is_used = |(name, _): &&(String, String)| !self.varied.contains(name) || has(name);
        self.environment.iter().filter(is_used).cloned().collect()
    }

    /// Returns the first line of the command, at most 60 characters of it.
    pub fn summary(&self) -> String {
        const LONGEST: usize = 60;
        let line = self.command.trim().lines().next().unwrap_or_default();
        match line.chars().nth(LONGEST) {
            Some(_) => line.chars().take(LONGEST).chain(['…']).collect(),
            None => line.to_owned(),
        }
    }
}

/// Takes a workload of a program, if the section is one.
pub(super) fn decode(s: &mut Section<'_>) -> Decoded<Option<ProgramWork>> {
    const KEYS: [&str; 7] =
        ["image", "setup", "user", environment::KEY, "user_time", "transactions", "metric"];
    if !s.has("command") {
        s.may_have(&["command"]);
        s.goes_with(&KEYS, "`command`");
        return Ok(None);
    }
    let command = script(s, "command")?.expect("it has one");
    let image = script(s, "image")?;
    let setup = script(s, "setup")?;
    let user = s.optional_string("user")?.map(|(user, _)| user);
    let user_time = match s.optional_section("user_time", "user_time")? {
        Some(mut section) => {
            let user_time = decode_user_time(&mut section)?;
            section.finish()?;
            user_time
        }
        None => UserTime::default(),
    };
    let environment = environment::decode(s)?;
    let transactions = decode_transactions(s)?;
    let mut metrics: Vec<OutputMetric> = Vec::new();
    for mut section in s.sections("metric", "metric")? {
        let at = section.span_of("name");
        let metric = decode_metric(&mut section)?;
        if metrics.iter().any(|other| other.name == metric.name) {
            let message = format!("two metrics are called `{}`", metric.name);
            let e = section.error(Kind::Impossible, at, message, "a unique name");
            return Err(with_hint(e, "give each metric of the workload a name of its own"));
        }
        section.finish()?;
        metrics.push(metric);
    }
    Ok(Some(ProgramWork {
        image,
        setup,
        command,
        user,
        environment,
        varied: Vec::new(),
        user_time,
        transactions,
        metrics,
    }))
}

/// Decodes the number of transactions: a count, or the place of one in the output.
fn decode_transactions(s: &mut Section<'_>) -> Decoded<Option<TransactionCount>> {
    const KEY: &str = "transactions";
    if s.peek_table(KEY, KEY).is_none() {
        return Ok(s.optional_count(KEY, 1..u32::MAX)?.map(TransactionCount::Fixed));
    }
    let mut section = s.section(KEY, KEY)?;
    let place = decode_place(&mut section, "`transactions`")?;
    section.finish()?;
    Ok(Some(TransactionCount::Printed(place)))
}

fn decode_user_time(s: &mut Section<'_>) -> Decoded<UserTime> {
    /// No call or fault computes for longer.
    const LONGEST: Nanos = Nanos::from_secs(1);
    let call = s.pause("call", LONGEST)?;
    let fault = s.pause("fault", LONGEST)?;
    let moved = match s.optional_string("moved")? {
        None => None,
        Some((text, span)) => {
            let rate = units::rate(&text).filter(|rate| RATES.contains(&rate.0));
            Some(rate.ok_or_else(|| {
                let message = format!("`{text}` is not a rate of moved bytes");
                let e = s.error(Kind::BadUnit, span, message, "1MB/s to 1000TB/s");
                with_hint(
                    e,
                    "write the bytes a second that the program computes with, e.g. `2GB/s`",
                )
            })?)
        }
    };
    Ok(UserTime { call, moved, fault })
}

/// The rates of moved bytes that have a cost in whole fs.
const RATES: RangeInclusive<u64> = 1_000_000..=1_000_000_000_000_000;

/// The most characters of a unit.
const UNIT_LONGEST: usize = 16;

/// Takes a script, if the key is there.
fn script(s: &mut Section<'_>, key: &'static str) -> Decoded<Option<String>> {
    let Some((text, span)) = s.optional_string(key)? else { return Ok(None) };
    if text.trim().is_empty() {
        let e = s.error(Kind::OutOfRange, span, format!("`{key}` is empty"), "a shell script");
        return Err(with_hint(e, "write what `sh` shall run, e.g. `fio --output-format=json …`"));
    }
    Ok(Some(text))
}

fn decode_metric(s: &mut Section<'_>) -> Decoded<OutputMetric> {
    let (name, at) = s.string_at("name")?;
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_fine) {
        let message = format!("`{name}` cannot be the name of a metric");
        let e = s.error(Kind::UnknownValue, at, message, "lower-case letters, digits and `_`");
        return Err(with_hint(e, "use e.g. `tps` or `p99_latency`"));
    }
    if name == RUN_TIME {
        let message = format!("every command has the metric `{RUN_TIME}`");
        let e = s.error(Kind::Impossible, at, message, "another name");
        return Err(with_hint(e, "leave it out: it is the time of the command, in seconds"));
    }
    let place = decode_place(s, "a metric")?;
    let (unit, at) = s.optional_string("unit")?.unwrap_or_default();
    if unit.contains(char::is_control) || unit.chars().count() > UNIT_LONGEST {
        let message = format!("{unit:?} cannot be a unit");
        let e = s.error(Kind::OutOfRange, at, message, "a text of at most 16 characters");
        return Err(with_hint(e, "write a short one, e.g. `1/s` or `ms`"));
    }
    let better = match s.choice("better", &["higher", "lower"])? {
        0 => Better::Higher,
        _ => Better::Lower,
    };
    Ok(OutputMetric { name, place, unit, better })
}

/// Decodes the place of a number, which messages call `what`.
fn decode_place(s: &mut Section<'_>, what: &str) -> Decoded<OutputPlace> {
    match (s.optional_string("pattern")?, s.optional_string("json")?) {
        (Some((pattern, at)), None) => {
            check_pattern(s, &pattern, at)?;
            Ok(OutputPlace::Pattern(pattern))
        }
        (None, Some((pointer, at))) => {
            if pointer.starts_with('/') {
                return Ok(OutputPlace::Json(pointer));
            }
            let message = format!("`{pointer}` is not a JSON pointer");
            let e = s.error(Kind::OutOfRange, at, message, "a text that begins with `/`");
            Err(with_hint(e, "write the keys and indices of the value, e.g. `/jobs/0/write/iops`"))
        }
        _ => {
            let message = format!("{what} has either a `pattern` or a `json`");
            let e = s.error(Kind::MissingKey, s.span(), message, "one of the two");
            let hint =
                "write e.g. `pattern = 'tps = ([0-9.]+)'`, or `json = \"/jobs/0/write/iops\"`";
            Err(with_hint(e, hint))
        }
    }
}

fn check_pattern(s: &Section<'_>, pattern: &str, at: Range<usize>) -> Decoded<()> {
    let message = match Regex::new(pattern) {
        Ok(regex) if regex.captures_len() > 1 => return Ok(()),
        Ok(_) => format!("`{pattern}` has no group"),
        Err(e) => format!("`{pattern}` is not a regular expression: {e}"),
    };
    let e = s.error(Kind::OutOfRange, at, message, "a pattern with the number in parentheses");
    Err(with_hint(e, "write e.g. `pattern = 'tps = ([0-9.]+)'`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::experiment::{Experiment, FileWork};

    /// Decodes a workload of a program with these lines.
    fn program(lines: &str) -> Decoded<ProgramWork> {
        program_in("", lines)
    }

    /// Decodes it in an experiment with these lines.
    fn program_in(head: &str, lines: &str) -> Decoded<ProgramWork> {
        program_named("w", head, lines)
    }

    fn program_named(name: &str, head: &str, lines: &str) -> Decoded<ProgramWork> {
        let text = format!(
            "format = 1\nname = \"e\"\nquestion = \"?\"\ntargets = [\"null\"]\n{head}[[workload]]\n\
             name = \"{name}\"\n{lines}"
        );
        let experiment = Experiment::parse(Source { file: "e.toml", text: &text })?;
        match experiment.workloads.into_iter().next().and_then(|w| w.files) {
            Some(FileWork::Program(program)) => Ok(program),
            other => panic!("no program: {other:?}"),
        }
    }

    #[test]
    fn a_program_has_scripts_metrics_and_a_user_time() {
        let work = program(
            "image = \"initdb\"\ncommand = \"\\n  pgbench -T 5\\nexit\"\nuser = \"postgres\"\n\
             user_time = { call = \"2us\", moved = \"4GB/s\" }\n\
             env = { small = 0o17, OPTS = \"-a 5%\", share = 1.10 }\ntransactions = 20\n\
             [[workload.metric]]\nname = \"tps\"\npattern = 'tps = (.*)'\nbetter = \"higher\"\n\
             [[workload.metric]]\nname = \"p99\"\njson = \"/p99\"\nunit = \"ms\"\n\
             better = \"lower\"\n",
        );
        let work = work.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((work.summary().as_str(), work.setup.as_deref()), ("pgbench -T 5", None));
        assert_eq!(work.image.as_deref(), Some("initdb"));
        assert_eq!(work.user_time.costs(), [2_000_000_000, 250_000, 0]);
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [("OPTS", "-a 5%"), ("share", "1.10"), ("small", "15")];
        assert_eq!(work.environment, expected.map(|(name, value)| variable(name, value)));
        assert_eq!(work.transactions, Some(TransactionCount::Fixed(20)));
        assert_eq!(work.metrics[0].place, OutputPlace::Pattern("tps = (.*)".to_owned()));
        assert_eq!(work.metrics[1].place, OutputPlace::Json("/p99".to_owned()));
        assert_eq!((work.metrics[1].unit.as_str(), work.metrics[1].better), ("ms", Better::Lower));
    }

    #[test]
    fn mistakes_are_named() {
        let metric = "command = \"x\"\n[[workload.metric]]\nbetter = \"lower\"\n";
        for (lines, told) in [
            ("command = \" \"\n", "`command` is empty"),
            ("command = \"x\"\nfile = \"git\"\n", "`file`"),
            ("command = \"x\"\nenv = { ASSAY_SEED = 1 }\n", "assay itself sets"),
            ("command = \"x\"\nenv = { \"a-b\" = 1 }\n", "cannot be the name of a variable"),
            ("command = \"x\"\nenv = { a = true }\n", "not the value of a variable"),
            ("command = \"x\"\nenv = { \"\" = 1 }\n", "cannot be the name of a variable"),
            ("command = \"x\"\nenv = { a = [\"WAL\"] }\n", "a part of a workload's name"),
            ("command = \"x\"\nenv = { a = [0.5] }\n", "a part of a workload's name"),
            ("command = \"x\"\ntransactions = {}\n", "`transactions` has either"),
            ("command = \"x\"\nenv = { a = [1, 2] }\n", "a list of `a` makes several"),
            ("command = \"x\"\ntransactions = 0\n", "`transactions` = 0 is out of range"),
            ("command = \"x\"\ntransactions = { pattern = 'x' }\n", "`x` has no group"),
            ("command = \"x\"\nuser_time = { moved = \"1kB/s\" }\n", "not a rate of moved bytes"),
            (&format!("{metric}name = \"P99\"\npattern = '(x)'\n"), "`P99` cannot be the name"),
            (&format!("{metric}name = \"run_time\"\npattern = '(x)'\n"), "every command has"),
            (&format!("{metric}name = \"a\"\npattern = 'x'\n"), "`x` has no group"),
            (&format!("{metric}name = \"a\"\npattern = '(x'\n"), "not a regular expression"),
            (&format!("{metric}name = \"a\"\njson = \"x\"\n"), "not a JSON pointer"),
            (&format!("{metric}name = \"a\"\n"), "either a `pattern` or a `json`"),
        ] {
            let e = program(lines).expect_err(told);
            assert!(e.message.contains(told) && !e.hint.is_empty(), "{told}: {e}");
        }
    }

    #[test]
    fn an_image_has_the_variables_that_its_script_names() {
        let lines = "image = \"make $size >resized\"\ncommand = \"x\"\n\
                     env = { size = [3], resize = [4], LANG = \"C\" }\n";
        let name = "{size}-{resize}";
        let work = program_named(name, "", lines).unwrap_or_else(|e| panic!("{e}"));
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(work.image_environment(), [variable("LANG", "C"), variable("size", "3")]);
    }

    /// A program would do the same work with less memory.
    #[test]
    fn a_program_is_not_scaled() {
        let e = program_in("scale = \"1/8\"\n", "command = \"x\"\n").expect_err("a scale");
        assert!(e.message.contains("`scale` does not go"), "{e}");
    }
}
