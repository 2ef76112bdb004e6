//! Block traces: the path of a request through the kernel, and the schema of `trace.json`. See
//! `docs/trace.md`.

use crate::request::Op;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The version of `trace.json`. A reader refuses versions that it does not know.
pub const SCHEMA: u32 = 1;

/// The size of a block, the unit of sizes in block traces.
pub const BLOCK: Bytes = Bytes(512);

/// A device by the kernel's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// The major number: the driver.
    pub major: u32,
    /// The minor number: the driver's device.
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
            // `parse` alone would accept a sign.
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

/// A request of a log. Times count from the start of the trace, or of the measured phase;
/// [`Nanos::NEVER`] stands for a time that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// The first known time of the request.
    pub submit: Nanos,
    /// The time of its completion.
    pub complete: Nanos,
    /// The time at which it, or the first request merged into it, came to the block layer.
    pub queue: Nanos,
    /// The time at which it was inserted into the elevator.
    pub insert: Nanos,
    /// The time at which it was last dispatched to the drive.
    pub dispatch: Nanos,
    /// The first byte.
    pub offset: Bytes,
    /// The number of bytes.
    pub length: Bytes,
    /// The operation.
    pub op: Op,
    /// The process that queued it; in the log of a run the job, or the drive.
    pub job: u32,
    /// 0 or the errno.
    pub error: i32,
}

/// `trace.json`: the source of a trace, its devices, and the counts of its events and requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRecord {
    /// The [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The version of the writer.
    pub assay: String,
    /// The exact command, one argument an element.
    pub command: Vec<String>,
    /// The source that was read.
    pub source: TraceSource,
    /// The device whose requests are in the log.
    pub device: Device,
    /// All devices of the trace.
    pub devices: Vec<DeviceCount>,
    /// The time of the first event, by the trace's own clock.
    pub start_ns: u64,
    /// The time from the first event of the trace to the last event of the device.
    pub length_ns: u64,
    /// The events of the device, in the order of the kernel's numbers.
    pub events: Vec<EventCount>,
    /// The requests in the log, by operation.
    pub requests: Vec<RequestCount>,
    /// What happened to requests on their way to the drive.
    pub happened: PathCounts,
    /// The events that could not be paired or were left out, with the reason.
    pub unpaired: Vec<Unpaired>,
}

/// The source of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSource {
    /// The names of the files, with `-` for the standard input.
    pub files: Vec<String>,
    /// The format: `blktrace` or `blkparse`.
    pub format: String,
    /// The byte order: `little` or `big`; `None` for text.
    pub byte_order: Option<String>,
    /// The number of bytes read.
    pub bytes: u64,
}

/// The number of events of a trace that belong to a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceCount {
    /// The device.
    pub device: Device,
    /// The number of its events.
    pub events: u64,
    /// The number of its events that belong to a request.
    pub of_requests: u64,
}

/// The number of events of one action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventCount {
    /// The action, as blkparse writes it.
    pub action: String,
    /// The action in words.
    pub name: String,
    /// The number of events.
    pub count: u64,
}

/// The requests of one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCount {
    /// The operation.
    pub op: Op,
    /// The number of requests that ended, with or without an error.
    pub requests: u64,
    /// The bytes of these requests.
    pub bytes: Bytes,
    /// The number of requests that ended with an error.
    pub errors: u64,
}

/// What happened to requests on their way to the drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathCounts {
    /// The requests that were queued alone and dispatched as part of another request.
    pub merged: u64,
    /// The requests that were queued whole and dispatched in parts.
    pub split: u64,
    /// The requests that went back from the drive into the queue.
    pub requeued: u64,
    /// The completions of a part of a request.
    pub partial: u64,
    /// The requests whose arrival at the block layer is not in the trace.
    pub without_queue: u64,
    /// The requests that were in no elevator.
    pub without_insert: u64,
    /// The requests whose dispatch is not in the trace.
    pub without_dispatch: u64,
}

/// The events that belong to no request of the log, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpaired {
    /// The kind of event.
    pub what: String,
    /// The number of events.
    pub count: u64,
    /// The reason.
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
