//! Getters for keys that may hold one table or several, and one value or several.

use super::section::{Section, Value};
use super::source::Decoded;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// A list as it stands in the file.
pub struct List<'a> {
    /// The key that holds the list.
    pub key: &'static str,
    /// The span of the whole list.
    pub span: Range<usize>,
    /// The elements of the list.
    pub items: Vec<Value<'a>>,
}

impl<'a> Section<'a> {
    /// Takes one table (`[key]`) or a list of them (`[[key]]`). Returns an empty list if the key is
    /// absent.
    pub fn tables(&mut self, key: &'static str, what: &'static str) -> Decoded<Vec<Section<'a>>> {
        match self.peek(key).map(Spanned::get_ref) {
            Some(DeValue::Array(items)) if items.iter().all(|i| i.get_ref().is_table()) => {
                self.sections(key, what)
            }
            _ => Ok(self.optional_section(key, what)?.into_iter().collect()),
        }
    }

    /// Returns those of `keys` that hold lists, in the order in which they are written. Takes no
    /// key.
    pub fn lists(&self, keys: &[&'static str]) -> Vec<List<'a>> {
        let list = |key: &&'static str| {
            let value = self.peek(key)?;
            let items = value.get_ref().as_array()?.iter().cloned().collect();
            Some(List { key, span: value.span(), items })
        };
        let mut lists: Vec<List<'a>> = keys.iter().filter_map(list).collect();
        lists.sort_by_key(|list| list.span.start);
        lists
    }

    /// Returns the table `key`, which messages name by `what`. Takes no key.
    pub fn peek_table(&self, key: &str, what: &'static str) -> Option<Section<'a>> {
        let table = self.peek(key)?.get_ref().as_table()?.clone();
        Some(Section::new(self.source(), what, table, self.key_span_of(key)))
    }

    /// Returns the value of `key` if it is a string. Does not take the key.
    pub fn peek_text(&self, key: &str) -> Option<String> {
        Some(self.peek(key)?.get_ref().as_str()?.to_owned())
    }

    /// Replaces the value of `key` by a text. Diagnostics about the text point at the old value.
    pub fn put_text(&mut self, key: &str, text: String) {
        let span = self.whole_span_of(key);
        self.put(key, Spanned::new(span, DeValue::String(text.into())));
    }

    /// Replaces the value of `name` in the table `key` by a text, as [`Section::put_text`] does.
    pub fn put_text_in(&mut self, key: &str, name: &str, text: String) {
        let Some(value) = self.peek(key) else { return };
        let DeValue::Table(mut table) = value.get_ref().clone() else { return };
        let span = value.span();
        if let Some(inner) = table.get_mut(name) {
            *inner = Spanned::new(inner.span(), DeValue::String(text.into()));
        }
        self.put(key, Spanned::new(span, DeValue::Table(table)));
    }
}
