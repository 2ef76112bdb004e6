//! Sets of pages.

/// A set of pages, one bit each.
#[derive(Default)]
pub(super) struct Bits {
    words: Vec<u64>,
    count: u64,
    /// No word before this is other than zero.
    first: usize,
}

impl Bits {
    /// Whether `page` is in it.
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

    /// Takes `page` out.
    pub(super) fn clear(&mut self, page: u32) {
        if self.count > 0 && self.has(page) {
            self.words[page as usize / 64] &= !(1 << (page % 64));
            self.count -= 1;
        }
    }

    /// Takes all pages out, in order.
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

    /// Pages 64 · `index` and those that follow it, one bit each.
    pub(super) fn word(&self, index: usize) -> u64 {
        self.words.get(index).copied().unwrap_or_default()
    }

    /// How many there are.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.count
    }
}
