//! For which request a step on the flash is done.
//!
//! A step names a physical page. Who asked for it is known when it is asked for: whoever the
//! controller or the link was at work for just before, or, of a page that waited for its rest,
//! whoever wrote it. Steps of one kind on one page come in the order in which they were asked for.

use crate::nand::{Cause, FlashCommand, Step};
use crate::work::Activity;
use std::collections::{BTreeMap, VecDeque};

/// A request, if one is behind it, and a logical page, if it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub request: Option<u32>,
    pub page: Option<u32>,
}

/// Step, cause and physical page.
type Key = (u8, usize, u32);

/// Who has asked for what, and is not served yet.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Whom the drive is at work for.
    now: Option<u32>,
    /// Logical page, or sector, and who wrote it last.
    writers: BTreeMap<u64, u32>,
    waiting: BTreeMap<Key, VecDeque<Owner>>,
}

impl Owners {
    /// The controller or the link has done something for `tag`.
    pub(super) fn works(&mut self, activity: Activity, tag: Option<u32>, first: Option<u64>) {
        let Some(tag) = tag else { return };
        if let (Activity::FromHost, Some(first)) = (activity, first) {
            self.writers.insert(first, tag);
        }
        self.now = Some(tag);
    }

    pub(super) fn resumes(&mut self, page: Option<u32>) {
        self.now = self.writer(page.map(u64::from));
    }

    pub(super) fn writer(&self, first: Option<u64>) -> Option<u32> {
        self.writers.get(&first?).copied()
    }

    pub(super) fn command(&mut self, cause: Cause, command: &FlashCommand) {
        let request = self.now;
        let owner = |page| Owner { request, page };
        let steps: &[(Step, u32, Owner)] = match *command {
            FlashCommand::Read { page, subject } => {
                &[(Step::Sense, page, owner(subject)), (Step::TransferOut, page, owner(subject))]
            }
            FlashCommand::Program { page, subject } => {
                &[(Step::TransferIn, page, owner(subject)), (Step::Program, page, owner(subject))]
            }
            FlashCommand::Copy { from, to } => {
                // With copy-back the page is sensed without being asked for by itself.
                if !self.waiting.contains_key(&key(Step::Sense, cause, from)) {
                    self.push(Step::Sense, cause, from, owner(None));
                }
                &[(Step::TransferIn, to, owner(None)), (Step::Program, to, owner(None))]
            }
            FlashCommand::Erase { page } => &[(Step::Erase, page, owner(None))],
        };
        for (step, page, owner) in steps {
            self.push(*step, cause, *page, *owner);
        }
    }

    fn push(&mut self, step: Step, cause: Cause, page: u32, owner: Owner) {
        self.waiting.entry(key(step, cause, page)).or_default().push_back(owner);
    }

    /// Whose step this is.
    pub(super) fn of(&mut self, step: Step, cause: Cause, page: u32) -> Owner {
        if step == Step::Program {
            // A copy within the plane does not come over the bus.
            self.waiting.remove(&key(Step::TransferIn, cause, page));
        }
        let key = key(step, cause, page);
        let Some(queue) = self.waiting.get_mut(&key) else { return Owner::default() };
        let owner = queue.pop_front().unwrap_or_default();
        if queue.is_empty() {
            self.waiting.remove(&key);
        }
        owner
    }
}

fn key(step: Step, cause: Cause, page: u32) -> Key {
    let step = match step {
        Step::Sense => 0,
        Step::TransferOut => 1,
        Step::TransferIn => 2,
        Step::Program => 3,
        Step::Erase => 4,
    };
    (step, cause as usize, page)
}
