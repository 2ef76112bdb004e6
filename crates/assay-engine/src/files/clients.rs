//! Clients that each read a file of their own at a rate, like video streams.
//!
//! A client reads a record when it is due, or at once if it is late. At the end of its file it
//! begins again. The rate that it got is compared with the rate that it wanted.

use super::records::lay_out_cold;
use super::stage::{Done, Stage, refused};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::guest::memory::touch_stack;
use crate::measure::sample::Sample;
use crate::stop::is_interrupted;
use assay_fs::Directory;
use assay_spec::experiment::{CacheReset, Clients};
use assay_spec::{Bytes, Nanos, Op, Rate};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The beginning of the name of a client's file, before its number.
pub(super) const STREAM: &str = "stream-";
/// The share of the wanted rate from which a client counts as served.
const SERVED: f64 = 0.99;
/// The size of a client's buffer in bytes: the largest record then has as many parts as preadv(2)
/// takes.
const BUFFER: u64 = 64 << 10;

/// Lays out the files, then runs each client on a thread; each record is an operation.
pub(super) fn run(stage: &mut Stage<'_>, work: &Clients) -> Result<Done> {
    let names: Vec<String> = (0..work.count).map(|i| format!("{STREAM}{i}")).collect();
    let root = stage.root()?;
    for name in &names {
        lay_out_cold(&root, name, work.length, stage.work_dir.content)?;
    }
    drop(root);
    stage.forget(CacheReset::Remount, &[])?;
    let time = stage.work_dir.limit.unwrap_or(work.time).min(work.time);
    let root = &stage.root()?;
    let clock = stage.start();
    let each = |(job, name): (usize, &String)| client(work, job as u32, (root, name), clock, time);
    let served: Result<Vec<Vec<Sample>>> = std::thread::scope(|scope| {
        let start = |one| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, move || each(one));
            thread.map_err(|e| refused("starting a client", &e))
        };
        let threads = names.iter().enumerate().map(start).collect::<Result<Vec<_>>>()?;
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<Sample>>>| {
            thread.join().expect("a client does not panic")
        };
        threads.into_iter().map(join).collect()
    });
    let served = served?;
    if is_interrupted() {
        return Err(crate::stop::interrupted());
    }
    let mut all: Vec<&Sample> = served.iter().flatten().collect();
    all.sort_by_key(|s| (s.complete, s.job));
    for (number, sample) in all.into_iter().enumerate() {
        stage.recorder.record(number as u64, *sample);
    }
    let each = (0..).zip(&served);
    let rates = each.map(|(job, samples)| rate(work, job, samples, time));
    let rates: Option<Vec<f64>> = rates.collect();
    let warnings = match rates {
        Some(_) => Vec::new(),
        None => vec![format!("{time} is too short: not every client read a whole record")],
    };
    // Clients run for a given time, so no time of the whole work can be derived.
    let told = rates.map_or_else(Vec::new, |rates| statistics(&rates, work.rate));
    Ok(Done { elapsed: time, told, warnings, ..Done::default() })
}

/// Runs client `job` until `time`. Returns the records that it has read by then.
fn client(
    work: &Clients,
    job: u32,
    (root, name): (&Directory, &str),
    clock: Clock,
    time: Nanos,
) -> Result<Vec<Sample>> {
    let refuse = |e: io::Error| -> Error { refused("reading a stream", &e) };
    touch_stack();
    distinguish(job);
    let file = root.open_file(name, OFlags::RDONLY).map_err(refuse)?;
    let mut buffer = vec![0; work.record.0.min(BUFFER) as usize];
    let per_file = (work.length.0 / work.record.0).max(1);
    let (first, interval) = schedule(work, job);
    let mut samples = Vec::new();
    for index in 0.. {
        let due = Nanos(first + interval.0 * index);
        let mut now = clock.now();
        while now < due.min(time) && !is_interrupted() {
            now = clock.sleep_until(due.min(time));
        }
        if now >= time || is_interrupted() {
            break;
        }
        let offset = work.record * (index % per_file);
        read_at_once(&file, &mut buffer, offset, work.record).map_err(refuse)?;
        let (submit, complete, length) = (due.min(now), clock.now(), work.record);
        if complete <= time {
            samples.push(Sample { submit, complete, offset, length, op: Op::Read, job, error: 0 });
        }
    }
    Ok(samples)
}

/// Reads a record in one call into a smaller `buffer`, each part over the one before: nobody looks
/// at the data, and buffers for the records of a hundred clients would take memory from the page
/// cache.
fn read_at_once(file: &File, buffer: &mut [u8], offset: Bytes, length: Bytes) -> io::Result<()> {
    let (start, size) = (buffer.as_mut_ptr(), buffer.len());
    let mut done = 0;
    while done < length.0 {
        let part = |at: u64| libc::iovec {
            iov_base: start.cast(),
            iov_len: (length.0 - at).min(size as u64) as usize,
        };
        let parts: Vec<libc::iovec> = (done..length.0).step_by(size).map(part).collect();
        let (count, at) = (parts.len() as libc::c_int, (offset.0 + done) as libc::off_t);
        // SAFETY: each part is the beginning of `buffer`, which nobody else has; that they overlap
        // only makes what is in it afterwards a matter of chance.
        let read = unsafe { libc::preadv(file.as_raw_fd(), parts.as_ptr(), count, at) };
        match read {
            -1 => return Err(io::Error::last_os_error()),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => done += n as u64,
        }
    }
    Ok(())
}

/// Marks this thread's requests as those of client `job`, for historical elevators before a
/// modelled drive, which serve processes in turn. Of a process, a drive sees only the I/O priority;
/// the mark is its hint, which means nothing to Linux.
fn distinguish(job: u32) {
    const WHO_PROCESS: libc::c_int = 1;
    const BEST_EFFORT: u32 = 2 << 13;
    const USUAL: u32 = 4;
    let hint = (job + 1) % 1024;
    // SAFETY: the call takes three numbers. A kernel that does not know hints refuses, and leaves
    // the priority as it is: then all clients are one process to the elevator.
    unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, BEST_EFFORT | hint << 3 | USUAL) };
}

/// Returns the time in ns when the first record of client `job` is due, and the interval between
/// records. The clients' first records are spread evenly over one interval.
fn schedule(work: &Clients, job: u32) -> (u64, Nanos) {
    let interval = work.record.time_at(work.rate);
    (interval.0 * u64::from(job) / u64::from(work.count), interval)
}

/// Returns the rate of a client in bytes a second, over the whole intervals that it had within
/// `time`. The last interval does not count if the end cuts it: nobody knows whether its record
/// would have come in time. Returns `None` if there was no whole interval.
fn rate(work: &Clients, job: u32, samples: &[Sample], time: Nanos) -> Option<f64> {
    let (first, interval) = schedule(work, job);
    let whole = time.0.saturating_sub(first) / interval.0 * interval.0;
    let in_time = samples.iter().filter(|s| s.complete.0 <= first + whole);
    let bytes: u64 = in_time.map(|s| s.length.0).sum();
    (whole > 0).then(|| bytes as f64 / Nanos(whole).as_secs_f64())
}

/// Returns statistics of the clients' rates in bytes a second, and Jain's fairness index: 1 if all
/// clients got the same rate, 1/n if one of n got everything.
fn statistics(rates: &[f64], wanted: Rate) -> Vec<(String, f64)> {
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    let variance = (squares - n * mean * mean).max(0.0) / (n - 1.0).max(1.0);
    let served = rates.iter().filter(|r| **r >= SERVED * wanted.0 as f64).count();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    [
        ("client_mean", mean),
        ("client_sd", variance.sqrt()),
        ("client_min", least),
        ("client_max", most),
        ("clients_served", served as f64),
        ("fairness", if squares > 0.0 { n * mean * mean / squares } else { 1.0 }),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_clients() {
        let told = statistics(&[1e6, 1e6, 0.0, 2e6], Rate(1_000_000));
        let get = |name: &str| told.iter().find(|(n, _)| n == name).expect("told").1;
        assert_eq!((get("client_mean"), get("clients_served")), (1e6, 3.0));
        assert_eq!((get("client_min"), get("client_max")), (0.0, 2e6));
        assert!((get("client_sd") - 816_496.58).abs() < 1.0);
        assert!((get("fairness") - 16.0 / 24.0).abs() < 1e-9);
    }

    /// A time in which no record could be read must not count as one in which clients got nothing.
    #[test]
    fn a_client_without_a_whole_record_says_nothing() {
        let work = Clients {
            count: 2,
            rate: Rate(1_000_000),
            record: Bytes(1_000_000),
            length: Bytes(10_000_000),
            time: Nanos::from_secs(10),
        };
        // The second begins half a record later.
        assert_eq!(rate(&work, 0, &[], Nanos::from_millis(1400)), Some(0.0));
        assert_eq!(rate(&work, 1, &[], Nanos::from_millis(1400)), None);
    }

    #[test]
    fn a_record_is_read_whole_into_a_small_buffer() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        io::Write::write_all(&mut file, &[7; 10_000]).expect("room");
        let mut buffer = vec![0; 4096];
        let at = |offset| (Bytes(offset), Bytes(9000));
        let (offset, length) = at(1000);
        read_at_once(&file, &mut buffer, offset, length).expect("it is all there");
        assert_eq!(buffer, [7; 4096]);
        let (offset, length) = at(2000);
        let beyond = read_at_once(&file, &mut buffer, offset, length);
        assert_eq!(beyond.map_err(|e| e.kind()), Err(io::ErrorKind::UnexpectedEof));
    }
}
