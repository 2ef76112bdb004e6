//! Factors: the parts of a target that are varied, each at some levels.
//!
//! A template has a place for each factor, such as `{drives}`, which the text of a level replaces.
//! By default an experiment varies one factor at a time around a base point, if it has one; with
//! [`Experiment::factorial`](super::Experiment::factorial) it runs the product of all levels.
//! Combinations that are impossible are counted with the reason: the author excludes them, the
//! syntax of targets does, or two combinations are the same target.

pub(super) mod read;

#[cfg(test)]
mod tests;

use super::defaults::LinuxDefaults;
use super::levels::FactorLevel;
use crate::array::{is_array, parse, parse_linux};
use crate::linux::is_linux;
use std::collections::BTreeMap;

/// The largest number of combinations of an experiment.
pub const COMBINATIONS_MAX: usize = 20_000;
/// The greatest length of a target that levels make, in bytes: levels with places in their texts
/// could make one of any length.
const TARGET_MAX: usize = 16 << 10;

/// The factors of a target, and the base point around which they are varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// The target, with `{NAME}` for each factor.
    pub template: String,
    /// The factors in the order in which they are written. The first is the outermost loop.
    pub factors: Vec<Factor>,
    /// The level of each factor at the base point. Without one, only all combinations are run.
    pub base: Option<Vec<usize>>,
    /// The combinations that the author excludes.
    pub impossible: Vec<Impossible>,
    /// The defaults of targets `linux(…)`.
    linux: LinuxDefaults,
}

/// A part of a target that is varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// The name, which stands in the template.
    pub name: String,
    /// The levels.
    pub levels: Vec<FactorLevel>,
}

/// Levels that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Some factors, each with the levels that are meant.
    when: Vec<(usize, Vec<usize>)>,
    /// The reason.
    pub because: String,
}

/// A combination of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The level of each factor.
    pub levels: Vec<usize>,
    /// The target, or the reason why there is none.
    pub target: Result<String, String>,
}

impl Factors {
    /// Returns every combination, with the first factor as the outermost loop.
    pub fn all(&self) -> Vec<Point> {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for factor in &self.factors {
            let each = |head: &Vec<usize>| {
                let head = head.clone();
                (0..factor.levels.len()).map(move |level| [head.as_slice(), &[level]].concat())
            };
            all = all.iter().flat_map(each).collect();
        }
        self.points(all)
    }

    /// Returns the base point, and each point that differs from it in one factor; nothing if there
    /// is no base point.
    pub fn one_at_a_time(&self) -> Vec<Point> {
        let Some(base) = &self.base else { return Vec::new() };
        let mut all = vec![base.clone()];
        for (index, factor) in self.factors.iter().enumerate() {
            for level in (0..factor.levels.len()).filter(|l| *l != base[index]) {
                let mut levels = base.clone();
                levels[index] = level;
                all.push(levels);
            }
        }
        self.points(all)
    }

    /// Returns the name of the target with these levels in cells: `btrfs/raid0/5`.
    pub fn name(&self, levels: &[usize]) -> String {
        let names = self.factors.iter().zip(levels).map(|(f, l)| f.levels[*l].name.as_str());
        names.collect::<Vec<_>>().join("/")
    }

    /// Makes the points of these combinations. Combinations with the same target become one: the
    /// nearest to the base, so that [`Self::one_at_a_time`] and [`Self::all`] keep the same one.
    fn points(&self, all: Vec<Vec<usize>>) -> Vec<Point> {
        let targets: Vec<Result<String, String>> = all.iter().map(|l| self.target(l)).collect();
        let mut nearest: BTreeMap<&str, (usize, &Vec<usize>)> = BTreeMap::new();
        for (levels, target) in all.iter().zip(&targets) {
            if let Ok(text) = target {
                let rank = (self.steps(levels), levels);
                let best = nearest.entry(text).or_insert(rank);
                *best = rank.min(*best);
            }
        }
        let keeps = |levels: &Vec<usize>, text: &String| nearest[text.as_str()].1 == levels;
        let same = || "its target is the same as that of another combination".to_owned();
        let kept: Vec<bool> = all
            .iter()
            .zip(&targets)
            .map(|(levels, target)| target.as_ref().is_ok_and(|text| keeps(levels, text)))
            .collect();
        let points = all.into_iter().zip(targets).zip(kept).map(|((levels, target), kept)| {
            let target = target.and_then(|text| if kept { Ok(text) } else { Err(same()) });
            Point { levels, target }
        });
        points.collect()
    }

    /// Returns the number of factors whose level differs from the base; 0 if there is no base.
    fn steps(&self, levels: &[usize]) -> usize {
        let base = self.base.iter().flatten();
        levels.iter().zip(base).filter(|(level, base)| level != base).count()
    }

    /// Returns the target of these levels, or the reason why there is none.
    fn target(&self, levels: &[usize]) -> Result<String, String> {
        if let Some(rule) = self.impossible.iter().find(|rule| rule.is_about(levels)) {
            return Err(rule.because.clone());
        }
        let written = self.written(levels)?;
        let checked = match (is_linux(&written), is_array(&written)) {
            (true, _) => parse_linux(&written).map(|_| ()),
            (false, true) => parse(&written).map(|_| ()),
            (false, false) => Ok(()),
        };
        match checked {
            Ok(()) => Ok(self.linux.apply(&written)),
            Err(e) => Err(e.message),
        }
    }

    /// Returns the template with these levels in it. A level's text may have places itself.
    fn written(&self, levels: &[usize]) -> Result<String, String> {
        let mut text = self.template.clone();
        // Each round may bring in places of other factors. A cycle of places ends with the last
        // round.
        for _ in 0..=self.factors.len() {
            for (factor, level) in self.factors.iter().zip(levels) {
                let (place, level) = (factor.place(), &factor.levels[*level].text);
                let added = text.matches(&place).count().saturating_mul(level.len());
                if text.len().saturating_add(added) > TARGET_MAX {
                    return Err(format!("its target is longer than {TARGET_MAX} bytes"));
                }
                text = text.replace(&place, level);
            }
        }
        Ok(text)
    }
}

impl Factor {
    /// Returns the place of the factor in a template: its name in braces.
    fn place(&self) -> String {
        format!("{{{}}}", self.name)
    }
}

impl Impossible {
    fn is_about(&self, levels: &[usize]) -> bool {
        self.when.iter().all(|(factor, meant)| meant.contains(&levels[*factor]))
    }
}
