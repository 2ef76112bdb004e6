//! The io_uring target on a real file: contents, timeouts, errors, buffers that outlive requests.

#![allow(clippy::print_stdout)] // a skipped test says why

use assay_engine::clock::Clock;
use assay_engine::target::uring::{UringOptions, UringTarget};
use assay_engine::target::{Submit, Target};
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const BLOCK: u64 = 4096;

/// A scratch file beside the build, where O_DIRECT works, and the target over it.
struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new(blocks: u64) -> Scratch {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(dir.path().join("data"), vec![0; (blocks * BLOCK) as usize]).unwrap();
        Scratch { dir }
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    /// A target that believes the file holds `blocks`.
    fn target(&self, blocks: u64, depth: u32) -> Option<UringTarget> {
        let options = UringOptions {
            depth,
            max_length: Bytes(4 * BLOCK),
            granularity: Bytes(BLOCK),
            writes: true,
            seed: 7,
            clock: Clock::start(),
        };
        let file = direct(&self.path())?;
        match UringTarget::new(file, Bytes(blocks * BLOCK), options) {
            Ok(target) => Some(target),
            Err(error) => {
                println!("skipped: {error}");
                None
            }
        }
    }
}

fn direct(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path);
    if file.is_err() {
        println!("skipped: no O_DIRECT on {}", path.display());
    }
    file.ok()
}

fn request(tag: u32, op: Op, block: u64, blocks: u64) -> Request {
    Request { tag, op, offset: Bytes(block * BLOCK), length: Bytes(blocks * BLOCK), fua: false }
}

/// Runs `requests` keeping `depth` in flight; the tags are assigned here.
fn run(target: &mut UringTarget, depth: u32, requests: &[Request]) -> Vec<Completion> {
    let (mut free, mut all, mut batch): (Vec<u32>, _, _) =
        ((0..depth).rev().collect(), Vec::new(), Vec::new());
    let mut waiting = requests.iter();
    let mut next = waiting.next();
    while all.len() < requests.len() {
        while let (Some(request), Some(&tag)) = (next, free.last()) {
            let now = target.now();
            assert_eq!(target.submit(now, Request { tag, ..*request }), Submit::Accepted);
            free.pop();
            next = waiting.next();
        }
        let now = target.poll(Nanos::NEVER, &mut batch);
        for completion in batch.drain(..) {
            assert!(completion.at <= now);
            free.push(completion.tag);
            all.push(completion);
        }
    }
    assert!(all.is_sorted_by_key(|c| c.at));
    all
}

fn writes_arrive(depth: u32) {
    let blocks = 256;
    let scratch = Scratch::new(blocks);
    let Some(mut target) = scratch.target(blocks, depth) else { return };
    let writes: Vec<_> = (0..blocks).map(|b| request(0, Op::Write, b, 1)).collect();
    assert!(run(&mut target, depth, &writes).iter().all(|c| c.error == 0));
    assert!(run(&mut target, depth, &[request(0, Op::Flush, 0, 0)])[0].error == 0);
    let contents = std::fs::read(scratch.path()).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for (block, data) in contents.chunks_exact(BLOCK as usize).enumerate() {
        let address = u64::from_le_bytes(data[..8].try_into().unwrap());
        assert_eq!(address, block as u64 * BLOCK, "every block says where it belongs");
        assert!(seen.insert(data.to_vec()), "no two blocks are alike");
        let zeros = data.iter().filter(|b| **b == 0).count();
        assert!(zeros < 100, "noise does not compress: {zeros} zeros in block {block}");
    }
    // Reads bring what the file system shows.
    for block in [0, 17, blocks - 4] {
        let read = request(0, Op::Read, block, 4);
        assert_eq!(run(&mut target, 1, &[read])[0].error, 0);
        let start = (block * BLOCK) as usize;
        let data = target.read_data(0, Bytes(4 * BLOCK)).unwrap();
        assert_eq!(data, &contents[start..start + 4 * BLOCK as usize]);
    }
    let reads: Vec<_> = (0..blocks / 4).map(|b| request(0, Op::Read, b * 4, 4)).collect();
    assert!(run(&mut target, depth, &reads).iter().all(|c| c.error == 0));
}

#[test]
fn writes_arrive_one_at_a_time() {
    writes_arrive(1);
}

#[test]
fn writes_arrive_32_at_a_time() {
    writes_arrive(32);
}

/// Each is on the device when it is answered; what arrives is the same.
#[test]
fn forced_writes_arrive() {
    for depth in [1, 8] {
        let scratch = Scratch::new(16);
        let Some(mut target) = scratch.target(16, depth) else { return };
        let forced = |b| Request { fua: true, ..request(0, Op::Write, b, 1) };
        let writes: Vec<_> = (0..16).map(forced).collect();
        assert!(run(&mut target, depth, &writes).iter().all(|c| c.error == 0));
        let contents = std::fs::read(scratch.path()).unwrap();
        for (block, data) in contents.chunks_exact(BLOCK as usize).enumerate() {
            let address = u64::from_le_bytes(data[..8].try_into().unwrap());
            assert_eq!(address, block as u64 * BLOCK);
        }
    }
}

#[test]
fn trimmed_blocks_read_as_zeros() {
    let scratch = Scratch::new(8);
    let Some(mut target) = scratch.target(8, 4) else { return };
    let writes: Vec<_> = (0..8).map(|b| request(0, Op::Write, b, 1)).collect();
    run(&mut target, 4, &writes);
    let error = run(&mut target, 1, &[request(0, Op::Trim, 2, 3)])[0].error;
    if error == libc::EOPNOTSUPP {
        println!("skipped: no holes on this file system");
        return;
    }
    assert_eq!(error, 0);
    let contents = std::fs::read(scratch.path()).unwrap();
    assert_eq!(contents.len() as u64, 8 * BLOCK, "trimming keeps the size");
    let is_zero = |b: usize| contents[b * 4096..(b + 1) * 4096].iter().all(|x| *x == 0);
    assert_eq!((0..8).filter(|b| is_zero(*b)).collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn poll_waits_until_its_time_and_no_longer_than_a_completion() {
    let scratch = Scratch::new(8);
    let Some(mut target) = scratch.target(8, 4) else { return };
    let mut completions = Vec::new();
    // Nothing in flight: sleeps.
    let until = target.now() + Nanos::from_millis(5);
    assert!(target.poll(until, &mut completions) >= until);
    assert!(completions.is_empty());
    // A time in the past: does not wait, but sends; the completion comes sooner or later.
    let now = target.now();
    target.submit(now, request(0, Op::Read, 0, 1));
    target.poll(Nanos::ZERO, &mut completions);
    while completions.is_empty() {
        target.poll(Nanos::NEVER, &mut completions);
    }
    assert_eq!(completions.len(), 1);
    // A far time: the completion ends the wait. If it did not, this test would take an hour.
    let now = target.now();
    target.submit(now, request(1, Op::Read, 0, 1));
    let after = target.poll(now + Nanos::from_secs(3600), &mut completions);
    assert_eq!((completions.len(), completions[1].at), (2, after));
}

#[test]
fn poll_times_out_while_a_request_is_in_flight() {
    // A pipe nobody writes to keeps a read in flight for as long as the test likes.
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: both descriptors were just made and belong to nobody else.
    let (reader, writer): (File, File) = unsafe {
        use std::os::fd::FromRawFd;
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    };
    let options = UringOptions {
        depth: 2,
        max_length: Bytes(BLOCK),
        granularity: Bytes(512),
        writes: false,
        seed: 0,
        clock: Clock::start(),
    };
    let Ok(mut target) = UringTarget::new(reader, Bytes(BLOCK), options) else {
        println!("skipped: no io_uring");
        return;
    };
    let mut completions = Vec::new();
    let now = target.now();
    target.submit(
        now,
        Request { tag: 1, op: Op::Read, offset: Bytes(0), length: Bytes(512), fua: false },
    );
    let until = now + Nanos::from_millis(5);
    assert!(target.poll(until, &mut completions) >= until);
    assert!(completions.is_empty(), "{completions:?}");
    assert!(target.read_data(1, Bytes(512)).is_none(), "the buffer is the kernel's");
    std::io::Write::write_all(&mut &writer, &[42; 512]).unwrap();
    target.poll(Nanos::NEVER, &mut completions);
    assert_eq!((completions[0].tag, completions[0].error), (1, 0));
    assert_eq!(target.read_data(1, Bytes(512)).unwrap(), [42; 512]);
}

#[test]
fn bad_requests_complete_with_an_error() {
    let scratch = Scratch::new(4);
    // The target is told of 8 blocks where the file has 4: reads beyond the end come back short.
    let Some(mut target) = scratch.target(8, 4) else { return };
    let error = |target: &mut UringTarget, r: Request| run(target, 1, &[r])[0].error;
    assert_eq!(error(&mut target, request(0, Op::Read, 6, 1)), libc::EIO);
    assert_eq!(error(&mut target, request(0, Op::Read, 3, 2)), libc::EIO);
    assert_eq!(error(&mut target, request(0, Op::Read, 8, 1)), libc::EINVAL);
    assert_eq!(error(&mut target, request(0, Op::Write, 8, 1)), libc::EINVAL);
    assert_eq!(error(&mut target, request(0, Op::Read, 0, 5)), libc::EINVAL);
    let odd = Request { tag: 0, op: Op::Read, offset: Bytes(1), length: Bytes(BLOCK), fua: false };
    assert_eq!(error(&mut target, odd), libc::EINVAL);
    let far = Request { offset: Bytes(u64::MAX - BLOCK + 1), ..odd };
    assert_eq!(error(&mut target, far), libc::EINVAL);
    assert_eq!(error(&mut target, request(0, Op::Read, 3, 1)), 0);
    // Refused and sound ones together: all come back.
    let mixed: Vec<_> = (0..40).map(|b| request(0, Op::Read, b % 10, 1)).collect();
    let completions = run(&mut target, 4, &mixed);
    assert_eq!(completions.iter().filter(|c| c.error == 0).count(), 16);
    assert_eq!(std::fs::metadata(scratch.path()).unwrap().len(), 4 * BLOCK);
}

#[test]
fn a_target_dropped_with_requests_in_flight_waits_for_them() {
    for round in 0..20 {
        let scratch = Scratch::new(64);
        let Some(mut target) = scratch.target(64, 32) else { return };
        let now = target.now();
        for tag in 0..32 {
            target.submit(now, request(tag, Op::Write, u64::from(tag), 1));
        }
        if round % 2 == 0 {
            target.poll(Nanos::ZERO, &mut Vec::new());
        }
        drop(target);
        let contents = std::fs::read(scratch.path()).unwrap();
        assert!(
            contents[..32 * BLOCK as usize].chunks(4096).all(|b| b[100..].iter().any(|x| *x != 0))
        );
    }
}

#[test]
fn impossible_options_are_errors() {
    let scratch = Scratch::new(1);
    let options = UringOptions {
        depth: 1,
        max_length: Bytes(BLOCK),
        granularity: Bytes(BLOCK),
        writes: true,
        seed: 7,
        clock: Clock::start(),
    };
    let none = UringOptions { depth: 0, ..options };
    let deep = UringOptions { depth: u32::MAX, ..options };
    let long = UringOptions { max_length: Bytes(u64::MAX), ..options };
    let short = UringOptions { max_length: Bytes(512), ..options };
    let zero = UringOptions { granularity: Bytes::ZERO, ..options };
    for options in [none, deep, long, short, zero] {
        let Some(file) = direct(&scratch.path()) else { return };
        let Err(error) = UringTarget::new(file, Bytes(BLOCK), options) else {
            panic!("{options:?} was taken");
        };
        assert_eq!(error.id, "uring-options");
    }
}
