//! The counters of a flash drive, by name.

use super::stall::Stall;
use crate::nand::{Cause, Nand};
use assay_spec::Nanos;

/// Bins of the wear histogram, at most.
const BINS: u32 = 8;

/// Returns the counters of the flash since the last mark: operations and busy times.
pub(super) fn flash_counters(nand: &Nand) -> Vec<(String, f64)> {
    let sum = |per_cause: &[u64]| per_cause.iter().sum::<u64>() as f64;
    let [array, channels] = nand.busy();
    vec![
        ("pages_read".to_owned(), sum(&nand.chips.counts.reads)),
        ("pages_programmed".to_owned(), sum(&nand.chips.counts.programs)),
        ("blocks_erased".to_owned(), sum(&nand.chips.counts.erases)),
        ("array_busy_ns".to_owned(), array.0 as f64),
        ("channel_busy_ns".to_owned(), channels.0 as f64),
    ]
}

/// Returns the counters of the flash that only some drives have: retries of reads, uncorrectable
/// errors, suspensions.
pub(super) fn optional_flash_counters(nand: &Nand) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    if let Some((retries, lost)) = nand.retry_counts() {
        all.push(("read_retries".to_owned(), retries as f64));
        all.push(("uncorrectable".to_owned(), lost as f64));
    }
    all.extend(nand.suspensions().map(|n| ("suspensions".to_owned(), n as f64)));
    all
}

/// Returns the write amplification since the last mark, as a whole and by cause, if the host has
/// written pages.
pub(super) fn write_amplification(nand: &Nand, host_pages: u64) -> Vec<(String, f64)> {
    if host_pages == 0 {
        return Vec::new();
    }
    let host = host_pages as f64;
    let mut all = vec![("wa".to_owned(), nand.chips.counts.programmed() as f64 / host)];
    for (cause, word) in Cause::ALL {
        let programs = nand.chips.counts.programs[cause as usize];
        if programs > 0 {
            all.push((format!("wa_{word}"), programs as f64 / host));
        }
    }
    all
}

/// Returns the number and the time of the waits by cause.
pub(super) fn stall_counters(stalled: [(u64, Nanos); Stall::COUNT]) -> Vec<(String, f64)> {
    let of = |((_, word), (count, time)): (&(Stall, &str), (u64, Nanos))| {
        [(format!("stall_{word}"), count as f64), (format!("stall_{word}_ns"), time.0 as f64)]
    };
    Stall::ALL.iter().zip(stalled).flat_map(of).collect()
}

/// How often each block has been erased since the drive was made: extremes, quartiles, the sum, and
/// blocks in bins of equal width from the least worn one on.
pub(super) fn wear(erases: &[u32]) -> Vec<(String, f64)> {
    let mut sorted = erases.to_vec();
    sorted.sort_unstable();
    // The nearest rank: the smallest number that so many quarters of the blocks do not exceed.
    let quartile = |quarters: usize| sorted[(quarters * sorted.len()).div_ceil(4).max(1) - 1];
    let (least, most) = (quartile(0), quartile(4));
    let width = (most - least + 1).div_ceil(BINS);
    let mut bins = vec![0_u32; ((most - least) / width + 1) as usize];
    sorted.iter().for_each(|n| bins[((n - least) / width) as usize] += 1);
    let mut all: Vec<(String, f64)> = vec![
        ("erases".to_owned(), sorted.iter().map(|n| f64::from(*n)).sum()),
        ("erases_min".to_owned(), f64::from(least)),
        ("erases_q1".to_owned(), f64::from(quartile(1))),
        ("erases_median".to_owned(), f64::from(quartile(2))),
        ("erases_q3".to_owned(), f64::from(quartile(3))),
        ("erases_max".to_owned(), f64::from(most)),
        ("erases_bin_width".to_owned(), f64::from(width)),
    ];
    let bins = bins.into_iter().enumerate();
    all.extend(bins.map(|(bin, blocks)| (format!("erases_bin_{}", bin + 1), f64::from(blocks))));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(erases: &[u32]) -> Vec<(String, u32)> {
        wear(erases).into_iter().map(|(name, value)| (name, value as u32)).collect()
    }

    #[test]
    fn a_histogram_by_hand() {
        let all = told(&[7, 3, 3, 12, 5, 3, 4, 22]);
        let of = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
        // Sorted 3 3 3 4 5 7 12 22: ranks 2, 4 and 6 of 8.
        let named = ["erases_min", "erases_q1", "erases_median", "erases_q3", "erases_max"];
        assert_eq!(named.map(of), [Some(3), Some(3), Some(4), Some(7), Some(22)]);
        assert_eq!((of("erases"), of("erases_bin_width")), (Some(59), Some(3)));
        // 3–5, 6–8, 9–11, 12–14, 15–17, 18–20, 21–23.
        let bins: Vec<u32> = all.iter().skip(7).map(|(_, blocks)| *blocks).collect();
        assert_eq!(bins, [5, 1, 0, 1, 0, 0, 1]);
        let fresh = told(&[0; 9]);
        assert_eq!(fresh.last(), Some(&("erases_bin_1".to_owned(), 9)));
        assert_eq!(fresh.iter().filter(|(name, _)| name.starts_with("erases_bin_")).count(), 2);
    }
}
