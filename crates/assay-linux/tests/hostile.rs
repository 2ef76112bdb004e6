//! A kernel that sends anything at all: a million messages, rings and requests, without a panic.
//!
//! Much of what is sent would be right but for one thing, so that it comes far; the rest is noise.
//! A session that breaks off is begun anew, as a new kernel would.

#![allow(clippy::print_stdout)] // how far the cases came is worth a line

use assay_linux::disks::{DiskSetup, Disks};
use assay_linux::store::Store;
use assay_linux::vhost::message::{Ask, HEADER, Header};
use assay_linux::vhost::session::Session;
use assay_sim::{Drive, build};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::{Bytes, Nanos, seed};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

const CASES: u64 = 1_000_000;
const CAPACITY: Bytes = Bytes(1 << 30);
const MEMORY: u64 = 1 << 16;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        seed::mix(self.0) % sides
    }

    /// A number as it may be meant, near it, at an edge, or any.
    fn number(&mut self, meant: u64) -> u64 {
        match self.roll(40) {
            0 => seed::mix(self.0 ^ 7),
            1 => u64::MAX - self.roll(3),
            2 | 3 => meant.wrapping_add(self.roll(3)).wrapping_sub(1),
            _ => meant,
        }
    }
}

/// The guest's memory: a ring of eight with chains of every kind.
fn fill(memory: &File, dice: &mut Dice) {
    let mut bytes = vec![0_u8; MEMORY as usize];
    let mut put = |at: u64, value: &[u8]| {
        let at = at as usize;
        bytes[at..at + value.len()].copy_from_slice(value);
    };
    for entry in 0..8_u64 {
        let (at, place) = (entry * 16, 0x4000 + entry * 0x400);
        let (length, flags) =
            [(16, 1), (512, 3), (4096, 2), (1, 2), (16, 1), (48, 4)][dice.roll(6) as usize];
        put(at, &dice.number(place).to_le_bytes());
        put(at + 8, &(dice.number(length) as u32).to_le_bytes());
        put(at + 12, &(dice.number(flags) as u16).to_le_bytes());
        put(at + 14, &(dice.number((entry + 1) % 8) as u16).to_le_bytes());
        // A header of a request, where its first piece may be.
        let kind = [0, 1, 4, 8, 11, 13, 99][dice.roll(7) as usize];
        put(place, &(kind as u32).to_le_bytes());
        put(place + 8, &dice.number(entry * 8).to_le_bytes());
    }
    put(0x1002, &(dice.number(6) as u16).to_le_bytes());
    for entry in 0..8 {
        put(0x1004 + entry * 2, &(dice.roll(9) as u16).to_le_bytes());
    }
    memory.write_all_at(&bytes, 0).expect("written");
}

/// Any message; `sent` is how many the session has had.
fn message(dice: &mut Dice, sent: usize) -> (u32, Vec<u8>) {
    // The ring is set up more often than it is taken down.
    const REQUESTS: [u32; 20] =
        [1, 2, 3, 5, 5, 8, 8, 9, 9, 10, 11, 15, 16, 17, 18, 18, 24, 25, 35, 36];
    // A session begins as an honest one does, most of the time.
    const SETUP: [u32; 5] = [5, 8, 9, 18, 35];
    let any = REQUESTS[dice.roll(REQUESTS.len() as u64) as usize];
    let request = *SETUP.get(sent).filter(|_| dice.roll(10) > 0).unwrap_or(&any);
    let wide = |values: &[u64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let mut payload = match request {
        5 => wide(&[1, dice.number(0), dice.number(MEMORY), dice.number(0), dice.number(0)]),
        8 => wide(&[dice.number(8) << 32]),
        9 => wide(&[0, dice.number(0), dice.number(0x2000), dice.number(0x1000), 0]),
        18 => wide(&[1 << 32]),
        24 => wide(&[dice.number(60) << 32, 0]),
        _ => wide(&[dice.number(0)]),
    };
    if dice.roll(20) == 0 {
        payload.truncate(dice.roll(payload.len() as u64 + 1) as usize);
    }
    (request, payload)
}

#[test]
fn a_million_messages_and_requests_without_a_panic() {
    let text = include_str!("../../assay/tests/fixtures/drive.toml");
    let spec = DeviceSpec::parse(Source { file: "drive", text }).expect("it is right");
    let model: Box<dyn Drive> = build(&spec, assay_sim::InitialState::Filled);
    let disk = DiskSetup {
        model: 0,
        base: Bytes::ZERO,
        capacity: CAPACITY,
        discards: true,
        wears_out: true,
        store: Store::in_memory(CAPACITY).expect("made"),
    };
    let mut disks = Disks::new(vec![model], vec![disk], Box::new(|_| {}));
    let mut dice = Dice(42);
    let new = || Session::new(CAPACITY, Bytes(512), true);
    let mut session = new();
    let memory = tempfile::tempfile().expect("made");
    // A region that is a little too long is none that its file does not have.
    memory.set_len(MEMORY + 4096).expect("as long");
    let (mut now, mut ended, mut taken, mut broken) = (Nanos::ZERO, Vec::new(), 0_u64, 0_u64);
    let mut sent = 0;
    for case in 0..CASES {
        if case % 64 == 0 {
            fill(&memory, &mut dice);
        }
        let (request, payload) = message(&mut dice, sent);
        sent += 1;
        let mut head = [0; HEADER];
        head[..4].copy_from_slice(&request.to_le_bytes());
        head[4..8].copy_from_slice(&(dice.number(1) as u32).to_le_bytes());
        head[8..].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        let asked = Header::parse(&head).and_then(|h| Ok((h, Ask::parse(h.request, &payload)?)));
        let Ok((header, ask)) = asked else {
            broken += 1;
            continue;
        };
        let files: Vec<OwnedFd> = match &ask {
            Ask::SetMemTable(_) => vec![memory.try_clone().expect("cloned").into()],
            _ => Vec::new(),
        };
        let answered = session.answer(header.request, ask, header.wants_reply, files);
        let served = answered.and_then(|_| {
            session.look()?;
            while let Some((ticket, request)) = session.take()? {
                taken += 1;
                disks.submit(now, 0, ticket, &request, session.memory())?;
            }
            Ok(())
        });
        if let Some(at) = disks.next_event() {
            now = now.max(at);
            disks.advance(now, &mut ended);
        }
        let told = ended.drain(..).try_for_each(|one| session.end(one.ticket, one.status));
        if served.and(told).is_err() {
            broken += 1;
            (session, sent) = (new(), 0);
        }
    }
    println!("{taken} requests came through, {broken} times something was refused");
    assert!(taken > CASES / 200, "{taken} requests came through");
    assert!(broken > CASES / 20, "{broken} times something was refused");
}
