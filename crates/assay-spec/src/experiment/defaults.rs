//! The table `[linux]`: options that all Linux targets of an experiment have, unless they say
//! otherwise.

use super::scale::Scale;
use crate::array::{complete_linux, parse_linux, scale_linux};
use crate::decode::{Decoded, Section, Value, number_of, with_hint};
use crate::diagnostic::{Kind, one_of};

/// The options that `[linux]` may have.
const SHARED: [&str; 10] = [
    "scheduler",
    "readahead",
    "memory",
    "partition",
    "queue_depth",
    "max_request",
    "processor",
    "date",
    "discard",
    "sysctl",
];

/// The options that depend on the target.
const OWN: [&str; 4] = ["fs", "mkfs", "mount", "name"];

/// The defaults of an experiment's Linux targets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinuxDefaults {
    /// Options, with their values as in `linux(…)`.
    options: Vec<(&'static str, String)>,
    /// The scale of memory and partition.
    scale: Scale,
}

impl LinuxDefaults {
    /// Decodes `[linux]`, if it is present.
    pub(super) fn decode(top: &mut Section<'_>, scale: Scale) -> Decoded<LinuxDefaults> {
        let mut options = Vec::new();
        if let Some(mut section) = top.optional_section("linux", "linux")? {
            for key in OWN {
                if section.has(key) {
                    let message = format!("`[linux]` has no `{key}`");
                    let span = section.key_span_of(key);
                    let e = section.error(Kind::UnknownKey, span, message, one_of(&SHARED));
                    return Err(with_hint(e, format!("write `{key}=` into each target instead")));
                }
            }
            for key in SHARED {
                if let Some(value) = section.take(key) {
                    options.push((key, option(&section, key, &value)?));
                }
            }
            section.finish()?;
        }
        Ok(LinuxDefaults { options, scale })
    }

    /// Returns a Linux target with these defaults, scaled, and any other target as it is.
    pub(super) fn apply(&self, target: &str) -> String {
        scale_linux(&complete_linux(target, &self.options), self.scale)
    }
}

/// Returns the value of an option as it stands in `linux(…)`.
fn option(section: &Section<'_>, key: &str, value: &Value<'_>) -> Decoded<String> {
    let text = value.get_ref().as_str().map(str::to_owned);
    let Some(text) = text.or_else(|| number_of(value.get_ref()).map(|n| n.to_string())) else {
        let message = format!("`{key}` is neither a text nor a number");
        let e = section.error(Kind::WrongType, value.span(), message, "a text or a number");
        return Err(with_hint(e, "write the value as a text, as in `linux(…)`"));
    };
    let is_quoted = key == "sysctl" || text.contains([',', '(', ')']);
    let text = if is_quoted { format!("\"{text}\"") } else { text };
    match parse_linux(&format!("linux(raw, sim:any, {key}={text})")) {
        Ok(_) => Ok(text),
        Err(e) => {
            let (message, expected) = (e.message, e.expected);
            Err(with_hint(section.error(e.kind, value.span(), message, expected), e.hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::Source;
    use crate::diagnostic::Diagnostic;
    use crate::experiment::Experiment;

    /// Parses an experiment at the scale 1/2 with this text before and after the table.
    fn experiment(before: &str, linux: &str, after: &str) -> Result<Experiment, Box<Diagnostic>> {
        let text = format!(
            "format = 1\nname = \"e\"\nquestion = \"?\"\nscale = \"1/2\"\n{before}\n[linux]\n\
             {linux}\n{after}\n[[workload]]\nname = \"w\"\nread_share = 1.0\nsize = \"4KiB\"\n\
             pattern = \"sequential\"\nmeasure = {{ requests = 1 }}\n"
        );
        Experiment::parse(Source { file: "e.toml", text: &text })
    }

    #[test]
    fn a_linux_target_has_what_it_does_not_say_itself() {
        let linux = "memory = \"4GiB\"\nqueue_depth = 8\nsysctl = \"vm.a=1 vm.b=2\"";
        let targets = "targets = [\"linux(raw, sim:a, queue_depth=4)\", \"sim:a\", \
                       \"linux(sim:a , fs=ext4)\"]";
        let expected = [
            "linux(raw, sim:a, memory=2GiB, queue_depth=4, sysctl=\"vm.a=1 vm.b=2\")",
            "sim:a",
            "linux(fs=ext4, sim:a, memory=2GiB, queue_depth=8, sysctl=\"vm.a=1 vm.b=2\")",
        ];
        assert_eq!(experiment(targets, linux, "").unwrap().targets, expected);
    }

    #[test]
    fn the_same_target_is_the_same_text_wherever_its_options_stand() {
        let all = |target: &str, linux: &str| {
            experiment(&format!("targets = [\"{target}\"]"), linux, "").unwrap().targets
        };
        let here = all("linux(fs=ext4, sim:a, scheduler=cfq, name=x)", "partition = \"1GiB\"");
        let there = all("linux(sim:a, name=x, fs=ext4, partition=1GiB)", "scheduler = \"cfq\"");
        assert_eq!(here, there);
    }

    #[test]
    fn targets_of_factors_have_the_defaults_too() {
        let factors = "[factors]\ntarget = \"linux({fs}, sim:a)\"\n\
                       base = { fs = \"one\" }\n[factors.levels]\n\
                       fs = { one = \"fs=ext4\", two = \"raw, memory=1GiB\" }";
        let mut read = experiment("targets = []", "memory = \"4GiB\"", factors).unwrap();
        let expected = ["linux(fs=ext4, sim:a, memory=2GiB)", "linux(raw, sim:a, memory=512MiB)"];
        assert_eq!(read.targets, expected);
        read.factorial();
        assert_eq!(read.targets, expected);
    }

    #[test]
    fn what_no_target_could_have_is_refused_where_it_stands() {
        let wrong = [
            ("memory = \"1 page\"", "`memory` has no unit `page`"),
            ("memory = \"1GiB, name=x\"", "`memory` is not a quantity"),
            ("memory = \"1GiB)\"", "`memory` is not a quantity"),
            ("queue_depth = 0", "0 requests are out of range"),
            ("scheduler = [\"cfq\"]", "neither a text nor a number"),
            ("sysctl = \"dirty\"", "is not a setting"),
            ("date = \"today\"", "is not a date"),
            ("mount = \"barrier=0\"", "`[linux]` has no `mount`"),
            ("name = \"x\"", "`[linux]` has no `name`"),
            ("drive = \"x\"", "`drive`"),
        ];
        for (linux, words) in wrong {
            let e = experiment("targets = []", linux, "").unwrap_err();
            assert!(e.message.contains(words), "{linux}: {}", e.message);
            assert_eq!(e.place.as_ref().map(|place| place.line), Some(7), "{linux}");
        }
    }
}
