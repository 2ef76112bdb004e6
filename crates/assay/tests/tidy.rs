//! The repository keeps its own rules: sizes, headers, safety comments, dependencies, no leftovers.
//!
//! Looks at the sources as text. Code is taken to be formatted by rustfmt, so a function ends at
//! the first closing brace as far left as its `fn`.

#![allow(clippy::print_stdout)] // a skipped test says why

use assay_spec::catalog::{CONTROLLERS, DEVICES, LEDGERS, PRICES, PROCESSORS, STUDIES};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::experiment::Experiment;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINE: usize = 100;
const FUNCTION: usize = 70;
const FILE: usize = 400;

/// Files that may be longer than [`FILE`], each with its reason.
const LONG: &[(&str, &str)] = &[(
    "crates/assay-spec/src/decode/section.rs",
    "one decoder with all its value types: nothing to cut",
)];

/// Crates that may be depended on from outside; `Cargo.toml` says what each is for.
const ALLOWED: &[&str] = &[
    "clap",
    "indicatif",
    "io-uring",
    "libc",
    "libm",
    "object",
    "parquet",
    "proptest",
    "rand_core",
    "rand_pcg",
    "regex-lite",
    "rustix",
    "serde",
    "serde_json",
    "tempfile",
    "thiserror",
    "toml",
    "vm-memory",
];

/// Endings of text files.
const TEXT: &[&str] =
    &["rs", "toml", "md", "yml", "yaml", "json", "html", "css", "js", "sh", "csv"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files below `folder` with one of the endings, relative to the root, without what is built.
fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let (root, mut found, mut waiting) = (root(), Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap()) {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let kind = entry.file_type().unwrap();
            let top = path.parent() == Some(&root);
            // By its tag, because the engine has a folder `target`, too.
            let is_built = || path.join("CACHEDIR.TAG").exists();
            if kind.is_dir() && name != ".git" && !(top && name == "runs") && !is_built() {
                waiting.push(path);
            } else if kind.is_file() && endings.iter().any(|e| name.ends_with(&format!(".{e}"))) {
                found.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every Rust file with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let sources: Vec<_> = files("", &["rs"]).into_iter().map(|p| (p.clone(), read(&p))).collect();
    assert!(sources.len() > 50, "the sources were not found");
    sources
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// Fails with one line for each offence.
fn none(offences: Vec<String>) {
    assert!(offences.is_empty(), "\n{}", offences.join("\n"));
}

#[test]
fn lines_are_short() {
    let mut offences = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate().filter(|(_, l)| l.chars().count() > LINE) {
            let length = line.chars().count();
            offences.push(format!("{}:{}: {length} characters", path.display(), number + 1));
        }
    }
    none(offences);
}

/// First line, name and length of every function with a body.
fn functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate().filter(|(_, l)| !is_comment(l)) {
        let code = line.trim_start();
        let Some(at) = code.find("fn ") else { continue };
        let words = ["pub", "const", "unsafe", "async", "extern", "\"C\""];
        let is_word = |w: &str| words.contains(&w) || w.starts_with("pub(");
        let is_function = code[..at].split_whitespace().all(is_word);
        if !is_function || line.ends_with('}') || line.ends_with(';') {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let closing = [format!("{indent}}}"), format!("{indent});")];
        let ends = |l: &str| {
            closing.iter().any(|c| *c == l)
                || (l.starts_with(&format!("{indent})")) && l.ends_with(';'))
        };
        let length = lines[first..].iter().position(|l| ends(l)).map_or(0, |n| n + 1);
        let name = code[at + 3..].split(['(', '<']).next().unwrap_or_default();
        found.push((first + 1, name.to_owned(), length));
    }
    found
}

#[test]
fn functions_are_short() {
    let mut offences = Vec::new();
    for (path, text) in sources() {
        for (line, name, length) in functions(&text) {
            assert!(length > 0, "{}:{line}: where does `{name}` end?", path.display());
            if length > FUNCTION {
                offences.push(format!("{}:{line}: `{name}` has {length} lines", path.display()));
            }
        }
    }
    none(offences);
}

#[test]
fn files_are_short_and_exceptions_are_needed() {
    let mut long = BTreeSet::new();
    let mut offences = Vec::new();
    let is_test = |path: &Path| path.components().any(|c| c.as_os_str() == "tests");
    for (path, text) in sources().into_iter().filter(|(path, _)| !is_test(path)) {
        let lines: Vec<&str> = text.lines().collect();
        // A module of tests that stands here, not one that is in a file of its own.
        let begins = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].ends_with('{');
        let lines = lines.windows(2).position(begins).unwrap_or(lines.len());
        let path = path.display().to_string();
        if lines > FILE {
            long.insert(path.clone());
            if !LONG.iter().any(|(name, _)| *name == path) {
                offences.push(format!("{path}: {lines} lines before its tests"));
            }
        }
    }
    for (name, reason) in LONG {
        assert!(!reason.is_empty());
        if !long.contains(*name) {
            offences.push(format!("{name} is an exception that is not needed"));
        }
    }
    none(offences);
}

#[test]
fn every_source_says_what_it_is() {
    let without = |(path, text): (PathBuf, String)| {
        (!text.starts_with("//! ")).then(|| path.display().to_string())
    };
    none(sources().into_iter().filter_map(without).collect());
}

#[test]
fn nothing_is_left_over() {
    // In two parts, so that this file does not find itself.
    let leftovers =
        [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("db", "g!("), "<<<<<<< "];
    let mut offences = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate().filter(|(_, l)| !is_comment(l)) {
            let found = leftovers.iter().find(|leftover| line.contains(*leftover));
            let at = |what| format!("{}:{}: {what}", path.display(), number + 1);
            let itself = path.ends_with("tests/tidy.rs");
            offences.extend(found.filter(|_| !itself).map(at));
        }
    }
    none(offences);
}

/// What a program leaves in a checkout, an image or a log, is easily committed with the rest.
#[test]
fn no_file_is_binary_but_saved_logs() {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let Ok(listed) = listed.map(|output| output.stdout) else {
        return println!("skipped: no git");
    };
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    let others = names.filter(|name| !name.starts_with("fuzz/saved/"));
    let is_binary = |name: &String| fs::read(root().join(name)).is_ok_and(|t| t.contains(&0));
    none(others.filter(is_binary).collect());
}

/// Programs are run through `child::tool`, which keeps the user's environment from them: `GIT_DIR`
/// and the like name files to write.
#[test]
fn programs_do_not_get_the_environment() {
    // Guests have an environment of their own.
    let own = ["child.rs", "boot.rs", "guest/program.rs", "guest/shell.rs", "guest/tools.rs"];
    let mut offences = Vec::new();
    for (path, text) in sources() {
        let is_program = path.components().any(|part| part.as_os_str() == "src");
        if !is_program || own.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        // It needs the user's environment to reach its archive.
        let code = code.replace("Command::new(\"apt-get\")", "");
        if code.contains("Command::new(") {
            offences.push(format!("{}: use assay_linux::child::tool", path.display()));
        }
    }
    none(offences);
}

#[test]
fn no_text_names_somebodys_home() {
    let homes = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];
    let mut offences = Vec::new();
    for path in files("", TEXT) {
        let Ok(text) = fs::read_to_string(root().join(&path)) else {
            offences.push(format!("{}: not UTF-8", path.display()));
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            // As a path of its own, not as the middle of another.
            let starts = |home: &str| {
                let before = |at: usize| line[..at].chars().next_back();
                let mut places = line.match_indices(home).map(|(at, _)| before(at));
                places.any(|c| c.is_none_or(|c| !c.is_alphanumeric() && !"_-.*}".contains(c)))
            };
            if let Some(home) = homes.iter().find(|home| starts(home)) {
                offences.push(format!("{}:{}: {home}", path.display(), number + 1));
            }
        }
    }
    none(offences);
}

#[test]
fn every_unsafe_block_says_why_it_is_sound() {
    let mut offences = Vec::new();
    for (path, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        let blocks = |(_, l): &(usize, &&str)| l.contains("unsafe {") && !is_comment(l);
        for (number, _) in lines.iter().enumerate().filter(blocks) {
            if path.ends_with("tests/tidy.rs") {
                continue;
            }
            // Above the statement, which may begin a few lines up; the comment may be long.
            let above = lines[..number].iter().rev();
            let code = above.clone().take_while(|l| !is_comment(l)).count();
            let comment = above.skip(code).take_while(|l| is_comment(l));
            let says = comment.clone().any(|l| l.trim_start().starts_with("// SAFETY: "));
            if code > 3 || !says {
                offences.push(format!("{}:{}: no SAFETY comment", path.display(), number + 1));
            }
        }
    }
    none(offences);
    for library in ["spec", "sim", "analysis"] {
        let text = read(Path::new(&format!("crates/assay-{library}/src/lib.rs")));
        assert!(text.lines().any(|l| l == "#![forbid(unsafe_code)]"), "assay-{library}");
    }
}

#[test]
fn every_spec_and_study_is_compiled_in_and_every_example_decodes() {
    let experiments = STUDIES.iter().flat_map(|study| study.experiments);
    let bundled = DEVICES.iter().chain(CONTROLLERS).chain(experiments).chain(LEDGERS);
    let bundled = bundled.chain(PRICES).chain(PROCESSORS);
    let bundled: BTreeSet<PathBuf> = bundled.map(|b| b.file.into()).collect();
    let folders = ["devices", "studies", "prices"].into_iter();
    // Of the studies, but none: which claims are independent.
    let is_spec = |path: &PathBuf| !path.ends_with("independent.toml");
    let there: BTreeSet<PathBuf> =
        folders.flat_map(|folder| files(folder, &["toml"])).filter(is_spec).collect();
    assert_eq!(there, bundled);
    for path in files("examples", &["toml"]) {
        let (file, text) = (path.display().to_string(), read(&path));
        let source = || Source { file: &file, text: &text };
        let as_experiment = Experiment::parse(source()).map(|_| ());
        let as_device = || DeviceSpec::parse(source()).map(|_| ());
        if let Err(error) = as_experiment
            && as_device().is_err()
        {
            panic!("{error}");
        }
    }
}

#[test]
fn dependencies_are_few_and_each_has_its_reason() {
    let text = read(Path::new("Cargo.toml"));
    let section = text.split_once("\n[workspace.dependencies]\n").unwrap().1;
    let mut seen = BTreeSet::new();
    let mut since_comment = None;
    for line in section.lines().take_while(|l| !l.starts_with('[')) {
        if line.starts_with('#') {
            since_comment = Some(0);
            continue;
        }
        let Some((name, value)) = line.split_once(" = ") else { continue };
        if value.contains("path = \"crates/") {
            continue;
        }
        assert!(ALLOWED.contains(&name), "{name} is not among the allowed dependencies");
        // A comment may be for two that go together, such as serde and serde_json.
        since_comment = since_comment.map(|n| n + 1);
        assert!(since_comment.is_some_and(|n| n <= 2), "{name} has no reason above it");
        seen.insert(name);
    }
    assert_eq!(seen, ALLOWED.iter().copied().collect(), "allowed, but not used");
    for manifest in files("crates", &["toml"]).iter().filter(|p| p.ends_with("Cargo.toml")) {
        let text = read(manifest);
        let sections = text.split("\n[").filter(|s| s.contains("dependencies]\n"));
        for line in sections.flat_map(|s| s.lines().skip(1)) {
            let plain = line.is_empty() || line.starts_with('#');
            let inherited = line.contains("workspace = true");
            assert!(plain || inherited, "{}: {line}", manifest.display());
        }
    }
}

#[test]
fn the_changelog_has_a_heading_for_what_is_new() {
    let text = read(Path::new("CHANGELOG.md"));
    assert!(text.starts_with("# Changelog\n"), "{:?}", text.lines().next());
    let heading = text.lines().find_map(|l| l.strip_prefix("## ")).unwrap_or_default();
    let version = heading.trim_start_matches(['[', 'v']).starts_with(|c: char| c.is_ascii_digit());
    assert!(version || heading.contains("Unreleased"), "`## {heading}`");
}

#[test]
fn the_places_that_a_newcomer_should_guess_exist() {
    let text = read(&root().join("crates/assay/tests/places.md"));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split_once("| `"));
    let paths: Vec<&str> = rows.filter_map(|(_, path)| path.strip_suffix("` |")).collect();
    assert!(paths.len() >= 30, "{} places", paths.len());
    let is_there = |path: &&str| match path.strip_prefix('/') {
        Some(path) => root().join(path).is_file(),
        None => root().join("crates").join(path).is_file(),
    };
    none(paths.iter().filter(|path| !is_there(path)).map(|path| (*path).to_owned()).collect());
}

/// Code for one study or drive belongs in the files of that study or drive; other code works for
/// all of them.
#[test]
fn general_code_names_no_study_and_no_drive() {
    let own = ["catalog.rs", "studies", "tests", "tests.rs", "steady_tests.rs", "sample.rs"];
    let is_general = |path: &PathBuf| {
        path.iter().any(|part| part == "src") && !path.iter().any(|p| own.iter().any(|o| p == *o))
    };
    // `quick` is what is run if nothing is named.
    let studies = STUDIES.iter().map(|study| study.name).filter(|name| *name != "quick");
    let names: Vec<String> =
        studies.chain(DEVICES.iter().map(|d| d.name)).map(|name| format!("\"{name}\"")).collect();
    let mut offences = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| is_general(path)) {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
            if let Some(name) = names.iter().find(|name| line.contains(name.as_str())) {
                offences.push(format!("{}:{}: {name}", path.display(), number + 1));
            }
        }
    }
    none(offences);
}

/// A file that ARCHITECTURE.md or CONTRIBUTING.md names is there, under that name and in that
/// folder.
#[test]
fn the_files_that_pages_for_developers_name_exist() {
    let text = ["ARCHITECTURE.md", "CONTRIBUTING.md"].map(|page| read(&root().join(page))).concat();
    let named = text.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs"));
    let named: Vec<&str> = named.collect();
    assert!(named.len() >= 30, "{} files", named.len());
    let all: Vec<PathBuf> = sources().into_iter().map(|(path, _)| path).collect();
    let is_there = |name: &&str| all.iter().any(|path| path.ends_with(name));
    none(named.iter().filter(|name| !is_there(name)).map(|name| (*name).to_owned()).collect());
}
