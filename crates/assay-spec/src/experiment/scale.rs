//! The scale of an experiment: how much smaller it is run than it is written.
//!
//! Files, trees, the memory of guests and the used part of a drive shrink together, so that the
//! proportion between them stays: how much of a file fits into memory. Records, rates, times,
//! drives and cards do not change.

use super::files::{Checkouts, Clients, FileWork, History, Made, Records, Tree, Walk};
use crate::units::{Bytes, Nanos};
use std::fmt;
use std::str::FromStr;

/// The factor of all sizes: a fraction of at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    parts: u32,
    of: u32,
}

/// The form of a scale, for messages.
pub const SCALE_EXPECTED: &str = "a fraction of whole numbers such as `1/8`, or `1`";

impl Scale {
    /// The full size.
    pub const FULL: Scale = Scale { parts: 1, of: 1 };

    /// Returns the scale as a number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.parts) / f64::from(self.of)
    }

    /// Returns `true` if nothing shrinks.
    pub fn is_full(self) -> bool {
        self.parts == self.of
    }

    fn count(self, count: u32) -> u32 {
        let scaled = u64::from(count) * u64::from(self.parts) / u64::from(self.of);
        u32::try_from(scaled).expect("no more than it was").max(1)
    }

    /// Returns the largest multiple of `unit` that is not above the scaled size; at least one unit.
    pub(crate) fn size(self, size: Bytes, unit: Bytes) -> Bytes {
        let scaled = u128::from(size.0) * u128::from(self.parts) / u128::from(self.of);
        let units = u64::try_from(scaled).expect("no more than it was") / unit.0;
        unit * units.max(1)
    }

    /// Returns the work with smaller files or fewer of them.
    pub(super) fn work(self, work: FileWork) -> FileWork {
        match work {
            FileWork::Records(records) => {
                let length = self.size(records.length, records.record);
                FileWork::Records(Records { length, ..records })
            }
            FileWork::Clients(clients) => {
                let length = self.size(clients.length, clients.record);
                FileWork::Clients(Clients { length, ..clients })
            }
            FileWork::Walk(walk) => {
                let (tree, large) = (self.tree(walk.tree), walk.large);
                // For an absent file `size` would return at least one byte.
                let large = if large == Bytes::ZERO { large } else { self.size(large, Bytes(1)) };
                FileWork::Walk(Walk { tree, large, ..walk })
            }
            FileWork::Checkouts(Checkouts {
                history: History::Made(made),
                tags,
                compute,
                background,
            }) => {
                let history = History::Made(Made {
                    tree: self.tree(made.tree),
                    changes: self.count(made.changes),
                    merge: made.merge.map(|(changes, every)| (self.count(changes), every)),
                });
                let compute = Nanos((compute.0 as f64 * self.as_f64()) as u64);
                FileWork::Checkouts(Checkouts { history, tags, compute, background })
            }
            // A repository keeps its size, and a program its work.
            kept @ (FileWork::Checkouts(_) | FileWork::Program(_)) => kept,
        }
    }

    /// Returns the tree with fewer files, of the same lengths.
    fn tree(self, tree: Tree) -> Tree {
        let (files, directories) = (self.count(tree.files), self.count(tree.directories));
        Tree { files, directories, ..tree }
    }
}

impl FromStr for Scale {
    type Err = ();

    fn from_str(text: &str) -> Result<Scale, ()> {
        const FINEST: u32 = 4096;
        let (parts, of) = text.split_once('/').unwrap_or((text, "1"));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| ());
        let (parts, of) = (number(parts)?, number(of)?);
        let fits = parts >= 1 && parts <= of && of <= FINEST;
        fits.then_some(Scale { parts, of }).ok_or(())
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_full() {
            true => f.write_str("1"),
            false => write!(f, "{}/{}", self.parts, self.of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_fractions_up_to_one() {
        for text in ["1", "1/8", " 3 / 4", "5/4096"] {
            assert!(text.parse::<Scale>().is_ok(), "{text}");
        }
        for text in ["", "0", "2", "9/8", "1/0", "0/4", "1/5000", "0.5", "-1/2", "1/2/3"] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
        let eighth: Scale = "1/8".parse().expect("above");
        assert_eq!((eighth.to_string(), eighth.as_f64()), ("1/8".to_owned(), 0.125));
    }

    #[test]
    fn sizes_are_whole_units_and_never_nothing() {
        let eighth: Scale = "1/8".parse().expect("a fraction");
        assert_eq!(eighth.size(Bytes::GIB * 4, Bytes(4096)), Bytes::MIB * 512);
        assert_eq!(eighth.size(Bytes(100_000), Bytes(4096)), Bytes(12_288));
        assert_eq!(eighth.size(Bytes(4096), Bytes(4096)), Bytes(4096));
        assert_eq!((eighth.count(29_000), eighth.count(3)), (3625, 1));
    }
}
