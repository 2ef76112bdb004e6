//! Sets of pages, as bitmaps.

/// A set of pages, one bit for each.
#[derive(Default)]
pub(super) struct Bits {
    /// The bits, by page. Pages beyond the end are not in the set.
    words: Vec<u64>,
    /// The number of pages in the set.
    count: u64,
    /// The index of a word before which all words are zero.
    first: usize,
}

impl Bits {
    /// Returns `true` if `page` is in the set.
    #[inline]
    pub(super) fn has(&self, page: u32) -> bool {
        self.word(page as usize / 64) >> (page % 64) & 1 != 0
    }

    /// Adds `page`.
    #[inline]
    pub(super) fn set(&mut self, page: u32) {
        let index = page as usize / 64;
        if self.words.len() <= index {
            self.words.resize(index + 1, 0);
        }
        let new = !self.has(page);
        self.words[index] |= 1 << (page % 64);
        self.first = if self.count == 0 { index } else { self.first.min(index) };
        self.count += u64::from(new);
    }

    /// Removes `page`.
    pub(super) fn clear(&mut self, page: u32) {
        if self.count > 0 && self.has(page) {
            self.words[page as usize / 64] &= !(1 << (page % 64));
            self.count -= 1;
        }
    }

    /// Removes all pages, and returns them in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.first;
        std::iter::from_fn(move || {
            while self.count > 0 {
                let word = &mut self.words[at];
                if *word != 0 {
                    let bit = word.trailing_zeros();
                    *word &= *word - 1;
                    self.count -= 1;
                    return Some(at as u32 * 64 + bit);
                }
                at += 1;
            }
            None
        })
    }

    /// Returns the bits of 64 pages from 64 · `index` on.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or_default()
    }

    /// Returns the number of pages in the set.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.count
    }
}
