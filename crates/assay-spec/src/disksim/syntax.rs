//! The parser of DiskSim's parameter syntax (libparam): blocks of named values.
//!
//! ```text
//! type name { Some parameter = 12, List = [ 1, 2 ], Inner = type { … }, File = source a.model }
//! ```
//!
//! `#` begins a comment. Names contain spaces. *Invariant:* any text gives a tree or an error with
//! a line; nesting is bounded, so the stack does not overflow.

use super::error::ImportError;

/// The largest depth of nested blocks and lists.
const DEPTH: usize = 32;

/// A value, and the line on which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub line: usize,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A number or a word, as written.
    Text(String),
    List(Vec<Value>),
    Block(Block),
}

/// A block: `type [name] { parameters }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    pub kind: String,
    pub name: String,
    pub line: usize,
    pub values: Vec<(String, Value)>,
}

impl Block {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }
}

/// Parses all blocks of a file.
pub(super) fn parse(file: &'static str, text: &str) -> Result<Vec<Block>, ImportError> {
    let mut reader = Reader { file, rest: text, line: 1 };
    let mut blocks = Vec::new();
    loop {
        reader.skip();
        if reader.rest.is_empty() {
            return Ok(blocks);
        }
        let (words, line) = (reader.words("{"), reader.line);
        reader.expect('{')?;
        let (kind, name) = words.split_once(' ').unwrap_or((&words, ""));
        blocks.push(reader.block(kind, name.trim(), line, 0)?);
    }
}

struct Reader<'a> {
    file: &'static str,
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn error(&self, message: impl Into<String>) -> ImportError {
        ImportError { file: self.file, line: self.line, message: message.into() }
    }

    fn advance(&mut self, bytes: usize) {
        self.line += self.rest[..bytes].matches('\n').count();
        self.rest = &self.rest[bytes..];
    }

    /// Skips blanks and comments.
    fn skip(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.advance(blank);
            if !self.rest.starts_with('#') {
                return;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.advance(end);
        }
    }

    /// Reads words up to one of `ends`, a comment or the end of the text, and joins them by single
    /// blanks.
    fn words(&mut self, ends: &str) -> String {
        let end = self.rest.find(|c| ends.contains(c) || c == '#').unwrap_or(self.rest.len());
        let words = self.rest[..end].split_whitespace().collect::<Vec<_>>().join(" ");
        self.advance(end);
        self.skip();
        words
    }

    fn expect(&mut self, wanted: char) -> Result<(), ImportError> {
        match self.rest.chars().next() {
            Some(c) if c == wanted => {
                self.advance(c.len_utf8());
                Ok(())
            }
            Some(c) => Err(self.error(format!("expected `{wanted}`, found `{c}`"))),
            None => Err(self.error(format!("expected `{wanted}`, found the end of the file"))),
        }
    }

    /// Reads the parameters of a block and its `}`. The `{` has been read.
    fn block(
        &mut self,
        kind: &str,
        name: &str,
        line: usize,
        depth: usize,
    ) -> Result<Block, ImportError> {
        let (kind, name) = (kind.to_owned(), name.to_owned());
        let mut block = Block { kind, name, line, values: Vec::new() };
        loop {
            self.skip();
            if self.rest.starts_with('}') {
                self.expect('}')?;
                return Ok(block);
            }
            if self.rest.is_empty() {
                let message = format!("the block `{}` is not closed", block.kind);
                return Err(ImportError { file: self.file, line, message });
            }
            let key = self.words("={}[],");
            if key.is_empty() {
                return Err(self.error("a parameter has no name"));
            }
            self.expect('=')?;
            let value = self.value(depth + 1)?;
            block.values.push((key, value));
            self.skip();
            if self.rest.starts_with(',') {
                self.expect(',')?;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, ImportError> {
        if depth > DEPTH {
            return Err(self.error("blocks are nested too deeply"));
        }
        self.skip();
        let line = self.line;
        if self.rest.starts_with('[') {
            return Ok(Value { line, what: What::List(self.list(depth)?) });
        }
        let words = self.words(",={}[]");
        if self.rest.starts_with('{') {
            self.expect('{')?;
            return Ok(Value { line, what: What::Block(self.block(&words, "", line, depth)?) });
        }
        match words.is_empty() {
            true => Err(self.error("a value is missing")),
            false => Ok(Value { line, what: What::Text(words) }),
        }
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>, ImportError> {
        self.expect('[')?;
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.rest.starts_with(']') {
                self.expect(']')?;
                return Ok(items);
            }
            items.push(self.value(depth + 1)?);
            self.skip();
            if !self.rest.starts_with(']') {
                self.expect(',')?;
            }
        }
    }
}
