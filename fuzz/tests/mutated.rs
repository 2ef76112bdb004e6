//! The fuzz targets without a fuzzer, on any toolchain: the files of the repository, each cut, with
//! bytes changed, and with pieces of others in the middle.
//!
//! `ASSAY_FUZZ_RUNS` says how many there are in all. With `ASSAY_FUZZ_SEEDS` the unchanged ones are
//! only written, to a folder for each target in the one that it names: a fuzzer begins with them.

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Inputs in all, and targets that share them.
const RUNS: u32 = 40_000;
const TARGETS: u32 = 10;

/// A xorshift generator: these tests need variety, not quality.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Files below a folder of the repository.
fn seeds(folder: &str) -> Vec<Vec<u8>> {
    let (mut found, mut waiting) = (Vec::new(), vec![Path::new("..").join(folder)]);
    while let Some(folder) = waiting.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.push(fs::read(path).unwrap());
            }
        }
    }
    assert!(!found.is_empty(), "no seeds in {folder}");
    found
}

fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut data = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(8) {
        let at = random.below(data.len());
        match random.below(5) {
            0 => data.truncate(at),
            1 => data.insert(at, random.below(256) as u8),
            2 if !data.is_empty() => data[at] = b"0123456789.-\"[]{}=#,\n e\0"[random.below(24)],
            3 if !data.is_empty() => drop(data.drain(at..(at + random.below(40)).min(data.len()))),
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let piece = &other[from..(from + random.below(60)).min(other.len())];
                drop(data.splice(at..at, piece.iter().copied()));
            }
        }
    }
    data
}

fn survives(name: &str, target: fn(&[u8]), seeds: &[Vec<u8>]) {
    if let Some(place) = std::env::var_os("ASSAY_FUZZ_SEEDS") {
        let place = Path::new(&place).join(name);
        fs::create_dir_all(&place).unwrap();
        let named = seeds.iter().enumerate();
        return named.for_each(|(i, seed)| fs::write(place.join(i.to_string()), seed).unwrap());
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    seeds.iter().for_each(|seed| target(seed));
    let runs = std::env::var("ASSAY_FUZZ_RUNS").map_or(RUNS, |n| n.parse().unwrap());
    for round in 0..runs / TARGETS {
        let data = mutated(seeds, &mut random);
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&data)));
        assert!(outcome.is_ok(), "{name}, round {round}: {:?}", String::from_utf8_lossy(&data));
    }
}

#[test]
fn device_files() {
    let mut seeds = seeds("devices");
    seeds.extend(self::seeds("fuzz/tiny"));
    survives("device", assay_fuzz::device, &seeds);
}

#[test]
fn experiment_files() {
    survives("experiment", assay_fuzz::experiment, &seeds("examples"));
}

#[test]
fn targets() {
    let words = [
        "raid5(sim:ssd-m*4, chunk=64KiB, failed=1, controller=perc-6i),sim:ssd-l",
        "raid10(sim:a.toml*2, raid0(sim:b*2), failed=2, fail_at=10s, rebuild=50MB/s)",
    ];
    survives("target", assay_fuzz::target, &words.map(|w| w.as_bytes().to_vec()));
}

#[test]
fn files_of_disksim() {
    survives("disksim", assay_fuzz::disksim, &seeds("fuzz/tiny"));
}

#[test]
fn traces() {
    let text = fs::read("tiny/trace.txt").unwrap();
    // A read and a write, queued, sent and ended, as records of both byte orders.
    let mut little = Vec::new();
    let mut big = Vec::new();
    for (time, action) in [1, 7, 8, 1 << 16, 7 << 16].into_iter().enumerate() {
        let action = if action < 99 { action | 1 << 16 } else { action >> 16 | 2 << 16 };
        let words = [0x6561_7407, 0, time as u32, 0, 64, 0, 4096, action, 4711, 8 << 20, 0, 0];
        // Times and places have 64 bits: two words, the lower one first or last.
        words.iter().for_each(|word: &u32| little.extend(word.to_le_bytes()));
        let swapped = [0, 1, 3, 2, 5, 4, 6, 7, 8, 9, 10, 11].map(|i| words[i]);
        swapped.iter().for_each(|word| big.extend(word.to_be_bytes()));
    }
    survives("trace", assay_fuzz::trace, &[text, little, big]);
}

/// A saved run as it is, and as one of each study that has figures or ledgers of its own.
fn saved_runs() -> Vec<Vec<u8>> {
    let record = fs::read_to_string("saved/run.json").unwrap();
    let cells = fs::read_to_string("saved/cells.json").unwrap();
    let studies = ["tiny", "sigmetrics09", "cmu08", "oslo09", "sara10", "modern"];
    let of = |study: &&str| {
        let record = record.replace("\"study\":\"tiny\"", &format!("\"study\":\"{study}\""));
        [record.as_bytes(), &[assay_fuzz::SEAM], cells.as_bytes()].concat()
    };
    studies.iter().map(of).collect()
}

#[test]
fn run_directories() {
    survives("run", assay_fuzz::run, &saved_runs());
}

/// Writes logs without compression: hardly a change comes through to a decoder otherwise.
fn open_logs() -> Vec<Vec<u8>> {
    let encodings = [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT];
    let mut logs = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let new = || {
            let new = WriterProperties::builder().set_writer_version(version);
            new.set_compression(Compression::UNCOMPRESSED)
        };
        for encoding in encodings {
            let plain = new().set_dictionary_enabled(false).set_encoding(encoding);
            logs.push(open_log(plain.build()));
        }
        logs.push(open_log(new().build()));
    }
    logs
}

fn open_log(properties: WriterProperties) -> Vec<u8> {
    const SCHEMA: &str = "message log { required int64 submit_ns; required int64 complete_ns; \
        required int64 offset; optional int64 queue_ns; optional int64 insert_ns; \
        optional int64 dispatch_ns; required int32 length; required int32 op; \
        required int32 job; required int32 error; }";
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut place = 0;
    while let Some(mut column) = group.next_column().unwrap() {
        let levels: Vec<i16> = (0..40).map(|i| i16::from(i % place.max(2) != 0)).collect();
        let count = levels.iter().filter(|level| !(3..6).contains(&place) || **level == 1).count();
        if place < 6 {
            let values: Vec<i64> = (0..count as i64).map(|i| i * 60 + place * (i % 7)).collect();
            column.typed::<Int64Type>().write_batch(&values, Some(&levels), None).unwrap();
        } else {
            let values: Vec<i32> = (0..40).map(|i| i % 4).collect();
            column.typed::<Int32Type>().write_batch(&values, None, None).unwrap();
        }
        column.close().unwrap();
        place += 1;
    }
    group.close().unwrap();
    file.into_inner().unwrap()
}

#[test]
fn request_logs() {
    let saved = ["saved/mixed.parquet", "saved/trace.parquet"].map(|name| fs::read(name).unwrap());
    survives("requests", assay_fuzz::requests, &[open_logs(), saved.to_vec()].concat());
}

#[test]
fn price_lists() {
    let mut seeds = seeds("prices");
    seeds.push(fs::read("saved/prices.toml").unwrap());
    survives("prices", assay_fuzz::prices, &seeds);
}

#[test]
fn ledgers() {
    let mut ledgers = seeds("studies");
    ledgers.retain(|text| String::from_utf8_lossy(text).contains("[[claim]]"));
    survives("ledger", assay_fuzz::ledger, &ledgers);
}

#[test]
fn drives() {
    let random = &mut Random(7);
    let mut bytes = |_| (0..random.below(900)).map(|_| random.below(256) as u8).collect();
    let seeds: Vec<Vec<u8>> = (0..40).map(&mut bytes).collect();
    survives("drives", assay_fuzz::drives, &seeds);
}
