//! The persistent cache of a shingled disk: a log at the inner edge, behind the last sector of the
//! host, and the map of its data.
//!
//! As Aghayev and Desnoyers found it ("Skylight", FAST 2015): entries are appended in a circle,
//! each with free sectors behind its data (`entry_overhead`); a map of extents says where the
//! newest data is; bands are cleaned in the order in which their data came. The space of an entry
//! is free again when none of its data is the newest, and no entry before it is in use.
//!
//! Sectors of the host are numbered from 0; those of the log follow the last of them.
//!
//! *Invariants.* Extents of the map do not overlap, and each lies within one band. An entry counts
//! as live exactly the sectors that extents have in it. The entries are contiguous in the circle.

use std::collections::{BTreeMap, VecDeque};

/// The log and its map.
pub(crate) struct PersistentLog {
    /// The sectors of a band.
    pub band: u64,
    /// The sectors of the host.
    last: u64,
    /// The sectors of the log.
    size: u64,
    /// The sectors of an entry beside its data.
    overhead: u64,
    most_extents: usize,
    /// By first sector: the extents of the host's sectors that are in the log.
    map: BTreeMap<u64, Extent>,
    /// The entries, from the oldest to the newest.
    entries: VecDeque<Entry>,
    /// The number of the oldest entry.
    oldest: u64,
    /// The sector of the log at which the next entry begins.
    head: u64,
    /// The sectors of the log in use.
    used: u64,
}

/// A run of the host's sectors that lie in the log.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// The sector behind it.
    end: u64,
    /// The number of the sector, of the log, at which its data begins.
    at: u64,
    /// The number of the entry with its data.
    entry: u64,
}

/// An entry of the log.
#[derive(Debug)]
struct Entry {
    /// The sectors that it takes of the log, with those skipped at the end of the circle.
    length: u64,
    /// The sectors of its data that are the newest.
    live: u64,
    /// The runs of the host's sectors in it that may be live, as first and end. The first is last.
    wrote: Vec<(u64, u64)>,
}

/// A run of sectors that follow each other on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub number: u64,
    pub sectors: u64,
    /// Whether it lies in the log.
    pub logged: bool,
}

/// The cleaning of a band: the pieces to read, in order, and the sectors to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cleaning {
    pub reads: Vec<Piece>,
    pub first: u64,
    pub end: u64,
}

impl PersistentLog {
    /// Creates an empty log. All sizes are in sectors; `last` is the number of those of the host,
    /// `most` that of extents.
    pub(crate) fn new(band: u64, last: u64, size: u64, overhead: u64, most: u32) -> PersistentLog {
        PersistentLog {
            band,
            last,
            size,
            overhead,
            most_extents: most as usize,
            map: BTreeMap::new(),
            entries: VecDeque::new(),
            oldest: 0,
            head: 0,
            used: 0,
        }
    }

    /// Returns the number of the sector at which the next entry begins, unless it does not fit
    /// before the end of the circle.
    pub(crate) fn next(&self) -> u64 {
        self.last + if self.head == self.size { 0 } else { self.head }
    }

    pub(crate) fn extents(&self) -> usize {
        self.map.len()
    }

    /// Returns the sectors of the newest data in the log.
    pub(crate) fn live(&self) -> u64 {
        self.entries.iter().map(|e| e.live).sum()
    }

    /// Returns the end of the band of `sector`.
    pub(crate) fn band_end(&self, sector: u64) -> u64 {
        (sector - sector % self.band + self.band).min(self.last)
    }

    /// Returns, for an entry with `sectors` of data, the sector of the log at which it begins, its
    /// length, and the sectors that it skips at the end of the circle.
    fn room(&self, sectors: u64) -> (u64, u64, u64) {
        let length = sectors + self.overhead;
        match self.head + length > self.size {
            true => (0, length, self.size - self.head),
            false => (self.head, length, 0),
        }
    }

    /// Returns `true` if an entry with these extents fits into the log and the map.
    pub(crate) fn fits(&self, extents: &[(u64, u64)]) -> bool {
        let (_, length, skipped) = self.room(extents.iter().map(|(first, end)| end - first).sum());
        // Each one is split at the borders of bands, and may split an old extent in two.
        let grows = extents.iter().map(|(f, e)| 1 + (e - 1) / self.band - f / self.band);
        let extents = self.map.len() + grows.sum::<u64>() as usize + extents.len();
        self.used + length + skipped <= self.size && extents <= self.most_extents
    }

    /// Appends an entry with `extents`, which fit and do not overlap. Returns the number of its
    /// first sector, and the sectors of its data.
    pub(crate) fn append(&mut self, extents: &[(u64, u64)]) -> (u64, u64) {
        debug_assert!(self.fits(extents));
        let data = extents.iter().map(|(first, end)| end - first).sum();
        let (start, length, skipped) = self.room(data);
        let number = self.oldest + self.entries.len() as u64;
        let mut at = self.last + start;
        let mut wrote = Vec::new();
        self.entries.push_back(Entry { length: length + skipped, live: data, wrote: Vec::new() });
        for (mut first, end) in extents.iter().copied() {
            self.forget(first, end);
            while first < end {
                let until = end.min(self.band_end(first));
                self.map.insert(first, Extent { end: until, at, entry: number });
                wrote.push((first, until));
                at += until - first;
                first = until;
            }
        }
        wrote.reverse();
        self.entries.back_mut().expect("it was pushed").wrote = wrote;
        self.used += length + skipped;
        self.head = start + length;
        debug_assert!(self.used <= self.size && self.map.len() <= self.most_extents);
        (self.last + start, data)
    }

    /// Removes `first..end` from the map: the log does not have the newest data of it any more.
    pub(crate) fn forget(&mut self, first: u64, end: u64) {
        let before = self.map.range(..first).next_back().map(|(f, e)| (*f, *e));
        if let Some((from, extent)) = before.filter(|(_, e)| e.end > first) {
            self.map.get_mut(&from).expect("it is there").end = first;
            self.keep_rest(from, extent, end);
            self.release(extent.entry, extent.end.min(end) - first);
        }
        while let Some((from, extent)) = self.map.range(first..end).next().map(|(f, e)| (*f, *e)) {
            self.map.remove(&from);
            self.keep_rest(from, extent, end);
            self.release(extent.entry, extent.end.min(end) - from);
        }
    }

    /// Keeps the part behind `end` of an extent that begins at `from`.
    fn keep_rest(&mut self, from: u64, extent: Extent, end: u64) {
        if extent.end > end {
            self.map.insert(end, Extent { at: extent.at + (end - from), ..extent });
        }
    }

    /// Counts `sectors` of an entry as no longer live, and frees the oldest entries without any.
    fn release(&mut self, entry: u64, sectors: u64) {
        self.entries[(entry - self.oldest) as usize].live -= sectors;
        while let Some(entry) = self.entries.front().filter(|e| e.live == 0) {
            self.used -= entry.length;
            self.entries.pop_front();
            self.oldest += 1;
        }
    }

    /// Returns the pieces in which `first..end` lies, in the order of its sectors.
    pub(crate) fn pieces(&self, first: u64, end: u64) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut add = |number, sectors, logged| match pieces.last_mut() {
            Some(p) if p.logged == logged && p.number + p.sectors == number => p.sectors += sectors,
            _ => pieces.push(Piece { number, sectors, logged }),
        };
        let mut at = first;
        while at < end {
            let (logged, until) = self.stretch(at);
            let until = until.min(end);
            add(logged.unwrap_or(at), until - at, logged.is_some());
            at = until;
        }
        pieces
    }

    /// Returns the number of `sector` in the log, or `None` if it is not there, and up to which
    /// sector that holds: the end of its extent, or the start of the next one.
    fn stretch(&self, sector: u64) -> (Option<u64>, u64) {
        match self.map.range(..=sector).next_back() {
            Some((from, e)) if e.end > sector => (Some(e.at + (sector - from)), e.end),
            _ => (None, self.map.range(sector..).next().map_or(u64::MAX, |(from, _)| *from)),
        }
    }

    /// Returns the number under which `sector` lies: its own, or one of the log.
    pub(crate) fn place(&self, sector: u64) -> u64 {
        self.stretch(sector).0.unwrap_or(sector)
    }

    /// Returns the first sector at or after `sector` that lies in the log, or `u64::MAX`.
    pub(crate) fn logged_after(&self, sector: u64) -> u64 {
        match self.stretch(sector) {
            (Some(_), _) => sector,
            (None, until) => until,
        }
    }

    /// Plans to clean the band with the oldest data, or returns `None` if the log is empty.
    pub(crate) fn oldest_band(&mut self) -> Option<Cleaning> {
        let (entry, number) = (self.entries.front_mut()?, self.oldest);
        loop {
            let (first, end) = *entry.wrote.last().expect("some of it is the newest");
            let mut left = self.map.range(first..end).filter(|(_, e)| e.entry == number);
            match left.next() {
                Some((sector, _)) => return Some(self.cleaning(*sector)),
                None => entry.wrote.pop(),
            };
        }
    }

    /// Plans to clean the band of `sector`: reads from the first to the last valid sector in the
    /// band in one access, then the pieces in the log in their order there.
    fn cleaning(&self, sector: u64) -> Cleaning {
        let first = sector - sector % self.band;
        let end = self.band_end(sector);
        let pieces = self.pieces(first, end);
        let home = || pieces.iter().filter(|p| !p.logged);
        let mut reads: Vec<Piece> = pieces.iter().filter(|p| p.logged).copied().collect();
        reads.sort_unstable_by_key(|p| p.number);
        if let (Some(from), Some(to)) = (home().next(), home().next_back()) {
            let sectors = to.number + to.sectors - from.number;
            reads.insert(0, Piece { number: from.number, sectors, logged: false });
        }
        Cleaning { reads, first, end }
    }

    /// Panics unless the invariants hold.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut live = vec![0; self.entries.len()];
        let mut before = 0;
        for (first, extent) in &self.map {
            assert!(before <= *first && *first < extent.end, "extents overlap at {first}");
            assert!(extent.end <= self.band_end(*first), "{first} reaches into the next band");
            let within = self.last + self.size - (extent.end - first);
            assert!((self.last..=within).contains(&extent.at), "{first} is not in the log");
            live[(extent.entry - self.oldest) as usize] += extent.end - first;
            before = extent.end;
        }
        assert!(self.entries.iter().map(|e| e.live).eq(live), "live sectors are miscounted");
        assert_eq!(self.entries.iter().map(|e| e.length).sum::<u64>(), self.used);
        assert!(self.used <= self.size && self.map.len() <= self.most_extents);
        assert!(self.entries.front().is_none_or(|e| e.live > 0), "a dead entry holds its place");
    }
}

#[cfg(test)]
#[path = "tests/persistent.rs"]
mod tests;
