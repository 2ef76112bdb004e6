//! What a drive does when it is left alone: it works in the background, and empties its buffer.

use super::{Ssd, TIMER};
use crate::events::Queue;
use crate::ftl::Ftl;
use assay_spec::Nanos;
use assay_spec::device::FtlSpec;

/// How long a drive must be left alone before its translation layer has something to do.
pub(super) fn background_after(ftl: &FtlSpec) -> Option<Nanos> {
    let FtlSpec::Page(map) = ftl else { return None };
    let fold = map.slc.map(|slc| slc.fold_after);
    map.collection.background.map(|b| b.after).into_iter().chain(fold).min()
}

impl<F: Ftl> Ssd<F> {
    /// The drive is left alone from now on.
    pub(super) fn leave_alone(&mut self, after: Nanos) {
        if let Some(cache) = &mut self.cache {
            cache.left_alone = self.nand.events.now();
        }
        self.nand.events.after(Queue::Timer, TIMER, after);
    }

    /// It has been left alone for a while.
    pub(super) fn on_idle_timer(&mut self) {
        let Some((cache, idle)) = self.cache.as_ref().and_then(|l| Some((l, l.idle()?))) else {
            return self.work_in_background();
        };
        let since = self.nand.events.now() - cache.left_alone;
        let background = self.background_after;
        // Whichever comes first, the other may come later.
        let later = [Some(idle), background].into_iter().flatten().filter(|at| *at > since).min();
        if let Some(later) = later {
            self.nand.events.after(Queue::Timer, TIMER, later - since);
        }
        if since == idle {
            self.flush_all();
        }
        if background.is_some_and(|after| after <= since) {
            self.work_in_background();
        }
    }

    /// Nothing has been asked for a while: one piece of work for each idle plane, and again when
    /// the flash has done it.
    pub(super) fn work_in_background(&mut self) {
        self.tell_resumed(None);
        self.is_working = self.ftl.background(&mut self.nand) || !self.nand.is_idle();
    }
}
