//! Describes the machine of a run, and reads its date.

use crate::available::available_threads;
use assay_spec::date::Date;
use assay_spec::record::HostRecord;

/// Returns the present time in UTC, as `2026-11-21T14:00:00Z`.
pub fn utc_now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    utc(since.map_or(0, |d| d.as_secs()))
}

/// Converts seconds since 1970 to date and time.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let day = Date::from_days(days as u32);
    format!("{day}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
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
