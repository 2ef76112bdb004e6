//! The names of the counters that modelled drives report.
//!
//! An expectation may name them before any drive is built. A test of the program compares this list
//! with the drives (`crates/assay/tests/device_counters.rs`).

/// The counters of a drive or an array, whatever it is made of.
pub const NAMES: &[&str] = &[
    "pages_read",
    "pages_programmed",
    "blocks_erased",
    "array_busy_ns",
    "channel_busy_ns",
    "link_busy_ns",
    "firmware_busy_ns",
    "energy_j",
    "power_w",
    "wa",
    "wa_host",
    "wa_partial",
    "wa_collect",
    "wa_wear",
    "wa_map",
    "wa_ahead",
    "wa_fold",
    "wa_pad",
    "free_blocks",
    "erases",
    "erases_min",
    "erases_q1",
    "erases_median",
    "erases_q3",
    "erases_max",
    "erases_bin_width",
    "stall_firmware",
    "stall_firmware_ns",
    "stall_link",
    "stall_link_ns",
    "stall_buffer",
    "stall_buffer_ns",
    "stall_buffer_collect",
    "stall_buffer_collect_ns",
    "stall_buffer_map",
    "stall_buffer_map_ns",
    "stall_map",
    "stall_map_ns",
    "stall_read_collect",
    "stall_read_collect_ns",
    "stall_write_collect",
    "stall_write_collect_ns",
    "urgent_collections",
    "merges_switch",
    "merges_partial",
    "merges_full",
    "logs",
    "bad_blocks",
    "available_spare",
    "percentage_used",
    "read_only",
    "read_retries",
    "uncorrectable",
    "temperature_c",
    "temperature_max_c",
    "map_lookups",
    "map_misses",
    "map_writes",
    "suspensions",
    "read_hits",
    "media_reads",
    "destaged",
    "bands_cleaned",
    "bands_streamed",
    "persistent_bytes",
    "persistent_extents",
    "operations",
    "throttled",
    "throttled_ns",
    "operations_left",
    "bytes_left",
    "member_reads",
    "member_writes",
    "rebuilt_share",
];

/// The counters of a guest's processor and drives, and of the clients of work on files.
pub const OF_FILES: &[&str] = &[
    "processor_busy_s",
    "drive_reads",
    "drive_writes",
    "drive_trims",
    "drive_flushes",
    "drive_read_bytes",
    "drive_write_bytes",
    "drive_read_time",
    "drive_write_time",
    "drive_time",
    "drive_flush_busy_s",
    "drive_read_busy_s",
    "drive_write_busy_s",
    "client_mean",
    "client_sd",
    "client_min",
    "client_max",
    "full_time",
    "queue_read_time",
    "queue_write_time",
    "queue_time",
    "clients_served",
    "fairness",
    "program_calls",
    "program_moved_bytes",
    "program_faults",
    "program_transactions",
];

/// Returns `true` if a target or a workload may report `name`.
pub(super) fn is_told(name: &str) -> bool {
    if NAMES.contains(&name) || OF_FILES.contains(&name) {
        return true;
    }
    // The number of blocks in each bin of the wear histogram.
    let bin = name.strip_prefix("erases_bin_").and_then(|number| number.parse::<u8>().ok());
    if bin.is_some_and(|bin| (1..=8).contains(&bin)) {
        return true;
    }
    // The counters of an array: `member_2_wa`, `member_1_member_2_wa`, `controller_1_link_busy_s`.
    let of = |kind: &str| {
        let (number, rest) = name.strip_prefix(kind)?.split_once('_')?;
        let counts = number.parse::<u16>().is_ok_and(|n| n > 0);
        counts.then_some(rest)
    };
    of("controller_").is_some_and(|rest| ["link_busy_s", "processor_busy_s"].contains(&rest))
        || of("member_").is_some_and(is_told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_members_and_controllers_are_told_too() {
        for name in ["wa", "member_12_wa", "member_1_member_2_logs", "controller_2_link_busy_s"] {
            assert!(is_told(name), "{name}");
        }
        assert!(is_told("erases_bin_8") && is_told("member_3_erases_bin_1"));
        let bad = ["erases_bin_0", "erases_bin_9", "erases_bin_", "erases_bin_x"];
        for name in ["", "w", "wa_", "member_0_wa", "member_wa", "member_1_", "controller_1_wa"]
            .into_iter()
            .chain(bad)
        {
            assert!(!is_told(name), "{name}");
        }
    }
}
