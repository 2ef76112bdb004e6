//! Idle actions of a drive: background work and the flush of the write-back cache.

use super::{Ssd, TIMER};
use crate::events::Queue;
use crate::ftl::Ftl;
use assay_spec::Nanos;
use assay_spec::device::FtlSpec;

/// Returns the idle time before background work, or `None` if the translation layer has none.
pub(super) fn background_after(ftl: &FtlSpec) -> Option<Nanos> {
    let FtlSpec::Page(map) = ftl else { return None };
    let fold = map.slc.map(|slc| slc.fold_after);
    map.collection.background.map(|b| b.after).into_iter().chain(fold).min()
}

impl<F: Ftl> Ssd<F> {
    /// Starts the idle timer, which expires in `after`. The drive must have become idle now.
    pub(super) fn leave_alone(&mut self, after: Nanos) {
        if let Some(cache) = &mut self.cache {
            cache.left_alone = self.nand.events.now();
        }
        self.nand.events.after(Queue::Timer, TIMER, after);
    }

    /// Flushes the cache or starts background work, whichever is due; rearms the timer if needed.
    pub(super) fn on_idle_timer(&mut self) {
        let Some((cache, idle)) = self.cache.as_ref().and_then(|l| Some((l, l.idle()?))) else {
            return self.work_in_background();
        };
        let since = self.nand.events.now() - cache.left_alone;
        let background = self.background_after;
        // Cache and background work have separate idle times; the later one needs the timer again.
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

    /// Starts one step of background work on each idle plane. Called again after each flash event
    /// while `is_working`.
    pub(super) fn work_in_background(&mut self) {
        self.report_origin(None);
        self.is_working = self.ftl.background(&mut self.nand) || !self.nand.is_idle();
    }
}
