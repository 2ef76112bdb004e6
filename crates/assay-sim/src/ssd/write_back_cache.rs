//! The write-back cache: dirty pages stay in the buffer, so that a rewrite costs no program.
//!
//! When `high` pages are dirty, the oldest go to the flash until `low` are left. After the `idle`
//! time, or at a flush, all go. A write to a dirty page replaces the bytes that it covers and
//! makes the page the newest. It takes no slot: while its data is on the way from the host, the
//! page is *expected* and stays in the cache. While the map is saved, no page leaves.
//!
//! *Invariant.* Each dirty page has a slot of the buffer; so has each page on the link that is not
//! expected by a dirty page.

use super::buffer::StagedPage;
use crate::lpn::Lpn;
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
    /// The number of bytes of a page.
    page: u32,
    pages: BTreeMap<Lpn, DirtyPage>,
    /// Dirty pages by age.
    order: BTreeMap<u64, Lpn>,
    writes: u64,
    /// Number of dirty pages at which the flush under way ends.
    evict_target: Option<usize>,
    /// Consecutive pages that go to the flash one after the other.
    run: Range<Lpn>,
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
            run: Lpn(0)..Lpn(0),
        }
    }

    /// Returns the idle time before a flush of all pages.
    pub(super) fn idle(&self) -> Option<Nanos> {
        self.idle
    }

    /// Notes that write data of `page` is fetched; returns `true` if it needs no slot.
    #[inline]
    pub(super) fn expect_data(&mut self, page: Lpn) -> bool {
        let Some(waiting) = self.pages.get_mut(&page) else { return false };
        waiting.expected += 1;
        self.touch(page);
        true
    }

    /// Makes `page` the newest.
    fn touch(&mut self, page: Lpn) {
        self.writes += 1;
        let Some(waiting) = self.pages.get_mut(&page) else { return };
        self.order.remove(&waiting.age);
        waiting.age = self.writes;
        self.order.insert(self.writes, page);
    }

    /// Adds a part of `page`; returns `true` if the slot reserved for it is not needed. With
    /// `is_flushing` all pages must go to the flash then.
    pub(super) fn put(&mut self, page: Lpn, part: Range<u32>, is_flushing: bool) -> bool {
        let is_new = !self.pages.contains_key(&page);
        let waiting = self.pages.entry(page).or_default();
        waiting.add(part);
        let was_expected = waiting.expected > 0;
        waiting.expected -= u32::from(was_expected);
        self.touch(page);
        if self.pages.len() >= self.high {
            self.evict_target = Some(self.evict_target.unwrap_or(self.low).min(self.low));
        }
        if is_flushing {
            self.flush();
        }
        !is_new && !was_expected
    }

    /// Notes that all pages must go to the flash.
    pub(super) fn flush(&mut self) {
        self.evict_target = Some(0);
    }

    /// Returns `true` if one of `pages` is dirty.
    pub(super) fn is_any_in(&self, pages: &Range<Lpn>) -> bool {
        self.pages.range(pages.clone()).next().is_some()
    }

    /// Returns `true` if all of `part` of `page` is dirty.
    #[inline]
    pub(super) fn has(&self, page: Lpn, part: &Range<u32>) -> bool {
        self.pages.get(&page).is_some_and(|waiting| waiting.has(part))
    }

    /// Removes and returns the oldest page that must go to the flash now, if there are too many.
    pub(super) fn evict(&mut self) -> Option<StagedPage> {
        let evict_target = self.evict_target?;
        if self.pages.len() <= evict_target {
            self.evict_target = None;
            return None;
        }
        let (page, is_part) = self.take()?;
        if !self.run.contains(&page) {
            // Consecutive pages that will go one after the other.
            let most = self.pages.len() - evict_target;
            let next = self.order.values().take(most).zip((page.0 + 1..).map(Lpn));
            let follows = |(next, wanted): &(&Lpn, Lpn)| {
                !is_part && **next == *wanted && self.may_follow(*wanted)
            };
            self.run = page..page + 1 + next.take_while(follows).count() as u32;
        }
        Some(StagedPage { request: None, page, is_part })
    }

    /// Ends the run of consecutive pages: pages that are merged first go later and alone.
    pub(super) fn end_run(&mut self) {
        self.run = Lpn(0)..Lpn(0);
    }

    /// Returns the consecutive pages with which `page` goes from the cache to the flash.
    pub(super) fn run_of(&self, page: Lpn) -> Range<Lpn> {
        match self.run.contains(&page) {
            true => self.run.clone(),
            false => page..page + 1,
        }
    }

    /// Removes the oldest page that is not expected; returns it and whether it is only a part.
    fn take(&mut self) -> Option<(Lpn, bool)> {
        let may_go = |page: &&Lpn| self.pages.get(page).is_some_and(|w| w.expected == 0);
        let page = *self.order.values().find(may_go)?;
        let waiting = self.pages.remove(&page)?;
        self.order.remove(&waiting.age);
        Some((page, !waiting.has(&(0..self.page))))
    }

    /// Returns `true` if `page` is dirty as a whole and not expected.
    fn may_follow(&self, page: Lpn) -> bool {
        self.pages.get(&page).is_some_and(|w| w.expected == 0 && w.has(&(0..self.page)))
    }

    /// Drops the data of trimmed `pages`; returns the number of slots that this frees.
    pub(super) fn trim(&mut self, pages: Range<Lpn>) -> usize {
        if pages.is_empty() {
            return 0;
        }
        let dirty: Vec<Lpn> = self.pages.range(pages).map(|(page, _)| *page).collect();
        dirty.into_iter().filter(|page| self.drop_page(*page)).count()
    }

    /// Drops the data of `page`; returns `true` if that frees its slot.
    fn drop_page(&mut self, page: Lpn) -> bool {
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

    /// Panics unless each dirty page has one of `slots` slots in use, and no page stays that must
    /// go; while the map is saved, all stay.
    pub(super) fn check(&self, slots: u64, is_map_saved: bool) {
        assert!(self.pages.len() as u64 <= slots, "what waits has a slot");
        assert!(self.pages.len() < self.high || is_map_saved || self.evict_target.is_some());
        let of = |(age, page): (&u64, &Lpn)| self.pages.get(page).map(|w| w.age) == Some(*age);
        assert!(self.order.len() == self.pages.len() && self.order.iter().all(of), "by age");
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
