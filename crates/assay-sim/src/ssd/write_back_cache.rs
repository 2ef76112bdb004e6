//! The write-back cache: dirty pages stay in the buffer, so that a rewrite costs no program.
//!
//! When `high` pages are dirty, the oldest go to the flash until `low` are left. After the `idle`
//! time, or at a flush, all go. A write to a dirty page replaces the bytes that it covers and
//! makes the page the newest. It takes no slot: while its data is on the way from the host, the
//! page is *expected* and stays in the cache. While the map is saved, no page leaves.
//!
//! *Invariant.* Each dirty page has a slot of the buffer; so has each page on the link that is not
//! expected by a dirty page.

use super::Ssd;
use super::flow::StagedPage;
use super::link::Transfer;
use crate::ftl::Ftl;
use assay_spec::device::LazySpec;
use assay_spec::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::ops::Range;

/// A dirty page.
#[derive(Clone, Debug, Default)]
struct DirtyPage {
    /// Written byte ranges of the page: disjoint, ascending, not adjacent.
    parts: Vec<Range<u32>>,
    /// Number of writes to the page that have been fetched but have not arrived.
    expected: u32,
    /// Position of the page in the write order.
    age: u64,
}

impl DirtyPage {
    /// Returns `true` if all of `part` has been written.
    fn has(&self, part: &Range<u32>) -> bool {
        self.parts.iter().any(|p| p.start <= part.start && part.end <= p.end)
    }

    /// Adds a written byte range.
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

/// The dirty pages, with the limits of their number.
#[derive(Debug)]
pub(super) struct WriteBackCache {
    high: usize,
    low: usize,
    idle: Option<Nanos>,
    page: u32,
    pages: BTreeMap<u32, DirtyPage>,
    /// Dirty pages by age.
    order: BTreeMap<u64, u32>,
    writes: u64,
    /// Number of dirty pages at which the flush under way ends.
    evict_target: Option<usize>,
    /// Consecutive pages that go to the flash one after the other.
    run: Range<u32>,
}

impl WriteBackCache {
    /// Creates an empty cache for a buffer of `slots` slots.
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
            evict_target: None,
            run: 0..0,
        }
    }

    /// Returns the idle time before a flush of all pages.
    pub(super) fn idle(&self) -> Option<Nanos> {
        self.idle
    }

    /// Notes that write data of `page` is fetched; returns `true` if it needs no slot.
    fn expect_data(&mut self, page: u32) -> bool {
        let Some(waiting) = self.pages.get_mut(&page) else { return false };
        waiting.expected += 1;
        self.touch(page);
        true
    }

    /// Makes `page` the newest.
    fn touch(&mut self, page: u32) {
        self.writes += 1;
        let Some(waiting) = self.pages.get_mut(&page) else { return };
        self.order.remove(&waiting.age);
        waiting.age = self.writes;
        self.order.insert(self.writes, page);
    }

    /// Adds a part of `page`; returns `true` if the slot reserved for it is not needed.
    fn put(&mut self, page: u32, part: Range<u32>) -> bool {
        let is_new = !self.pages.contains_key(&page);
        let waiting = self.pages.entry(page).or_default();
        waiting.add(part);
        let was_expected = waiting.expected > 0;
        waiting.expected -= u32::from(was_expected);
        self.touch(page);
        !is_new && !was_expected
    }

    /// Returns `true` if one of `pages` is dirty.
    pub(super) fn is_any_in(&self, pages: &Range<u32>) -> bool {
        self.pages.range(pages.clone()).next().is_some()
    }

    /// Removes the oldest page that is not expected; returns it and whether it is only a part.
    fn take(&mut self) -> Option<(u32, bool)> {
        let may_go = |page: &&u32| self.pages.get(page).is_some_and(|w| w.expected == 0);
        let page = *self.order.values().find(may_go)?;
        let waiting = self.pages.remove(&page)?;
        self.order.remove(&waiting.age);
        Some((page, !waiting.has(&(0..self.page))))
    }

    /// Returns `true` if `page` is dirty as a whole and not expected.
    fn may_follow(&self, page: u32) -> bool {
        self.pages.get(&page).is_some_and(|w| w.expected == 0 && w.has(&(0..self.page)))
    }

    /// Drops the data of `page`; returns `true` if that frees its slot.
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
    /// Returns `true` if a write fetched now replaces data of dirty `page`, and marks it expected.
    #[inline]
    pub(super) fn expect_rewrite(&mut self, page: u32) -> bool {
        self.cache.as_mut().is_some_and(|cache| cache.expect_data(page))
    }

    /// Adds a page that the link has transferred, or a part of one, and evicts pages if needed.
    #[inline(never)]
    pub(super) fn add_to_cache(&mut self, done: Transfer) {
        let part = self.part_of(done);
        let is_flushing = self.is_flushing();
        let Some(cache) = &mut self.cache else { return };
        let has_own_slot = cache.put(done.page, part);
        if cache.pages.len() >= cache.high {
            cache.evict_target = Some(cache.evict_target.unwrap_or(cache.low).min(cache.low));
        }
        if is_flushing {
            cache.evict_target = Some(0);
        }
        if has_own_slot {
            self.buffer.unreserve();
        }
        self.evict();
        // A write that waits for a slot may need none, now that its page is dirty.
        self.writes.note_room(has_own_slot || !self.writes.is_empty());
    }

    /// Returns the byte range of its page that a transfer covers.
    fn part_of(&self, Transfer { number, page }: Transfer) -> Range<u32> {
        self.addressing.part_of(&self.requests[number].request, page)
    }

    /// Passes all dirty pages to the flash.
    pub(super) fn flush_all(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.evict_target = Some(0);
            self.evict();
        }
    }

    /// Passes dirty pages to the flash, the oldest first, while there are too many.
    pub(super) fn evict(&mut self) {
        self.evict_those_too_many();
        if let Some(cache) = &mut self.cache {
            // Pages that are merged first go later and alone.
            cache.run = 0..0;
        }
    }

    fn evict_those_too_many(&mut self) {
        while !self.map_save.is_under_way()
            && let Some(cache) = &mut self.cache
            && let Some(evict_target) = cache.evict_target
        {
            if cache.pages.len() <= evict_target {
                cache.evict_target = None;
                return;
            }
            let Some((page, is_part)) = cache.take() else { return };
            if !cache.run.contains(&page) {
                // Consecutive pages that will go one after the other.
                let most = cache.pages.len() - evict_target;
                let next = cache.order.values().take(most).zip(page + 1..);
                let follows = |(next, wanted): &(&u32, u32)| {
                    !is_part && **next == *wanted && cache.may_follow(*wanted)
                };
                cache.run = page..page + 1 + next.take_while(follows).count() as u32;
            }
            self.report_origin(Some(page));
            self.stage_page(StagedPage { request: None, page, is_part });
        }
    }

    /// Returns the consecutive pages with which `page` goes from the cache to the flash.
    pub(super) fn run_of(&self, page: u32) -> Range<u32> {
        match &self.cache {
            Some(cache) if cache.run.contains(&page) => cache.run.clone(),
            _ => page..page + 1,
        }
    }

    /// Returns `true` if the cache holds all that `transfer` reads.
    #[inline]
    pub(super) fn is_read_in_cache(&self, transfer: Transfer) -> bool {
        self.cache.as_ref().is_some_and(|cache| {
            let waiting = cache.pages.get(&transfer.page);
            waiting.is_some_and(|waiting| waiting.has(&self.part_of(transfer)))
        })
    }

    /// Drops trimmed pages and frees their slots.
    pub(super) fn drop_waiting(&mut self, pages: Range<u32>) {
        let Some(cache) = self.cache.as_mut().filter(|_| !pages.is_empty()) else { return };
        let waiting: Vec<u32> = cache.pages.range(pages).map(|(page, _)| *page).collect();
        let slots = waiting.into_iter().filter(|page| cache.forget(*page)).count();
        (0..slots).for_each(|_| self.buffer.unreserve());
        self.writes.note_room(slots > 0);
    }

    /// Panics unless each dirty page has a slot, and no page stays that must go.
    pub(super) fn check_cache(&self) {
        let Some(cache) = &self.cache else { return };
        assert!(cache.pages.len() as u64 <= self.buffer.unprogrammed(), "what waits has a slot");
        let may_be_full = self.map_save.is_under_way() || cache.evict_target.is_some();
        assert!(cache.pages.len() < cache.high || may_be_full);
        let of = |(age, page): (&u64, &u32)| cache.pages.get(page).map(|w| w.age) == Some(*age);
        assert!(cache.order.len() == cache.pages.len() && cache.order.iter().all(of), "by age");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_page_grow_together() {
        let mut waiting = DirtyPage::default();
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
