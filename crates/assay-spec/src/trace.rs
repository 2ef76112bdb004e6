//! Block traces: a request as it went through the kernel, and the schema of `trace.json`. See
//! `docs/trace.md`.

use crate::request::Op;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Version of `trace.json`. A reader refuses what it does not know.
pub const SCHEMA: u32 = 1;

/// Bytes of a block, in which block traces count.
pub const BLOCK: Bytes = Bytes(512);

/// A device as the kernel numbers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.major, self.minor)
    }
}

impl FromStr for Device {
    type Err = ();

    fn from_str(text: &str) -> Result<Device, ()> {
        let (major, minor) = text.split_once([',', ':']).ok_or(())?;
        let number = |text: &str| {
            // `parse` would take a sign.
            let plain = text.bytes().all(|c| c.is_ascii_digit());
            plain.then(|| text.parse().ok()).flatten().ok_or(())
        };
        Ok(Device { major: number(major)?, minor: number(minor)? })
    }
}

impl Serialize for Device {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Device {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Device, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| serde::de::Error::custom("a device is written `8,0`"))
    }
}

/// One request of a log. Times count from the start of the trace, or of the measured phase;
/// [`Nanos::NEVER`] stands for a moment that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// The first known moment of it.
    pub submit: Nanos,
    /// Its end.
    pub complete: Nanos,
    /// When it, or the first of what was merged into it, came to the block layer.
    pub queue: Nanos,
    /// When it was put into the elevator.
    pub insert: Nanos,
    /// When it was last sent to the drive.
    pub dispatch: Nanos,
    /// First byte.
    pub offset: Bytes,
    /// How many bytes.
    pub length: Bytes,
    /// Which way.
    pub op: Op,
    /// The process that queued it; in the log of a run the job, or the drive.
    pub job: u32,
    /// 0 or errno.
    pub error: i32,
}

/// `trace.json`: where a trace came from and what was found in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRecord {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Version of the writer.
    pub assay: String,
    /// The exact command, one argument an element.
    pub command: Vec<String>,
    /// What was read.
    pub source: TraceSource,
    /// The device whose requests are in the log.
    pub device: Device,
    /// All devices of the trace.
    pub devices: Vec<DeviceCount>,
    /// The trace's own time of its first event.
    pub start_ns: u64,
    /// From the first event of the trace to the last of the device.
    pub length_ns: u64,
    /// Events of the device, in the order of the kernel's numbers.
    pub events: Vec<EventCount>,
    /// Requests in the log, by direction.
    pub requests: Vec<RequestCount>,
    /// What happened to requests on their way.
    pub happened: Happened,
    /// What could not be paired, or was left out, and why.
    pub unpaired: Vec<Unpaired>,
}

/// What a trace was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSource {
    /// Names, `-` for the standard input.
    pub files: Vec<String>,
    /// `blktrace` or `blkparse`.
    pub format: String,
    /// `little` or `big`; of text null.
    pub byte_order: Option<String>,
    /// Bytes read.
    pub bytes: u64,
}

/// How much of a trace is about a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceCount {
    /// Which.
    pub device: Device,
    /// Its events.
    pub events: u64,
    /// Those of them that belong to a request.
    pub of_requests: u64,
}

/// How often something happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventCount {
    /// As blkparse writes it.
    pub action: String,
    /// In words.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// Requests of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCount {
    /// Which way.
    pub op: Op,
    /// How many ended, also with an error.
    pub requests: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// How many ended with an error.
    pub errors: u64,
}

/// What happened to requests on their way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Happened {
    /// What was queued alone and dispatched as part of another request.
    pub merged: u64,
    /// What was queued whole and dispatched in parts.
    pub split: u64,
    /// Requests that went back from the drive into the queue.
    pub requeued: u64,
    /// Completions of a part of a request.
    pub partial: u64,
    /// Requests whose coming to the block layer is not in the trace.
    pub without_queue: u64,
    /// Requests that were in no elevator.
    pub without_insert: u64,
    /// Requests whose dispatch is not in the trace.
    pub without_dispatch: u64,
}

/// Events that led to no request of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpaired {
    /// What they are.
    pub what: String,
    /// How many.
    pub count: u64,
    /// Why.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_written_as_blkparse_does() {
        let device = Device { major: 8, minor: 16 };
        assert_eq!(("8,16".parse(), "8:16".parse()), (Ok(device), Ok(device)));
        assert_eq!(device.to_string(), "8,16");
        for wrong in ["", "8", "8,", ",0", "8,0,0", "sda", "-8,0", "+8,0", "8, 0", "8,99999999999"]
        {
            assert_eq!(wrong.parse::<Device>(), Err(()), "{wrong}");
        }
    }
}
