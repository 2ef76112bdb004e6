//! Getters of typed values of a parsed block, whose errors name the line.

use super::error::ImportError;
use super::syntax::{Block, Value, What};
use crate::units::Nanos;

/// A block of a file, from which values are read.
#[derive(Clone, Copy)]
pub(super) struct Take<'a> {
    pub file: &'static str,
    pub block: &'a Block,
}

/// Reads a time in milliseconds, of at most a minute.
pub(super) fn milliseconds(text: &str) -> Option<Nanos> {
    let ms = text.parse::<f64>().ok().filter(|ms| (0.0..=60_000.0).contains(ms))?;
    Some(Nanos((ms * 1e6).round() as u64))
}

impl<'a> Take<'a> {
    pub(super) fn error(&self, line: usize, message: impl Into<String>) -> ImportError {
        ImportError { file: self.file, line, message: message.into() }
    }

    pub(super) fn value(&self, name: &str) -> Result<&'a Value, ImportError> {
        self.block.get(name).ok_or_else(|| {
            let what = format!("`{}` has no `{name}`", self.block.kind);
            self.error(self.block.line, what)
        })
    }

    pub(super) fn text(&self, name: &str) -> Result<(&'a str, usize), ImportError> {
        let value = self.value(name)?;
        match &value.what {
            What::Text(text) => Ok((text, value.line)),
            _ => Err(self.error(value.line, format!("`{name}` is not a single value"))),
        }
    }

    pub(super) fn block(&self, name: &str) -> Result<Take<'a>, ImportError> {
        let value = self.value(name)?;
        match &value.what {
            What::Block(block) => Ok(Take { file: self.file, block }),
            What::Text(text) if text.starts_with("source ") => {
                let file = text.trim_start_matches("source ");
                Err(self.error(
                    value.line,
                    format!("`{name}` is in another file, `{file}`; assay reads only this one"),
                ))
            }
            _ => Err(self.error(value.line, format!("`{name}` is not a block"))),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], ImportError> {
        let value = self.value(name)?;
        match &value.what {
            What::List(items) => Ok(items),
            _ => Err(self.error(value.line, format!("`{name}` is not a list"))),
        }
    }

    /// Reads a number and drops its fraction, as DiskSim does with skews.
    pub(super) fn whole(&self, name: &str, most: u64) -> Result<u64, ImportError> {
        let (text, line) = self.text(name)?;
        self.as_whole(name, text, line, most)
    }

    pub(super) fn whole_or(&self, name: &str, most: u64, default: u64) -> Result<u64, ImportError> {
        if self.block.get(name).is_some() { self.whole(name, most) } else { Ok(default) }
    }

    fn as_whole(&self, name: &str, text: &str, line: usize, most: u64) -> Result<u64, ImportError> {
        let number = text.parse::<f64>().ok().filter(|n| (0.0..=most as f64).contains(n));
        number.map(|n| n as u64).ok_or_else(|| {
            self.error(line, format!("`{name}` = `{text}` is not a number from 0 to {most}"))
        })
    }

    pub(super) fn wholes(&self, name: &str, most: u64) -> Result<Vec<u64>, ImportError> {
        let item = |value: &'a Value| match &value.what {
            What::Text(text) => self.as_whole(name, text, value.line, most),
            _ => Err(self.error(value.line, format!("`{name}` is not a list of numbers"))),
        };
        self.list(name)?.iter().map(item).collect()
    }

    pub(super) fn yes(&self, name: &str) -> Result<bool, ImportError> {
        Ok(self.whole(name, 10)? != 0)
    }

    pub(super) fn time(&self, name: &str) -> Result<Nanos, ImportError> {
        let (text, line) = self.text(name)?;
        milliseconds(text).ok_or_else(|| {
            self.error(line, format!("`{name}` = `{text}` is not a time in milliseconds"))
        })
    }

    /// Reads a factor from 0 to 1000.
    pub(super) fn factor(&self, name: &str) -> Result<f64, ImportError> {
        let (text, line) = self.text(name)?;
        text.parse::<f64>().ok().filter(|f| (0.0..=1000.0).contains(f)).ok_or_else(|| {
            self.error(line, format!("`{name}` = `{text}` is not a factor from 0 to 1000"))
        })
    }
}
