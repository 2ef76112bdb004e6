//! The only place where seeds are derived.
//!
//! A run has one seed. Every cell, repeat and stream derives its own seed from it by name, so that
//! adding a cell changes no other cell's stream, and the order of execution changes nothing.

/// Derives an independent seed from `seed` and a path of names, e.g. `["general", "rnd-rd", "2"]`.
///
/// Hashes the path with FNV-1a, and finishes with SplitMix64's mixer (Steele, Lea, Flood, OOPSLA
/// 2014).
pub fn derive(seed: u64, path: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed;
    for part in path {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    mix(hash)
}

/// Derives the seed of a repeat of a cell; the first repeat is 1. The target is not part of it: all
/// targets get the same requests.
pub fn of_repeat(run: u64, experiment: &str, workload: &str, repeat: u32) -> u64 {
    derive(run, &[experiment, workload, &repeat.to_string()])
}

/// Mixes with SplitMix64's finaliser: every input bit affects every output bit.
pub fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_do_not_collide_by_concatenation() {
        assert_ne!(derive(1, &["ab", "c"]), derive(1, &["a", "bc"]));
        assert_ne!(derive(1, &["a"]), derive(2, &["a"]));
        assert_eq!(derive(7, &["x", "y"]), derive(7, &["x", "y"]));
    }
}
