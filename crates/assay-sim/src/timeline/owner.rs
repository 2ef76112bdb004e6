//! The request that each step on the flash is done for.
//!
//! A step names only a physical page. The request is known when the flash command is given: it is
//! the one that the controller or the link worked for right before or, for a page that waited for
//! the rest of its program, the one that wrote the page. Steps of one kind and cause on one page
//! come in the order of their commands.

use crate::lpn::Lpn;
use crate::nand::{Cause, FlashCommand, Step};
use crate::work::Activity;
use std::collections::{BTreeMap, VecDeque};

/// The request behind a step, if there is one, and the logical page, if it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    pub request: Option<u32>,
    pub page: Option<Lpn>,
}

/// A kind of step, a cause and a physical page.
type Key = (u8, usize, u32);

/// The owners of the steps that have been requested and have not begun.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// The request that the drive works for now.
    now: Option<u32>,
    /// By logical page, or sector: the request that wrote it last.
    writers: BTreeMap<u64, u32>,
    waiting: BTreeMap<Key, VecDeque<Owner>>,
}

impl Owners {
    /// Notes that the controller or the link has worked for request `tag`; `first` is its first
    /// logical page or sector.
    pub(super) fn works(&mut self, activity: Activity, tag: Option<u32>, first: Option<u64>) {
        let Some(tag) = tag else { return };
        if let (Activity::FromHost, Some(first)) = (activity, first) {
            self.writers.insert(first, tag);
        }
        self.now = Some(tag);
    }

    /// Notes that commands for the request that wrote logical page `page` follow, or, with `None`,
    /// commands for no request.
    pub(super) fn resumes(&mut self, page: Option<Lpn>) {
        self.now = self.writer(page.map(u64::from));
    }

    /// Returns the request that wrote logical page or sector `first` last.
    pub(super) fn writer(&self, first: Option<u64>) -> Option<u32> {
        self.writers.get(&first?).copied()
    }

    /// Notes the steps that follow from `command`, with their owner.
    pub(super) fn command(&mut self, cause: Cause, command: &FlashCommand) {
        let request = self.now;
        let owner = |page| Owner { request, page };
        let steps: &[(Step, u32, Owner)] = match *command {
            FlashCommand::Read { page, subject } => {
                let owner = owner(subject.map(Lpn));
                &[(Step::Sense, page, owner), (Step::TransferOut, page, owner)]
            }
            FlashCommand::Program { page, subject } => {
                let owner = owner(subject.map(Lpn));
                &[(Step::TransferIn, page, owner), (Step::Program, page, owner)]
            }
            FlashCommand::Copy { from, to } => {
                // With copy-back the page is sensed without a read command.
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

    /// Returns the owner of a step that begins, and forgets it.
    pub(super) fn of(&mut self, step: Step, cause: Cause, page: u32) -> Owner {
        if step == Step::Program {
            // A copy within the plane has no transfer: remove what was noted for it.
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
