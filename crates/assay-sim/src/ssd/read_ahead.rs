//! Read-ahead: fetches pages before the host requests them, for sequential streams.

use crate::lpn::Lpn;
use crate::nand::Token;
use assay_spec::Bytes;
use assay_spec::device::{Direction, Reach, ReadAheadSpec};
use std::collections::VecDeque;
use std::ops::Range;

/// The sequential streams and their windows. After `trigger` requests in sequence, a window of
/// pages is kept in flight. A write into a window discards it; a request that belongs to no
/// stream replaces the least recently read stream.
pub(crate) struct ReadAhead {
    trigger: u32,
    window: u32,
    reach: Reach,
    direction: Direction,
    /// Streams, the most recently read last.
    streams: Vec<ReadStream>,
    /// Number of the newest window; pages that arrive for a discarded window are ignored.
    epochs: u32,
    /// (epoch, page, request): requests that wait for pages on their way.
    awaited: Vec<(u32, Lpn, u32)>,
    /// Pages of the last request that were in its window, if its stream goes backwards.
    asked: Vec<(Lpn, bool)>,
}

/// A sequential stream.
#[derive(Clone, Debug)]
struct ReadStream {
    /// Pages of the last request, and the number of requests in sequence.
    last: Range<Lpn>,
    run: u32,
    is_backward: bool,
    /// The first page of the window, or going backwards the one behind its first; whether each page
    /// from there on has arrived.
    front: Lpn,
    there: VecDeque<bool>,
    epoch: u32,
    /// With [`Reach::Contiguous`]: the page from which on the stream is known to lie on flash in
    /// one piece, up to where it is. `None` if that is not known of any page.
    in_one_piece: Option<Lpn>,
}

impl ReadStream {
    /// Returns the index of `page` in the window, or `None` if it is not there.
    fn index(&self, page: Lpn) -> Option<usize> {
        let index = match self.is_backward {
            true => self.front.0.checked_sub(page.0 + 1)?,
            false => page.0.checked_sub(self.front.0)?,
        };
        Some(index as usize).filter(|index| *index < self.there.len())
    }

    fn goes_on_with(&self, pages: &Range<Lpn>) -> bool {
        match self.is_backward {
            true => pages.end == self.last.start,
            false => pages.start == self.last.end,
        }
    }

    fn forget(&mut self, epochs: &mut u32) {
        self.there.clear();
        self.in_one_piece = None;
        *epochs = (*epochs + 1) % Token::WINDOWS;
        self.epoch = *epochs;
    }
}

/// The state of a requested page in read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    Miss,
    There,
    /// A page in flight; [`ReadAhead::arrived`] will return the request.
    OnItsWay,
}

impl ReadAhead {
    pub(crate) fn new(spec: ReadAheadSpec, page: Bytes) -> Self {
        let stream = |index| ReadStream {
            last: Lpn(u32::MAX)..Lpn(u32::MAX),
            run: 0,
            is_backward: false,
            front: Lpn(0),
            there: VecDeque::new(),
            epoch: index,
            in_one_piece: None,
        };
        ReadAhead {
            trigger: spec.trigger,
            window: (spec.window.0 / page.0).clamp(1, 1 << 20) as u32,
            reach: spec.reach,
            direction: spec.direction,
            streams: (0..spec.streams).map(stream).collect(),
            epochs: spec.streams - 1,
            awaited: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Notes a read request; returns `true` if its stream has reached `trigger` requests.
    pub(crate) fn note(&mut self, pages: &Range<Lpn>) -> bool {
        let place = self.place(pages);
        let last = self.streams.len() - 1;
        self.streams[place..].rotate_left(1);
        let stream = &mut self.streams[last];
        let turns = stream.run == 1 && !stream.is_backward && !stream.goes_on_with(pages);
        let may_turn = self.direction == Direction::Both && pages.end == stream.last.start;
        if turns && may_turn {
            (stream.is_backward, stream.run) = (true, 2);
        } else if stream.goes_on_with(pages) {
            stream.run += 1;
        } else {
            (stream.is_backward, stream.run) = (false, 1);
            stream.forget(&mut self.epochs);
        }
        stream.last = pages.clone();
        self.asked.clear();
        if stream.is_backward {
            // All of them are asked for now, though the lowest comes first.
            while stream.front > pages.start
                && let Some(there) = stream.there.pop_front()
            {
                stream.front = stream.front - 1;
                self.asked.push((stream.front, there));
            }
        }
        self.streams[last].run >= self.trigger
    }

    /// Returns the index of the stream that a request continues or replaces.
    fn place(&self, pages: &Range<Lpn>) -> usize {
        let goes_on = self.streams.iter().position(|s| s.goes_on_with(pages));
        let turns = |s: &ReadStream| s.run == 1 && !s.is_backward && pages.end == s.last.start;
        let both = self.direction == Direction::Both;
        goes_on.or_else(|| self.streams.iter().position(|s| both && turns(s))).unwrap_or(0)
    }

    /// Takes `page` for `request`; the window drops it and the pages before it.
    pub(crate) fn take(&mut self, page: Lpn, request: u32) -> Hit {
        let Some((there, epoch)) = self.take_out(page) else { return Hit::Miss };
        if there {
            return Hit::There;
        }
        self.awaited.push((epoch, page, request));
        Hit::OnItsWay
    }

    /// Removes `page`; returns whether it has arrived and the epoch of its window.
    fn take_out(&mut self, page: Lpn) -> Option<(bool, u32)> {
        if let Some(index) = self.asked.iter().position(|(asked, _)| *asked == page) {
            return Some((self.asked.swap_remove(index).1, self.streams.last()?.epoch));
        }
        let holds = |s: &&mut ReadStream| s.index(page).is_some();
        let stream = self.streams.iter_mut().rev().find(holds)?;
        let index = stream.index(page)?;
        let there = stream.there[index];
        stream.there.drain(..=index);
        stream.front = if stream.is_backward { page } else { page + 1 };
        Some((there, stream.epoch))
    }

    /// Returns `true` if the window from the last request on may be fetched. `follows` returns
    /// `true` for a page that lies on flash behind the one before it.
    pub(crate) fn may_go_on(&mut self, logical: u32, follows: impl Fn(Lpn) -> bool) -> bool {
        let Some(stream) = self.streams.last_mut().filter(|_| self.reach == Reach::Contiguous)
        else {
            return true;
        };
        if stream.is_backward {
            let from = stream.last.start;
            let end = Lpn(from.0.saturating_sub(self.window));
            let mut known = stream.in_one_piece.map_or(from, |known| known.min(from));
            while known > end && follows(known) {
                known = known - 1;
            }
            stream.in_one_piece = Some(known);
            return known <= end;
        }
        let from = stream.last.end;
        let end = Lpn(from.0.saturating_add(self.window).min(logical));
        let mut known = stream.in_one_piece.map_or(from, |known| known.max(from));
        while known < end && follows(known) {
            known = known + 1;
        }
        stream.in_one_piece = Some(known);
        known >= end
    }

    /// Returns the pages of the window from the last request on that have not been requested yet,
    /// up to the drive's end, and `true` if the highest is to be fetched first.
    pub(crate) fn missing(&mut self, logical: u32) -> (Range<Lpn>, bool) {
        let window = self.window;
        let Some(stream) = self.streams.last_mut() else { return (Lpn(0)..Lpn(0), false) };
        let count = stream.there.len() as u32;
        if stream.is_backward {
            let from = stream.last.start;
            stream.front = if count == 0 { from } else { stream.front };
            let have = stream.front - count;
            return (Lpn(from.0.saturating_sub(window)).min(have)..have, true);
        }
        let from = stream.last.end;
        stream.front = if count == 0 { from } else { stream.front };
        let have = stream.front + count;
        (have..Lpn(from.0.saturating_add(window).min(logical)).max(have), false)
    }

    /// Records that a page of `missing` is requested, or present at once. Returns the epoch to name
    /// when it arrives.
    pub(crate) fn put(&mut self, page: Lpn, is_there: bool) -> u32 {
        let stream = self.streams.last_mut().expect("there is a stream");
        stream.there.push_back(is_there);
        let index = stream.there.len() - 1;
        assert_eq!(stream.index(page), Some(index), "read-ahead has a gap");
        stream.epoch
    }

    /// Notes that a page has arrived; returns the request that waits for it, if any.
    pub(crate) fn arrived(&mut self, page: Lpn, epoch: u32) -> Option<u32> {
        let waits = self.awaited.iter().position(|(e, p, _)| (*e, *p) == (epoch, page));
        if let Some(index) = waits {
            return Some(self.awaited.swap_remove(index).2);
        }
        let stream = self.streams.iter_mut().find(|s| s.epoch == epoch)?;
        let index = stream.index(page)?;
        stream.there[index] = true;
        None
    }

    /// Discards the windows that hold `page`, because a write makes their data stale.
    pub(crate) fn written(&mut self, page: Lpn) {
        for stream in self.streams.iter_mut().filter(|s| s.index(page).is_some()) {
            stream.forget(&mut self.epochs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: ReadAheadSpec = ReadAheadSpec {
        trigger: 3,
        window: Bytes(4 * 4096),
        reach: Reach::Logical,
        streams: 1,
        direction: Direction::Forward,
    };

    fn ahead() -> ReadAhead {
        ReadAhead::new(SPEC, Bytes(4096))
    }

    /// Notes a one-page read and fetches what is missing.
    fn read(a: &mut ReadAhead, page: u32) -> (Hit, Range<u32>, u32) {
        let page = Lpn(page);
        let streaming = a.note(&(page..page + 1));
        let hit = a.take(page, 7);
        let none = Lpn(0)..Lpn(0);
        let (missing, is_backward) = if streaming { a.missing(100) } else { (none, false) };
        let mut pages: Vec<Lpn> = Lpn::iter(missing.clone()).collect();
        if is_backward {
            pages.reverse();
        }
        let epoch = pages.into_iter().map(|p| a.put(p, false)).last().unwrap_or(a.epochs);
        (hit, missing.start.0..missing.end.0, epoch)
    }

    #[test]
    fn the_third_request_in_sequence_starts_it() {
        let mut a = ahead();
        assert_eq!((read(&mut a, 10).1, read(&mut a, 11).1), (0..0, 0..0));
        let (hit, missing, epoch) = read(&mut a, 12);
        assert_eq!((hit, missing), (Hit::Miss, 13..17));
        assert_eq!(a.arrived(Lpn(13), epoch), None);
        assert_eq!(read(&mut a, 13).0, Hit::There);
        assert_eq!(read(&mut a, 14).0, Hit::OnItsWay);
        assert_eq!(a.arrived(Lpn(14), epoch), Some(7));
    }

    #[test]
    fn a_jump_or_a_write_throws_it_away_but_not_who_waits() {
        let mut a = ahead();
        let epoch = (10..13).map(|p| read(&mut a, p).2).last().expect("reads");
        assert_eq!(read(&mut a, 13).0, Hit::OnItsWay);
        assert_eq!(read(&mut a, 50).0, Hit::Miss);
        assert_eq!(a.arrived(Lpn(13), epoch), Some(7), "the request still gets its page");
        let mut a = ahead();
        for page in 10..13 {
            read(&mut a, page);
        }
        a.written(Lpn(17));
        assert_eq!(read(&mut a, 13).0, Hit::OnItsWay, "beyond the window");
        a.written(Lpn(15));
        assert_eq!(read(&mut a, 14).0, Hit::Miss, "inside");
    }

    #[test]
    fn a_window_that_lies_in_pieces_is_not_fetched() {
        let spec = ReadAheadSpec { reach: Reach::Contiguous, ..SPEC };
        let mut a = ReadAhead::new(spec, Bytes(4096));
        // Page 20 lies elsewhere: whatever would reach it is left alone.
        let may = |a: &mut ReadAhead, from: u32| {
            a.note(&(Lpn(from - 1)..Lpn(from)));
            a.may_go_on(100, |page| page != Lpn(20))
        };
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

    #[test]
    fn as_many_streams_as_there_are_run_side_by_side() {
        let reads = |streams, places: &[u32]| -> Vec<Hit> {
            let mut a = ReadAhead::new(ReadAheadSpec { streams, ..SPEC }, Bytes(4096));
            // Everything arrives at once.
            let mut one = |page| {
                let (hit, missing, epoch) = read(&mut a, page);
                missing.for_each(|page| assert_eq!(a.arrived(Lpn(page), epoch), None));
                hit
            };
            (0..5).flat_map(|step| places.iter().map(move |p| p + step)).map(&mut one).collect()
        };
        let hits = |streams, places: &[u32]| {
            reads(streams, places).iter().filter(|hit| **hit == Hit::There).count()
        };
        // Of five reads of a stream the fourth and the fifth.
        assert_eq!([hits(1, &[10]), hits(1, &[10, 50])], [2, 0]);
        assert_eq!([hits(2, &[10, 50]), hits(2, &[10, 50, 80])], [4, 0]);
        assert_eq!(hits(3, &[10, 50, 80]), 6);
    }

    #[test]
    fn the_stream_that_was_not_read_for_longest_is_replaced() {
        let mut a = ReadAhead::new(ReadAheadSpec { streams: 2, ..SPEC }, Bytes(4096));
        for page in [10, 11, 12, 50, 51, 52, 13] {
            read(&mut a, page);
        }
        // Something else takes the place of the one at 50, and a write that of no one.
        assert_eq!(read(&mut a, 90).0, Hit::Miss);
        assert_eq!(read(&mut a, 53).0, Hit::Miss);
        let mut a = ReadAhead::new(ReadAheadSpec { streams: 2, ..SPEC }, Bytes(4096));
        for page in [10, 11, 12, 50, 51, 52, 13] {
            read(&mut a, page);
        }
        a.written(Lpn(54));
        assert_eq!((read(&mut a, 14).0, read(&mut a, 53).0), (Hit::OnItsWay, Hit::Miss));
    }

    #[test]
    fn a_stream_may_go_backwards() {
        let both = ReadAheadSpec { direction: Direction::Both, ..SPEC };
        let mut a = ReadAhead::new(both, Bytes(4096));
        assert_eq!((read(&mut a, 30).1, read(&mut a, 29).1), (0..0, 0..0));
        let (hit, missing, epoch) = read(&mut a, 28);
        assert_eq!((hit, missing), (Hit::Miss, 24..28), "the third request");
        assert_eq!(a.arrived(Lpn(27), epoch), None);
        assert_eq!(read(&mut a, 27).0, Hit::There);
        assert_eq!(read(&mut a, 26).0, Hit::OnItsWay);
        assert_eq!(a.arrived(Lpn(26), epoch), Some(7));
        // Two pages at once, of which the lower comes first.
        a.arrived(Lpn(24), epoch);
        assert!(a.note(&(Lpn(24)..Lpn(26))));
        assert_eq!((a.take(Lpn(24), 8), a.take(Lpn(25), 8)), (Hit::There, Hit::OnItsWay));
        assert_eq!(a.missing(100), (Lpn(20)..Lpn(22), true), "22 and 23 are on their way");
        // It ends at the drive's beginning, and a read forwards is another stream.
        let mut a = ReadAhead::new(both, Bytes(4096));
        let last = [4, 3, 2].map(|page| read(&mut a, page).1);
        assert_eq!(last[2], 0..2);
        assert_eq!(read(&mut a, 3).1, 0..0);
        // Without being asked for, nothing goes backwards.
        let mut a = ahead();
        let forward = [30, 29, 28, 27].map(|page| read(&mut a, page).1);
        assert_eq!(forward, [0..0, 0..0, 0..0, 0..0]);
    }

    #[test]
    fn backwards_too_a_window_must_lie_in_one_piece_if_it_must() {
        let spec = ReadAheadSpec {
            reach: Reach::Contiguous,
            direction: Direction::Both,
            trigger: 2,
            ..SPEC
        };
        let mut a = ReadAhead::new(spec, Bytes(4096));
        a.note(&(Lpn(31)..Lpn(32)));
        // Page 20 does not lie behind 19: the two are never fetched together.
        let mut may = |from: u32| {
            a.note(&(Lpn(from)..Lpn(from + 1)));
            a.may_go_on(100, |page| page != Lpn(20))
        };
        let may: Vec<u32> = (0..31).rev().filter(|from| may(*from)).collect();
        let expected: Vec<u32> = (0..31).rev().filter(|from| !(20..24).contains(from)).collect();
        assert_eq!(may, expected);
    }
}
