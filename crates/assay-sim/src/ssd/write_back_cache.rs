//! A write buffer that keeps pages as long as it can: what is written again meanwhile costs no
//! program.
//!
//! A page waits until so many do (`high`), and then those written longest ago are given to the
//! flash until few are left (`low`); or until the drive has been left alone for a while (`idle`),
//! or a flush comes, and then all are. A write to a page that waits replaces what it covers of it
//! and makes it the newest. It takes no slot: from when it is sent for until it is there, the page
//! is *expected* and is not given away. While the map is saved nothing is.
//!
//! *Invariant.* Each page that waits has a slot of the buffer; so has each on the link that is not
//! expected by one.

use super::Ssd;
use super::flow::NO_REQUEST;
use super::link::Transfer;
use crate::ftl::Ftl;
use assay_spec::device::LazySpec;
use assay_spec::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::ops::Range;

/// A page that waits.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// What of it has been written, in bytes from its start: disjoint, ascending, not adjacent.
    parts: Vec<Range<u32>>,
    /// Writes to it that are on the link.
    expected: u32,
    /// Its place in the order of writing.
    age: u64,
}

impl Waiting {
    /// Whether it has all of `part`.
    fn has(&self, part: &Range<u32>) -> bool {
        self.parts.iter().any(|p| p.start <= part.start && part.end <= p.end)
    }

    /// `part` is there, too.
    fn add(&mut self, mut part: Range<u32>) {
        self.parts.retain(|p| {
            let touches = p.start <= part.end && part.start <= p.end;
            if touches {
                part = part.start.min(p.start)..part.end.max(p.end);
            }
            !touches
        });
        let place = self.parts.partition_point(|p| p.start < part.start);
        self.parts.insert(place, part);
    }
}

/// The pages that wait.
#[derive(Debug)]
pub(super) struct WriteBackCache {
    high: usize,
    low: usize,
    idle: Option<Nanos>,
    page: u32,
    pages: BTreeMap<u32, Waiting>,
    /// The same by age.
    order: BTreeMap<u64, u32>,
    writes: u64,
    /// How many may stay, while pages are being given to the flash.
    down_to: Option<usize>,
    /// When the drive was left alone.
    pub(super) left_alone: Nanos,
    /// The pages in a row of which one is given to the flash.
    run: Range<u32>,
}

impl WriteBackCache {
    /// For a buffer of so many slots.
    pub(super) fn new(spec: LazySpec, page: Bytes, slots: usize) -> WriteBackCache {
        let pages = |size: Bytes| (size.0 / page.0) as usize;
        let high = pages(spec.high).clamp(1, slots);
        WriteBackCache {
            high,
            low: pages(spec.low).min(high - 1),
            idle: spec.idle,
            page: page.0 as u32,
            pages: BTreeMap::new(),
            order: BTreeMap::new(),
            writes: 0,
            down_to: None,
            left_alone: Nanos::ZERO,
            run: 0..0,
        }
    }

    /// How long the drive must be left alone before all is given to the flash.
    pub(super) fn idle(&self) -> Option<Nanos> {
        self.idle
    }

    /// A write to `page` is sent for; true if the page waits, so that it takes no slot.
    fn expect_data(&mut self, page: u32) -> bool {
        let Some(waiting) = self.pages.get_mut(&page) else { return false };
        waiting.expected += 1;
        self.touch(page);
        true
    }

    /// It is the newest.
    fn touch(&mut self, page: u32) {
        self.writes += 1;
        let Some(waiting) = self.pages.get_mut(&page) else { return };
        self.order.remove(&waiting.age);
        waiting.age = self.writes;
        self.order.insert(self.writes, page);
    }

    /// A part of `page` has come; false if it has the slot that was taken for it.
    fn put(&mut self, page: u32, part: Range<u32>) -> bool {
        let is_new = !self.pages.contains_key(&page);
        let waiting = self.pages.entry(page).or_default();
        waiting.add(part);
        let was_expected = waiting.expected > 0;
        waiting.expected -= u32::from(was_expected);
        self.touch(page);
        !is_new && !was_expected
    }

    /// Whether a page of `pages` waits.
    pub(super) fn is_any_in(&self, pages: &Range<u32>) -> bool {
        self.pages.range(pages.clone()).next().is_some()
    }

    /// Takes out the oldest page that may go, and whether only a part of it is there.
    fn take(&mut self) -> Option<(u32, bool)> {
        let may_go = |page: &&u32| self.pages.get(page).is_some_and(|w| w.expected == 0);
        let page = *self.order.values().find(may_go)?;
        let waiting = self.pages.remove(&page)?;
        self.order.remove(&waiting.age);
        Some((page, !waiting.has(&(0..self.page))))
    }

    /// Whether `page` waits as a whole and may go.
    fn may_follow(&self, page: u32) -> bool {
        self.pages.get(&page).is_some_and(|w| w.expected == 0 && w.has(&(0..self.page)))
    }

    /// Forgets `page`; true if that frees its slot.
    fn forget(&mut self, page: u32) -> bool {
        let Some(waiting) = self.pages.get_mut(&page) else { return false };
        if waiting.expected > 0 {
            waiting.parts.clear();
            return false;
        }
        let age = waiting.age;
        self.pages.remove(&page);
        self.order.remove(&age);
        true
    }
}

impl<F: Ftl> Ssd<F> {
    /// Whether a write to `page` that is sent for now replaces what waits of it.
    #[inline]
    pub(super) fn replaces(&mut self, page: u32) -> bool {
        self.cache.as_mut().is_some_and(|cache| cache.expect_data(page))
    }

    /// A page of a write, or a part of one, has come over the link and stays.
    #[inline(never)]
    pub(super) fn keep(&mut self, done: Transfer) {
        let part = self.part_of(done);
        let is_flushing = self.is_flushing();
        let Some(cache) = &mut self.cache else { return };
        let has_own_slot = cache.put(done.page, part);
        if cache.pages.len() >= cache.high {
            cache.down_to = Some(cache.down_to.unwrap_or(cache.low).min(cache.low));
        }
        if is_flushing {
            cache.down_to = Some(0);
        }
        if has_own_slot {
            self.drop_slot();
        }
        self.give();
        // Who waits for a slot may need none, now that the page is there.
        self.has_room |= has_own_slot || !self.writes.is_empty();
    }

    fn drop_slot(&mut self) {
        self.unprogrammed -= 1;
        if let Some(buffer) = &mut self.buffer {
            buffer.give_back();
        }
    }

    /// What of its page a transfer covers, in bytes from its start.
    fn part_of(&self, Transfer { number, page }: Transfer) -> Range<u32> {
        let request = &self.requests[number as usize].request;
        let start = Bytes(u64::from(page) << self.page_bits);
        let first = request.offset.max(start) - start;
        (first.0 as u32)..(first + self.share(request, page)).0 as u32
    }

    /// Everything that waits is given to the flash.
    pub(super) fn flush_all(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.down_to = Some(0);
            self.give();
        }
    }

    /// Pages are given to the flash, the oldest first, as long as too many wait.
    pub(super) fn give(&mut self) {
        self.give_those_too_many();
        if let Some(cache) = &mut self.cache {
            // What of them is made whole first comes later and alone.
            cache.run = 0..0;
        }
    }

    fn give_those_too_many(&mut self) {
        while self.saving == 0
            && let Some(cache) = &mut self.cache
            && let Some(down_to) = cache.down_to
        {
            if cache.pages.len() <= down_to {
                cache.down_to = None;
                return;
            }
            let Some((page, is_part)) = cache.take() else { return };
            if !cache.run.contains(&page) {
                // Pages in a row that will go one after the other.
                let most = cache.pages.len() - down_to;
                let next = cache.order.values().take(most).zip(page + 1..);
                let follows = |(next, wanted): &(&u32, u32)| {
                    !is_part && **next == *wanted && cache.may_follow(*wanted)
                };
                cache.run = page..page + 1 + next.take_while(follows).count() as u32;
            }
            self.tell_resumed(Some(page));
            self.stage_page(Transfer { number: NO_REQUEST, page }, is_part);
        }
    }

    /// The pages that come one after the other with `page`, which is given to the flash for nobody.
    pub(super) fn run_of(&self, page: u32) -> Range<u32> {
        match &self.cache {
            Some(cache) if cache.run.contains(&page) => cache.run.clone(),
            _ => page..page + 1,
        }
    }

    /// Whether what is read waits, all of it.
    #[inline]
    pub(super) fn reads_waiting(&self, transfer: Transfer) -> bool {
        self.cache.as_ref().is_some_and(|cache| {
            let waiting = cache.pages.get(&transfer.page);
            waiting.is_some_and(|waiting| waiting.has(&self.part_of(transfer)))
        })
    }

    /// Trimmed pages do not wait any longer.
    pub(super) fn drop_waiting(&mut self, pages: Range<u32>) {
        let Some(cache) = self.cache.as_mut().filter(|_| !pages.is_empty()) else { return };
        let waiting: Vec<u32> = cache.pages.range(pages).map(|(page, _)| *page).collect();
        let slots = waiting.into_iter().filter(|page| cache.forget(*page)).count();
        (0..slots).for_each(|_| self.drop_slot());
        self.has_room |= slots > 0;
    }

    /// Panics unless each slot is taken by a page on its way or waiting.
    pub(super) fn check_slots(&self) {
        let Some(buffer) = &self.buffer else { return };
        assert_eq!(buffer.free() as u64 + self.unprogrammed, self.slots, "slots of the buffer");
        let Some(cache) = &self.cache else { return };
        assert!(cache.pages.len() as u64 <= self.unprogrammed, "what waits has a slot");
        assert!(cache.pages.len() < cache.high || self.saving > 0 || cache.down_to.is_some());
        let of = |(age, page): (&u64, &u32)| cache.pages.get(page).map(|w| w.age) == Some(*age);
        assert!(cache.order.len() == cache.pages.len() && cache.order.iter().all(of), "by age");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_page_grow_together() {
        let mut waiting = Waiting::default();
        waiting.add(512..1024);
        waiting.add(2048..4096);
        assert!(waiting.has(&(512..1024)) && !waiting.has(&(512..1536)));
        waiting.add(1024..1536);
        assert_eq!(waiting.parts, [512..1536, 2048..4096]);
        waiting.add(0..2048);
        assert!(waiting.has(&(0..4096)), "{:?}", waiting.parts);
        waiting.add(700..800);
        assert_eq!(waiting.parts.len(), 1);
    }
}
