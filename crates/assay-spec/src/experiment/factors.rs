//! Factors: a target of which several things are varied, each at some levels.
//!
//! A template has a place for each factor, `{drives}`; a level is the text that comes there. One
//! factor at a time around a base point is an experiment's default; the product of all levels is
//! its [`Experiment::factorial`](super::Experiment::factorial). What cannot be combined is counted
//! with the reason: the author says so, the target's own language does, or two combinations are the
//! same target.

mod read;
#[cfg(test)]
mod tests;

pub(super) use read::decode;

use super::Scale;
use crate::array::{is_array, parse, parse_linux, scale_linux};
use crate::linux::is_linux;
use std::collections::BTreeMap;

/// Combinations that an experiment has at most.
pub const COMBINATIONS_MAX: usize = 20_000;

/// What is varied in a target, and around what.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// The target, with `{NAME}` for each factor.
    pub template: String,
    /// In the order in which they are written: the first is outermost.
    pub factors: Vec<Factor>,
    /// A level of each: the point around which one at a time is varied.
    pub base: Vec<usize>,
    /// What cannot be combined.
    pub impossible: Vec<Impossible>,
    /// What sizes in `linux(…)` are multiplied by.
    scale: Scale,
}

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Its name, which stands in the template.
    pub name: String,
    /// Its levels.
    pub levels: Vec<Level>,
}

/// One of the values of a factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// What tables call it; part of the target's name.
    pub name: String,
    /// What comes into the template.
    pub text: String,
}

/// Levels that do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible {
    /// Of some factors, the levels that are meant.
    when: Vec<(usize, Vec<usize>)>,
    /// Why not.
    pub because: String,
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The level of each factor.
    pub levels: Vec<usize>,
    /// The target, or why there is none.
    pub target: Result<String, String>,
}

impl Factors {
    /// Every combination, the first factor outermost.
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

    /// The base point, and each other level of each factor with all others as they are there.
    pub fn one_at_a_time(&self) -> Vec<Point> {
        let mut all = vec![self.base.clone()];
        for (index, factor) in self.factors.iter().enumerate() {
            for level in (0..factor.levels.len()).filter(|l| *l != self.base[index]) {
                let mut levels = self.base.clone();
                levels[index] = level;
                all.push(levels);
            }
        }
        self.points(all)
    }

    /// What cells call the target of these levels: `btrfs/raid0/5`.
    pub fn name(&self, levels: &[usize]) -> String {
        let names = self.factors.iter().zip(levels).map(|(f, l)| f.levels[*l].name.as_str());
        names.collect::<Vec<_>>().join("/")
    }

    /// Combinations with the same target are one: that nearest to the base, so that the few and all
    /// have the same.
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
        let same = || "the same target as another combination".to_owned();
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

    /// How many factors are at another level than in the base.
    fn steps(&self, levels: &[usize]) -> usize {
        levels.iter().zip(&self.base).filter(|(level, base)| level != base).count()
    }

    /// The target of these levels.
    fn target(&self, levels: &[usize]) -> Result<String, String> {
        if let Some(rule) = self.impossible.iter().find(|rule| rule.is_about(levels)) {
            return Err(rule.because.clone());
        }
        let written = self.written(levels);
        let checked = match (is_linux(&written), is_array(&written)) {
            (true, _) => parse_linux(&written).map(|_| ()),
            (false, true) => parse(&written).map(|_| ()),
            (false, false) => Ok(()),
        };
        match checked {
            Ok(()) => Ok(scale_linux(&written, self.scale)),
            Err(e) => Err(e.message),
        }
    }

    /// The template with these levels in it. A level may have places of its own.
    fn written(&self, levels: &[usize]) -> String {
        let mut text = self.template.clone();
        // Each round may bring places of others; a ring of them ends with the rounds.
        for _ in 0..=self.factors.len() {
            for (factor, level) in self.factors.iter().zip(levels) {
                text = text.replace(&factor.place(), &factor.levels[*level].text);
            }
        }
        text
    }
}

impl Factor {
    /// What it is in a template.
    fn place(&self) -> String {
        format!("{{{}}}", self.name)
    }
}

impl Impossible {
    fn is_about(&self, levels: &[usize]) -> bool {
        self.when.iter().all(|(factor, meant)| meant.contains(&levels[*factor]))
    }
}
