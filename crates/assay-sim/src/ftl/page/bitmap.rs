//! Bitmaps, of words of 64 bits.

/// Returns the first set bit from `from` to `end`, `end` excluded.
#[inline]
pub(super) fn next_bit(words: &[u64], from: u32, end: u32) -> Option<u32> {
    let mut index = from;
    while index < end {
        let word = words[index as usize / 64] >> (index % 64);
        if word != 0 {
            let found = index + word.trailing_zeros();
            return (found < end).then_some(found);
        }
        index = (index / 64 + 1) * 64;
    }
    None
}

/// Clears `count` bits from `first` on.
pub(super) fn clear_bits(words: &mut [u64], first: u64, count: u64) {
    for index in first..first + count {
        words[(index / 64) as usize] &= !(1 << (index % 64));
    }
}

/// Sets `count` bits from `first` on.
#[inline]
pub(super) fn set_bits(words: &mut [u64], first: u64, count: u64) {
    let (mut index, end) = (first, first + count);
    while index < end {
        let (word, bit) = ((index / 64) as usize, index % 64);
        let run = (64 - bit).min(end - index);
        words[word] |= (u64::MAX >> (64 - run)) << bit;
        index += run;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_and_set_across_words() {
        let mut words = vec![0_u64; 4];
        set_bits(&mut words, 60, 70);
        let set: Vec<u32> =
            (0..256).filter(|b| words[*b as usize / 64] >> (b % 64) & 1 == 1).collect();
        assert_eq!(set, (60..130).collect::<Vec<_>>());
        assert_eq!(next_bit(&words, 0, 256), Some(60));
        assert_eq!(next_bit(&words, 0, 60), None);
        assert_eq!(next_bit(&words, 129, 256), Some(129));
        assert_eq!(next_bit(&words, 130, 256), None);
    }
}
