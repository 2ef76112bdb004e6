//! Describes the machine of a run, and reads its date.

use crate::available::available_threads;
use assay_spec::record::HostRecord;

/// Returns the present time in UTC, as `2026-11-21T14:00:00Z`.
pub fn utc_now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    utc(since.map_or(0, |d| d.as_secs()))
}

/// Converts seconds since 1970 to date and time (Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms").
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Describes this machine; unknown fields are empty or zero.
pub fn this_host() -> HostRecord {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, key: &str| {
        let line = text.lines().find(|l| l.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal")
        .and_then(|m| m.split_whitespace().next()?.parse::<u64>().ok());
    HostRecord {
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpu: field(&read("/proc/cpuinfo"), "model name").unwrap_or_default(),
        cpus: available_threads() as u32,
        memory: assay_spec::Bytes::KIB * memory.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_civil() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_795_269_600), "2026-11-21T14:00:00Z");
    }
}
