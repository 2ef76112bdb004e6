//! Read-ahead: pages fetched before they are asked for.

use assay_spec::device::ReadAheadSpec;
use assay_spec::{Bytes, Nanos};

/// Sequential read-ahead of one stream: after `trigger` requests in sequence, a window of pages is
/// kept on its way.
pub(crate) struct ReadAhead {
    trigger: u32,
    window: u32,
    next: u32,
    run: u32,
    /// Pages on their way or there, in order, without gaps; `front` is the first.
    front: u32,
    ready: std::collections::VecDeque<Nanos>,
}

impl ReadAhead {
    pub(crate) fn new(spec: ReadAheadSpec, page: Bytes) -> Self {
        ReadAhead {
            trigger: spec.trigger,
            window: (spec.window.0 / page.0).clamp(1, 1 << 20) as u32,
            next: u32::MAX,
            run: 0,
            front: 0,
            ready: std::collections::VecDeque::new(),
        }
    }

    /// Notes a read request; true if the stream is sequential for long enough.
    pub(crate) fn note(&mut self, pages: &std::ops::Range<u32>) -> bool {
        if pages.start == self.next {
            self.run += 1;
        } else {
            self.run = 1;
            self.ready.clear();
        }
        self.next = pages.end;
        self.run >= self.trigger
    }

    /// When the page is there, if it was fetched; it and what lies before it are given up.
    pub(crate) fn take(&mut self, page: u32) -> Option<Nanos> {
        let index = page.checked_sub(self.front)? as usize;
        let ready = self.ready.get(index).copied()?;
        self.ready.drain(..=index);
        self.front = page + 1;
        Some(ready)
    }

    /// The pages to fetch so that the window from `from` on is on its way, up to the drive's end.
    pub(crate) fn missing(&mut self, from: u32, logical: u32) -> std::ops::Range<u32> {
        if self.ready.is_empty() {
            self.front = from;
        }
        let have = self.front + self.ready.len() as u32;
        have..from.saturating_add(self.window).min(logical).max(have)
    }

    pub(crate) fn put(&mut self, page: u32, ready: Nanos) {
        assert_eq!(page, self.front + self.ready.len() as u32, "read-ahead has a gap");
        self.ready.push_back(ready);
    }

    /// A written page makes fetched data stale, from there on.
    pub(crate) fn drop_page(&mut self, page: u32) {
        if let Some(index) = page.checked_sub(self.front)
            && (index as usize) < self.ready.len()
        {
            self.ready.truncate(index as usize);
        }
    }
}
