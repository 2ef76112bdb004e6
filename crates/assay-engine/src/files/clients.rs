//! Clients that each read a file of their own at a rate: video streams.
//!
//! A client reads the next record when its time has come, or at once if it is late; at the end of
//! its file it begins again. What it got in the time is compared with what it wanted.

use super::records::lay_out_cold;
use super::{Done, Stage, refused};
use crate::clock::Clock;
use crate::drive::is_interrupted;
use crate::error::{Error, Result};
use crate::measure::Sample;
use assay_spec::experiment::{Between, Clients};
use assay_spec::{Bytes, Nanos, Op};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A client has what it wants if it gets so much of it.
const SERVED: f64 = 0.99;

impl Stage<'_> {
    pub(super) fn clients(&mut self, work: &Clients) -> Result<Done> {
        let path = |i: u32| self.ground.directory.join(format!("stream-{i}"));
        let paths: Vec<PathBuf> = (0..work.count).map(path).collect();
        for path in &paths {
            lay_out_cold(path, work.length, self.ground.content)?;
        }
        self.forget(Between::Remount, &[])?;
        let time = self.ground.limit.unwrap_or(work.time).min(work.time);
        (self.before_measure)();
        let clock = Clock::start();
        let each = |(job, path): (usize, &PathBuf)| client(work, job as u32, path, clock, time);
        let served: Result<Vec<Vec<Sample>>> = std::thread::scope(|scope| {
            let start = |one| scope.spawn(move || each(one));
            let threads: Vec<_> = paths.iter().enumerate().map(start).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Vec<Sample>>>| {
                thread.join().expect("a client does not panic")
            };
            threads.into_iter().map(join).collect()
        });
        let served = served?;
        if is_interrupted() {
            return Err(crate::drive::interrupted());
        }
        let mut all: Vec<&Sample> = served.iter().flatten().collect();
        all.sort_by_key(|s| (s.complete, s.job));
        for (number, sample) in all.into_iter().enumerate() {
            self.recorder.record(number as u64, *sample);
        }
        let rates: Vec<f64> = served.iter().map(|samples| rate(samples, time)).collect();
        Ok(Done { elapsed: time, told: told(&rates, work.rate), warnings: Vec::new() })
    }
}

/// What one client reads until `time`.
fn client(work: &Clients, job: u32, path: &Path, clock: Clock, time: Nanos) -> Result<Vec<Sample>> {
    let refuse = |e: io::Error| -> Error { refused("reading a stream", &e) };
    let file = File::open(path).map_err(refuse)?;
    let mut buffer = vec![0; work.record.0 as usize];
    let per_file = (work.length.0 / work.record.0).max(1);
    let interval = work.record.time_at(work.rate);
    // Clients begin one after the other, within the time of a record.
    let first = interval.0 * u64::from(job) / u64::from(work.count);
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
        file.read_exact_at(&mut buffer, offset.0).map_err(refuse)?;
        let (submit, complete, length) = (due.min(now), clock.now(), work.record);
        if complete <= time {
            samples.push(Sample { submit, complete, offset, length, op: Op::Read, job, error: 0 });
        }
    }
    Ok(samples)
}

fn rate(samples: &[Sample], time: Nanos) -> f64 {
    let bytes: u64 = samples.iter().map(|s| s.length.0).sum();
    bytes as f64 / time.as_secs_f64()
}

/// What the clients got, in bytes a second, and how evenly: Jain's index is 1 if all got the same,
/// and 1/n if one of n got all.
fn told(rates: &[f64], wanted: Bytes) -> Vec<(String, f64)> {
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let squares: f64 = rates.iter().map(|r| r * r).sum();
    let variance = (squares - n * mean * mean).max(0.0) / (n - 1.0).max(1.0);
    let served = rates.iter().filter(|r| **r >= SERVED * wanted.0 as f64).count();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    [
        ("client_mean", mean),
        ("client_sd", variance.sqrt()),
        ("client_min", least),
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
    fn what_clients_got_is_told() {
        let told = told(&[1e6, 1e6, 0.0, 2e6], Bytes(1_000_000));
        let get = |name: &str| told.iter().find(|(n, _)| n == name).expect("told").1;
        assert_eq!((get("client_mean"), get("client_min"), get("clients_served")), (1e6, 0.0, 3.0));
        assert!((get("client_sd") - 816_496.58).abs() < 1.0);
        assert!((get("fairness") - 16.0 / 24.0).abs() < 1e-9);
    }
}
