//! Drive-managed shingled disks: bands of overlapping tracks, persistent cache, streams, cleaning.
//!
//! As Aghayev and Desnoyers found it in disks on the market ("Skylight", FAST 2015): every sector
//! has its place in a band, which can only be written as a whole; writes are appended to a log, the
//! persistent cache, first; the drive cleans bands (merges the log's data into them) when it is
//! idle, or when log or map is full. Sequential streams do not go through the log.
//!
//! Two details are guesses. A stream that covers the start of a band waits in the memory from there
//! on until the band is whole. The log lies at the inner edge: synchronous writes of any size are
//! reported to be no faster than inner tracks (Inan, github.com/aicodix/smr).
//!
//! *Invariants.* All sectors of a stream from `first` to `next` are dirty in the cache.
//!
//! *Not modelled.* Trims; saving the map; guard tracks between bands; zones of bands of different
//! sizes; the copy that makes rewriting a band safe from a power cut.

use super::persistent::PersistentLog;
use assay_spec::Nanos;
use assay_spec::device::ShingledSpec;

/// The state that only a shingled disk has.
pub(super) struct Shingled {
    pub log: PersistentLog,
    /// The streams, the least recently continued first.
    pub(super) streams: Vec<BandStream>,
    most_streams: usize,
    /// The time without a write after which a stream has ended.
    stream_wait: Nanos,
    /// The time without requests after which the drive cleans.
    pub(super) clean_after: Nanos,
    /// When the last write came to the cache, which may have changed what waits for a stream.
    pub(super) changed: Nanos,
    pub counts: BandCounts,
}

/// A stream: sequential writes from the start of a band on.
#[derive(Clone, Copy, Debug)]
pub(super) struct BandStream {
    /// The first sector of its first band that is not written yet.
    pub(super) first: u64,
    /// The sector behind its last write.
    pub(super) next: u64,
    /// When it ends, if no write continues it before.
    ends: Nanos,
}

/// The counters since the last mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BandCounts {
    /// Bands cleaned.
    pub(super) cleaned: u64,
    /// Bands written by streams.
    streamed: u64,
    /// Sectors written by the host.
    pub(super) host: u64,
    /// Sectors written to the platter.
    pub(super) written: u64,
}

impl Shingled {
    pub(super) fn new(spec: &ShingledSpec, last: u64) -> Shingled {
        let sectors = |bytes: assay_spec::Bytes| bytes.0 / 512;
        let (band, size) = (sectors(spec.band), sectors(spec.cache));
        let overhead = sectors(spec.entry_overhead);
        Shingled {
            log: PersistentLog::new(band, last, size, overhead, spec.map_entries),
            streams: Vec::new(),
            most_streams: spec.streams as usize,
            stream_wait: spec.stream_wait,
            clean_after: spec.clean_after,
            changed: Nanos::ZERO,
            counts: BandCounts::default(),
        }
    }

    /// Notes a write of `first..end` that comes to the cache at `now` and is there at `arrived`. It
    /// continues a stream, or begins one if it covers the start of a band.
    pub(super) fn came(&mut self, now: Nanos, first: u64, end: u64, arrived: Nanos) {
        self.changed = now;
        self.counts.host += end - first;
        let ends = arrived + self.stream_wait;
        if let Some(index) = self.streams.iter().position(|s| s.first <= first && first <= s.next) {
            // The stream that was continued last is at the end.
            let stream = self.streams.remove(index);
            self.streams.push(BandStream { next: stream.next.max(end), ends, ..stream });
            return;
        }
        let start = first.next_multiple_of(self.log.band);
        if start < end {
            if self.streams.len() == self.most_streams {
                self.streams.remove(0);
            }
            self.streams.push(BandStream { first: start, next: end, ends });
        }
    }

    /// Returns the end of the last band that a stream has whole, or `first` if it has none.
    fn whole_to(&self, stream: &BandStream) -> u64 {
        let whole = match self.log.band_end(stream.next) == stream.next {
            // The last band of the disk may be shorter.
            true => stream.next,
            false => stream.next - stream.next % self.log.band,
        };
        whole.max(stream.first)
    }

    /// Returns until when `sector` waits for the rest of its band, or `None` if it does not.
    pub(super) fn held(&self, sector: u64) -> Option<Nanos> {
        let waits = |s: &&BandStream| (self.whole_to(s)..s.next).contains(&sector);
        self.streams.iter().find(waits).map(|s| s.ends)
    }

    /// Returns the first whole band, as first sector and end, of the stream that has `sector` in
    /// a whole band.
    pub(super) fn whole_band(&self, sector: u64) -> Option<(u64, u64)> {
        let whole = |s: &&BandStream| (s.first..self.whole_to(s)).contains(&sector);
        self.streams.iter().find(whole).map(|s| (s.first, self.log.band_end(s.first)))
    }

    /// Returns the first sector behind `first` and before `end` at which a stream begins.
    pub(super) fn stream_within(&self, first: u64, end: u64) -> Option<u64> {
        let starts = self.streams.iter().map(|s| s.first);
        starts.filter(|s| first < *s && *s < end).min()
    }

    /// Ends streams with a sector of `first..end`, which has been written to the log.
    pub(super) fn appended(&mut self, first: u64, end: u64) {
        self.streams.retain(|s| end <= s.first || s.next <= first);
    }

    /// Notes that a stream has written the band `first..end`; it goes on behind that.
    pub(super) fn band_written(&mut self, first: u64, end: u64) {
        self.log.forget(first, end);
        for stream in self.streams.iter_mut().filter(|s| s.first == first) {
            stream.first = end;
        }
        // Another stream may have ended within the band.
        self.streams.retain(|s| s.first <= s.next);
        self.counts.streamed += 1;
    }

    pub(super) fn counters(&self, told: &mut Vec<(String, f64)>) {
        let BandCounts { cleaned, streamed, host, written } = self.counts;
        let (bytes, extents) = (self.log.live() * 512, self.log.extents() as u64);
        let named = [
            ("bands_cleaned", cleaned),
            ("bands_streamed", streamed),
            ("persistent_bytes", bytes),
            ("persistent_extents", extents),
        ];
        told.extend(named.into_iter().map(|(name, n)| (name.to_owned(), n as f64)));
        if host > 0 {
            told.push(("wa".to_owned(), written as f64 / host as f64));
        }
    }
}
