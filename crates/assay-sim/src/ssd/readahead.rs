//! Read-ahead: pages fetched before they are asked for, for one sequential stream.

use assay_spec::Bytes;
use assay_spec::device::{Reach, ReadAheadSpec};
use std::collections::VecDeque;
use std::ops::Range;

/// After `trigger` requests in sequence, a window of pages is kept on its way. A write into the
/// window, and a request elsewhere, throw it away.
pub(crate) struct ReadAhead {
    trigger: u32,
    window: u32,
    /// Where the stream goes on, and for how many requests it has gone.
    next: u32,
    run: u32,
    /// The first page of the window; whether each page from there on has arrived.
    front: u32,
    there: VecDeque<bool>,
    /// Counts windows: what arrives for one that was thrown away is not wanted.
    epoch: u32,
    /// (epoch, page, request): requests that wait for pages on their way.
    awaited: Vec<(u32, u32, u32)>,
    reach: Reach,
    /// With [`Reach::Contiguous`]: every page before this one, from where the stream is, lies on
    /// flash behind the one before it.
    in_one_piece: u32,
}

/// What read-ahead has of a page that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    Miss,
    There,
    /// The request will be named by [`ReadAhead::arrived`].
    OnItsWay,
}

impl ReadAhead {
    pub(crate) fn new(spec: ReadAheadSpec, page: Bytes) -> Self {
        ReadAhead {
            trigger: spec.trigger,
            window: (spec.window.0 / page.0).clamp(1, 1 << 20) as u32,
            next: u32::MAX,
            run: 0,
            front: 0,
            there: VecDeque::new(),
            epoch: 0,
            awaited: Vec::new(),
            reach: spec.reach,
            in_one_piece: 0,
        }
    }

    /// Notes a read request; true if the stream is sequential for long enough.
    pub(crate) fn note(&mut self, pages: &Range<u32>) -> bool {
        if pages.start == self.next {
            self.run += 1;
        } else {
            self.run = 1;
            self.forget();
        }
        self.next = pages.end;
        self.run >= self.trigger
    }

    fn forget(&mut self) {
        self.there.clear();
        self.in_one_piece = 0;
        self.epoch = (self.epoch + 1) & !(1 << 31);
    }

    /// What there is of `page` for `request`; it and what lies before it are given up.
    pub(crate) fn take(&mut self, page: u32, request: u32) -> Hit {
        let Some(index) = page.checked_sub(self.front) else { return Hit::Miss };
        let Some(there) = self.there.get(index as usize).copied() else { return Hit::Miss };
        self.there.drain(..=index as usize);
        self.front = page + 1;
        if there {
            return Hit::There;
        }
        self.awaited.push((self.epoch, page, request));
        Hit::OnItsWay
    }

    /// Whether the window from `from` on may be fetched; `follows` tells of a page whether it lies
    /// on flash behind the one before it.
    pub(crate) fn may_go_on(
        &mut self,
        from: u32,
        logical: u32,
        follows: impl Fn(u32) -> bool,
    ) -> bool {
        if self.reach == Reach::Logical {
            return true;
        }
        let end = from.saturating_add(self.window).min(logical);
        self.in_one_piece = self.in_one_piece.max(from);
        while self.in_one_piece < end && follows(self.in_one_piece) {
            self.in_one_piece += 1;
        }
        self.in_one_piece >= end
    }

    /// The pages to fetch so that the window from `from` on is on its way, up to the drive's end.
    pub(crate) fn missing(&mut self, from: u32, logical: u32) -> Range<u32> {
        if self.there.is_empty() {
            self.front = from;
        }
        let have = self.front + self.there.len() as u32;
        have..from.saturating_add(self.window).min(logical).max(have)
    }

    /// A page of `missing` was asked for, or is there at once; returns the epoch to name when it
    /// arrives.
    pub(crate) fn put(&mut self, page: u32, is_there: bool) -> u32 {
        assert_eq!(page, self.front + self.there.len() as u32, "read-ahead has a gap");
        self.there.push_back(is_there);
        self.epoch
    }

    /// A page has arrived; the request that waits for it, if one does.
    pub(crate) fn arrived(&mut self, page: u32, epoch: u32) -> Option<u32> {
        let waits = self.awaited.iter().position(|(e, p, _)| (*e, *p) == (epoch, page));
        if let Some(index) = waits {
            return Some(self.awaited.swap_remove(index).2);
        }
        let index = page.checked_sub(self.front).filter(|_| epoch == self.epoch)?;
        if let Some(there) = self.there.get_mut(index as usize) {
            *there = true;
        }
        None
    }

    /// What was fetched of a page is stale when it is written.
    pub(crate) fn written(&mut self, page: u32) {
        let index = page.checked_sub(self.front);
        if index.is_some_and(|i| (i as usize) < self.there.len()) {
            self.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: ReadAheadSpec =
        ReadAheadSpec { trigger: 3, window: Bytes(4 * 4096), reach: Reach::Logical };

    fn ahead() -> ReadAhead {
        ReadAhead::new(SPEC, Bytes(4096))
    }

    /// Notes a one-page read and fetches what is missing.
    fn read(a: &mut ReadAhead, page: u32) -> (Hit, Range<u32>, u32) {
        let streaming = a.note(&(page..page + 1));
        let hit = a.take(page, 7);
        let missing = if streaming { a.missing(page + 1, 100) } else { 0..0 };
        let epoch = missing.clone().map(|p| a.put(p, false)).last().unwrap_or(a.epoch);
        (hit, missing, epoch)
    }

    #[test]
    fn the_third_request_in_sequence_starts_it() {
        let mut a = ahead();
        assert_eq!((read(&mut a, 10).1, read(&mut a, 11).1), (0..0, 0..0));
        let (hit, missing, epoch) = read(&mut a, 12);
        assert_eq!((hit, missing), (Hit::Miss, 13..17));
        assert_eq!(a.arrived(13, epoch), None);
        assert_eq!(read(&mut a, 13).0, Hit::There);
        assert_eq!(read(&mut a, 14).0, Hit::OnItsWay);
        assert_eq!(a.arrived(14, epoch), Some(7));
    }

    #[test]
    fn a_jump_or_a_write_throws_it_away_but_not_who_waits() {
        let mut a = ahead();
        let epoch = (10..13).map(|p| read(&mut a, p).2).last().expect("reads");
        assert_eq!(read(&mut a, 13).0, Hit::OnItsWay);
        assert_eq!(read(&mut a, 50).0, Hit::Miss);
        assert_eq!(a.arrived(13, epoch), Some(7), "the request still gets its page");
        let mut a = ahead();
        for page in 10..13 {
            read(&mut a, page);
        }
        a.written(17);
        assert_eq!(read(&mut a, 13).0, Hit::OnItsWay, "beyond the window");
        a.written(15);
        assert_eq!(read(&mut a, 14).0, Hit::Miss, "inside");
    }

    #[test]
    fn a_window_that_lies_in_pieces_is_not_fetched() {
        let spec = ReadAheadSpec { reach: Reach::Contiguous, ..SPEC };
        let mut a = ReadAhead::new(spec, Bytes(4096));
        // Page 20 lies elsewhere: whatever would reach it is left alone.
        let may = |a: &mut ReadAhead, from| a.may_go_on(from, 100, |page| page != 20);
        assert!(may(&mut a, 16), "16 to 19 are one piece");
        assert!(!may(&mut a, 17) && !may(&mut a, 20));
        assert!(may(&mut a, 21), "behind the break");
        assert!(may(&mut a, 99), "the drive ends");
    }

    #[test]
    fn the_window_ends_with_the_drive() {
        let mut a = ahead();
        let last = (95..98).map(|p| read(&mut a, p).1).last();
        assert_eq!(last, Some(98..100));
    }
}
