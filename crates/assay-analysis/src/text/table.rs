//! Columns of text, as wide as their content and aligned to the right or left, and lines broken at
//! spaces.

/// A table that is laid out as text.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    /// The columns aligned to the left; the others are numbers.
    left: Vec<usize>,
}

/// Returns the width in characters, which is the width on a terminal for all text made here.
pub fn width(text: &str) -> usize {
    text.chars().count()
}

/// Shortens a text to `limit` characters: it keeps the start and the end, where names of arrays
/// differ.
pub(super) fn clip(text: &str, limit: usize) -> String {
    let width = width(text);
    if width <= limit {
        return text.to_owned();
    }
    let (start, end) = (limit / 2, limit - limit / 2 - 1);
    text.chars().take(start).chain(['…']).chain(text.chars().skip(width - end)).collect()
}

impl Table {
    /// Returns a table with a heading. The columns of `left` are aligned to the left.
    pub fn new(heading: &[&str], left: &[usize]) -> Table {
        let heading = heading.iter().map(ToString::to_string).collect();
        Table { rows: vec![heading], left: left.to_vec() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns the lines, with columns two spaces apart.
    pub fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|t| width(t)).max();
        let widths: Vec<usize> = (0..columns).map(|c| widest(c).unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let cell = |(c, text): (usize, &String)| {
                let pad = " ".repeat(widths[c].saturating_sub(width(text)));
                if self.left.contains(&c) { format!("{text}{pad}") } else { format!("{pad}{text}") }
            };
            let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            cells.join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// Breaks a text at spaces into lines of at most `limit` characters; longer words stay whole.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > limit {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}
