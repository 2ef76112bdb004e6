//! Commands on the fast path, and the ends of its operations (`plane_fast_path.rs`).

use super::counts::CollectionWait;
use super::ops::OpKind;
use super::plane_fast_path::{FastOp, PlaneFastPath};
use super::{Cause, FlashEvent, Nand, Token};
use crate::events::Events;
use assay_spec::Nanos;
use assay_spec::device::NandSpec;

impl Nand {
    /// Returns `true` if the fast path is in use.
    #[cfg(test)]
    pub(crate) fn uses_plane_fast_path(&self) -> bool {
        self.fast_path.is_some()
    }

    /// Switches to the fast path if the chips allow it and there is neither an observer nor a model
    /// of bit errors. Call before the first request, and only for a drive whose operations wait for
    /// nothing but their turn on the plane, and that itself waits for the cells, not for registers.
    pub(crate) fn use_plane_fast_path(&mut self, spec: &NandSpec) {
        if PlaneFastPath::fit(spec) && self.observer.is_none() && self.ecc.is_none() {
            let fast_path = PlaneFastPath::new(&self.geometry, &self.chip, self.channels.len());
            self.events = Events::new(fast_path.first + self.planes.len());
            self.fast_path = Some(Box::new(fast_path));
        }
    }

    /// Queues an operation that takes its array `time` on `plane`; only on the fast path.
    #[inline]
    pub(super) fn serve(
        &mut self,
        kind: OpKind,
        plane: u32,
        cause: Cause,
        token: Token,
        time: Nanos,
    ) {
        let Some(fast_path) = &mut self.fast_path else { return };
        self.pool.pending += 1;
        fast_path.planes[plane as usize].collecting += u32::from(cause.collects());
        let mut token = token;
        if cause == Cause::Host && fast_path.is_collection_ahead(plane, &self.events) {
            token = token.behind_collection();
            if kind == OpKind::Read {
                let alone = self.chip.read + self.chip.page_transfer;
                let begin = self.events.now() + alone;
                self.counts.begin_collection_wait(CollectionWait::Read, begin);
            }
        }
        let fast_plane = &mut fast_path.planes[plane as usize];
        fast_plane.queue.push_back(FastOp { token, time, kind, cause });
        if fast_plane.now.is_none() {
            fast_path.begin(plane, &mut self.events);
        }
    }

    /// Queues a copy of `time` on `plane`, merged with the copy right before it for the same cause.
    #[inline(always)]
    pub(super) fn serve_copy(&mut self, plane: u32, cause: Cause, time: Nanos) {
        let Some(fast_path) = &mut self.fast_path else { return };
        match fast_path.planes[plane as usize].queue.back_mut() {
            Some(last) if last.kind == OpKind::Copy && last.cause == cause => last.time += time,
            _ => self.serve(OpKind::Copy, plane, cause, Token::NONE, time),
        }
    }

    /// Handles the event of `slot`: ends the operation of its plane, or puts the end off.
    #[inline]
    pub(super) fn on_plane_done(&mut self, slot: usize, flash_events: &mut Vec<FlashEvent>) {
        let Some(fast_path) = &mut self.fast_path else { return };
        let plane = match slot.checked_sub(fast_path.first) {
            Some(plane) => plane as u32,
            None => fast_path.plane_of_slot[slot - fast_path.first_sending],
        };
        let Some(FastOp { token, time, kind, cause }) =
            fast_path.end(plane, slot, &mut self.events)
        else {
            return;
        };
        let fast_plane = &mut fast_path.planes[plane as usize];
        self.pool.pending -= 1;
        fast_plane.collecting -= u32::from(cause.collects());
        self.counts.array_busy += time;
        if let Some(copies) = fast_plane.copies.take() {
            self.pool.pending -= 1;
            fast_plane.collecting -= 1;
            self.counts.array_busy += copies;
        }
        match kind {
            OpKind::Read => {
                self.counts.channel_busy += self.chip.page_transfer;
                if token != Token::NONE {
                    flash_events.push(FlashEvent::Read(token));
                }
            }
            OpKind::Program => {
                self.counts.channel_busy += self.chip.page_transfer;
                if token != Token::NONE {
                    flash_events.push(FlashEvent::Programmed(token, plane));
                }
            }
            OpKind::Copy | OpKind::Erase => {}
        }
        fast_path.begin(plane, &mut self.events);
        if kind == OpKind::Read && token != Token::NONE && token.is_behind_collection() {
            self.counts.end_collection_wait(CollectionWait::Read, self.events.now());
        }
    }
}
