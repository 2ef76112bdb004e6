//! Measures the structure of the code: circles of imports, large structs, scattered methods, large
//! traits and type names that occur twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The most fields of a struct.
const FIELDS: usize = 15;
/// The structs of the models that change themselves although most of their fields are open to their
/// folder: what several parts of a drive work on at each step. ARCHITECTURE.md says why.
const TABLES: [&str; 9] =
    ["Blocks", "Chips", "Collecting", "Counts", "Media", "Plan", "Shingled", "Slab", "Tables"];
/// The most files with methods of one type.
const METHOD_FILES: usize = 3;
/// The most methods of a trait.
const TRAIT_METHODS: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A source file: its module path, and its code without comments, strings and tests.
struct Source {
    module: Vec<String>,
    code: String,
}

/// Returns the crates with their sources, without tests.
fn crates() -> BTreeMap<String, Vec<Source>> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    folders.map(|folder| (name_of(&folder), sources(&folder.join("src")))).collect()
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn sources(src: &Path) -> Vec<Source> {
    let (mut found, mut waiting) = (Vec::new(), vec![src.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let file = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Vec<String> = file.iter().map(|p| p.display().to_string()).collect();
            if module.iter().any(|part| part == "tests" || part.ends_with("_tests")) {
                continue;
            }
            if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                module.pop();
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            found.push(Source { module, code: bare(text) });
        }
    }
    found
}

/// Returns the code without comments and without the contents of strings.
fn bare(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => {
                while rest.peek().is_some_and(|c| *c != '\n') {
                    rest.next();
                }
            }
            '"' => {
                code.push_str("\"\"");
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => _ = rest.next(),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '\'' => {
                // A character; of a lifetime only the mark is dropped.
                let mut ahead = rest.clone();
                let first = ahead.next();
                if first == Some('\\') {
                    ahead.next();
                    ahead.by_ref().take_while(|c| *c != '\'').for_each(drop);
                    rest = ahead;
                } else if ahead.next() == Some('\'') {
                    rest = ahead;
                }
            }
            c => code.push(c),
        }
    }
    code
}

/// Returns the paths in a use tree: `a::{b, c::d}` has two.
fn paths_of(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else {
        return vec![tree.split(" as ").next().unwrap_or_default().trim().to_owned()];
    };
    let (head, inner) = (&tree[..open], &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())]);
    let (mut depth, mut from, mut items) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    items.push(&inner[from..]);
    let items = items.into_iter().map(str::trim).filter(|item| !item.is_empty());
    items.flat_map(paths_of).map(|path| format!("{}{path}", head.trim())).collect()
}

/// Returns the modules of the crate that a source uses.
fn uses(source: &Source, modules: &BTreeSet<Vec<String>>) -> BTreeSet<Vec<String>> {
    let mut paths = Vec::new();
    let mut outside = String::new();
    for statement in source.code.split(';') {
        let line = statement.trim_start();
        let start = line.find("use ").filter(|at| {
            let head = line[..*at].trim();
            head.is_empty() || head.ends_with(']') || head.starts_with("pub")
        });
        match start {
            Some(at) if !line[..at].contains("cfg(test)") => {
                paths.extend(paths_of(&line[at + 4..]))
            }
            Some(_) => {}
            // A visibility is no import.
            None => outside += &format!("{};", statement.replace("(in crate::", "(in ")),
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = outside.split(|c: char| !is_part(c)).filter(|word| word.contains("::"));
    paths.extend(words.map(str::to_owned));
    let found = paths.iter().filter_map(|path| module_of(path, &source.module, modules));
    found.filter(|module| *module != source.module).collect()
}

/// Returns the module of the crate that `path`, used in `from`, leads into.
fn module_of(path: &str, from: &[String], modules: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
    let mut parts = path.split("::").map(str::trim).peekable();
    let mut at = match *parts.peek()? {
        "crate" => Vec::new(),
        "self" | "super" => from.to_vec(),
        first => {
            let child = [from, &[first.to_owned()]].concat();
            modules.contains(&child).then(|| from.to_vec())?
        }
    };
    while let Some(part) = parts.next_if(|part| ["crate", "self", "super"].contains(part)) {
        if part == "super" {
            at.pop();
        }
    }
    for part in parts {
        let child = [&at[..], &[part.to_owned()]].concat();
        if !modules.contains(&child) {
            break;
        }
        at = child;
    }
    modules.contains(&at).then_some(at)
}

/// Returns the number of files of a crate that import each other in circles.
fn in_circles(sources: &[Source]) -> usize {
    let modules: BTreeSet<Vec<String>> = sources.iter().map(|s| s.module.clone()).collect();
    let graph: BTreeMap<_, _> = sources.iter().map(|s| (&s.module, uses(s, &modules))).collect();
    let reaches = |from: &Vec<String>| {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![from]);
        while let Some(one) = waiting.pop() {
            waiting.extend(graph[one].iter().filter(|next| seen.insert((*next).clone())));
        }
        seen.contains(from)
    };
    graph.keys().filter(|module| reaches(module)).count()
}

/// Returns the bodies of all `keyword NAME … { BODY }`: the head behind the keyword, and the body.
fn bodies<'c>(code: &'c str, keyword: &str) -> Vec<(&'c str, &'c str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(keyword) {
        let is_word = code[..at].chars().last().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let rest = &code[at + keyword.len()..];
        let Some(open) = rest.find(['{', ';', '(']).filter(|_| is_word) else { continue };
        if !rest[open..].starts_with('{') {
            continue;
        }
        let mut depth = 0;
        let end = rest[open..].char_indices().find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0
        });
        let Some((end, _)) = end else { continue };
        found.push((rest[..open].trim(), &rest[open + 1..open + end]));
    }
    found
}

/// Returns `head` without the generics it begins with.
fn behind_generics(head: &str) -> &str {
    let mut depth = 0;
    let end = head.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        depth == 0
    });
    match end {
        Some((end, '>')) => head[end + 1..].trim(),
        _ => head,
    }
}

fn word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Returns the number of fields in the body of a struct: colons that stand alone.
fn fields(body: &str) -> usize {
    let is_field = |line: &&str| {
        let name = line.trim_start().trim_start_matches("pub(crate) ");
        let name = name.trim_start_matches("pub(super) ").trim_start_matches("pub ");
        name[word(name).len()..].starts_with(':') && !word(name).is_empty()
    };
    let indent = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let indent = indent.len() - indent.trim_start().len();
    let own = |line: &&str| line.len() - line.trim_start().len() == indent;
    body.lines().filter(own).filter(is_field).count()
}

/// Returns the structs in a source that change themselves and have more open fields than private
/// ones.
fn open_structs(code: &str) -> BTreeSet<String> {
    let impls = bodies(code, "\nimpl").into_iter();
    let change = impls.filter(|(head, body)| !head.contains(" for ") && body.contains("&mut self"));
    let changing: BTreeSet<String> = change.map(|(head, _)| word(behind_generics(head))).collect();
    let is_open = |line: &&str| line.trim_start().starts_with("pub");
    let structs = bodies(code, "struct ").into_iter();
    let open = structs.filter(|(_, body)| body.lines().filter(is_open).count() * 2 > fields(body));
    open.map(|(head, _)| word(head)).filter(|name| changing.contains(name)).collect()
}

/// Returns everything that is above a limit, with its number.
fn measured() -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for (name, sources) in crates() {
        let circles = in_circles(&sources);
        if circles > 0 {
            all.insert(format!("{name}: files in circles of imports (0 allowed)"), circles);
        }
        let mut methods: BTreeMap<String, BTreeSet<&[String]>> = BTreeMap::new();
        let mut types: BTreeMap<String, usize> = BTreeMap::new();
        for source in &sources {
            for (head, body) in bodies(&source.code, "struct ") {
                if fields(body) > FIELDS {
                    let what = format!("{name}: fields of {} ({FIELDS} allowed)", word(head));
                    all.insert(what, fields(body));
                }
            }
            for (head, body) in bodies(&source.code, "trait ") {
                let count = body.matches("fn ").count();
                if count > TRAIT_METHODS {
                    let what = format!("{name}: methods of trait {}", word(head));
                    all.insert(format!("{what} ({TRAIT_METHODS} allowed)"), count);
                }
            }
            for (head, _) in bodies(&source.code, "\nimpl") {
                let head = behind_generics(head);
                if !head.contains(" for ") {
                    methods.entry(word(head)).or_default().insert(&source.module);
                }
            }
            for keyword in ["struct ", "enum ", "trait "] {
                for line in source.code.lines().filter(|line| !line.starts_with(' ')) {
                    let line = line.trim_start_matches("pub(crate) ");
                    let line = line.trim_start_matches("pub(super) ").trim_start_matches("pub ");
                    let name = line.strip_prefix(keyword).map(word);
                    name.into_iter().for_each(|name| *types.entry(name).or_default() += 1);
                }
            }
        }
        for (of, files) in methods.into_iter().filter(|(_, files)| files.len() > METHOD_FILES) {
            let what = format!("{name}: files with methods of {of} ({METHOD_FILES} allowed)");
            all.insert(what, files.len());
        }
        for (of, count) in types.into_iter().filter(|(_, count)| *count > 1) {
            all.insert(format!("{name}: types of the name {of} (1 allowed)"), count);
        }
    }
    all
}

#[test]
fn nothing_is_above_a_limit() {
    let mut wrong = String::new();
    for (what, number) in measured() {
        writeln!(wrong, "{what}: {number}").unwrap();
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn only_tables_have_open_fields() {
    let models = crates().remove("assay-sim").unwrap();
    let open: BTreeSet<String> = models.iter().flat_map(|s| open_structs(&s.code)).collect();
    assert_eq!(open, TABLES.map(str::to_owned).into());
    let fields = "\nstruct A {\n    pub a: u8,\n    b: u8,\n    pub(super) c: u8,\n}\n";
    let code = &[fields, "\nimpl A {\n    fn f(&mut self) {}\n}\n"].concat();
    assert_eq!(open_structs(code), BTreeSet::from(["A".to_owned()]));
    assert!(open_structs(&code.replace("pub(super) c", "c")).is_empty());
}

#[test]
fn paths_and_bodies_are_found() {
    assert_eq!(paths_of("a::{b, c::{d as e, f}}"), ["a::b", "a::c::d", "a::c::f"]);
    assert_eq!(bare("a // b\n\"c { d\" '{' 'x 1"), "a \n\"\"  x 1");
    let code = "struct A<T> {\n    pub(crate) a: u32,\n    b: T,\n}\nstruct B;\n";
    let [(head, body)] = bodies(code, "struct ")[..] else { panic!("one struct has a body") };
    assert_eq!((word(head).as_str(), fields(body)), ("A", 2));
    assert_eq!(
        [behind_generics("<F: Ftl<u8>> Ssd<F>"), behind_generics("Nand")],
        ["Ssd<F>", "Nand"]
    );
    let modules = |paths: &[&str]| -> BTreeSet<Vec<String>> {
        paths.iter().map(|p| p.split("::").map(str::to_owned).collect()).collect()
    };
    let all = modules(&["a", "a::b", "c"]);
    let of = |path, from: &str| {
        let from: Vec<String> = from.split("::").map(str::to_owned).collect();
        module_of(path, &from, &all).map(|module| module.join("::"))
    };
    assert_eq!(of("super::Thing", "a::b").as_deref(), Some("a"));
    assert_eq!(of("crate::c::Thing", "a").as_deref(), Some("c"));
    assert_eq!(of("b::Thing", "a").as_deref(), Some("a::b"));
    assert_eq!(of("std::fmt", "a"), None);
}
