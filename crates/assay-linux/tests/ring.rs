//! A request through the ring and back, as an honest kernel sends it.

use assay_linux::vhost::block::{BlockOperation as BlockAsk, Status};
use assay_linux::vhost::message::{Ask, Malformed, Region};
use assay_linux::vhost::session::Session;
use assay_spec::{Bytes, Op};
use std::fs::File;
use std::os::unix::fs::FileExt;

const MEMORY: u64 = 1 << 16;
/// The kernel has its memory elsewhere in its own space.
const USER: u64 = 0x7000_0000;

fn session(memory: &File) -> Session {
    let mut session = Session::new(Bytes::GIB, Bytes(512), false);
    let region = Region { guest: 0, size: MEMORY, user: USER, offset: 0 };
    let asks = [
        Ask::SetMemTable(vec![region]),
        Ask::SetVringNum(0, 8),
        Ask::SetVringBase(0, 0),
        Ask::SetVringAddr(0, [USER, USER + 0x2000, USER + 0x1000]),
        Ask::SetVringEnable(0, true),
    ];
    for ask in asks {
        let files = match &ask {
            Ask::SetMemTable(_) => vec![memory.try_clone().unwrap().into()],
            _ => Vec::new(),
        };
        session.answer(0, ask, true, files).unwrap();
    }
    session
}

fn put(memory: &File, at: u64, value: &[u8]) {
    memory.write_all_at(value, at).unwrap();
}

/// A descriptor: where, how long, flags (1 next, 2 for the device to write), next.
fn describe(memory: &File, index: u64, guest: u64, length: u32, flags: u16, next: u16) {
    put(memory, index * 16, &guest.to_le_bytes());
    put(memory, index * 16 + 8, &length.to_le_bytes());
    put(memory, index * 16 + 12, &flags.to_le_bytes());
    put(memory, index * 16 + 14, &next.to_le_bytes());
}

#[test]
fn a_read_is_taken_and_given_back_once() {
    let memory = tempfile::tempfile().unwrap();
    memory.set_len(MEMORY).unwrap();
    let mut session = session(&memory);
    session.look().unwrap();
    assert!(session.take().unwrap().is_none(), "an empty ring");
    put(&memory, 0x4000, &0_u32.to_le_bytes());
    put(&memory, 0x4008, &100_u64.to_le_bytes());
    describe(&memory, 3, 0x4000, 16, 1, 5);
    describe(&memory, 5, 0x5000, 4096, 3, 6);
    describe(&memory, 6, 0x6000, 1, 2, 0);
    put(&memory, 0x1004, &3_u16.to_le_bytes());
    put(&memory, 0x1002, &1_u16.to_le_bytes());
    put(&memory, 0x6000, &[0xff]);
    session.look().unwrap();
    let (ticket, request) = session.take().unwrap().expect("one request");
    session.look().unwrap();
    assert!(session.take().unwrap().is_none(), "only one");
    assert!(matches!(&request.operation, BlockAsk::Read(pieces) if pieces.len() == 1));
    let operations = request.operations(Bytes::GIB).expect("within");
    assert_eq!(operations.len(), 1);
    let (op, range) = operations[0];
    assert_eq!((op, range.offset, range.length), (Op::Read, Bytes(51_200), Bytes(4096)));
    assert!(request.operations(Bytes(51_200 + 4095)).is_none(), "beyond the end");
    assert!(request.operations(Bytes(51_200 + 4096)).is_some(), "just within");
    session.end(ticket, Status::Fine).unwrap();
    let mut used = [0; 12];
    memory.read_exact_at(&mut used, 0x2000).unwrap();
    assert_eq!(used[2..4], 1_u16.to_le_bytes(), "one is used");
    assert_eq!(used[4..8], 3_u32.to_le_bytes(), "the head that was taken");
    assert_eq!(used[8..12], 4097_u32.to_le_bytes(), "data and status");
    let mut status = [0; 1];
    memory.read_exact_at(&mut status, 0x6000).unwrap();
    assert_eq!(status, [0]);
}

#[test]
fn all_new_requests_are_taken_in_order_around_the_end_of_the_ring() {
    let memory = tempfile::tempfile().unwrap();
    memory.set_len(MEMORY).unwrap();
    let mut session = session(&memory);
    describe(&memory, 0, 0x4000, 16, 1, 1);
    describe(&memory, 1, 0x6000, 1, 2, 0);
    for entry in 0..8 {
        put(&memory, 0x1004 + 2 * entry, &0_u16.to_le_bytes());
    }
    let mut taken = |index: u16| {
        put(&memory, 0x1002, &index.to_le_bytes());
        session.look()?;
        let mut count = 0;
        while session.take()?.is_some() {
            count += 1;
        }
        Ok::<_, Malformed>(count)
    };
    assert_eq!(taken(5).unwrap(), 5);
    assert_eq!(taken(5).unwrap(), 0);
    assert_eq!(taken(11).unwrap(), 6, "past the end of the ring");
    assert!(taken(40).is_err(), "more than it has");
}

#[test]
fn a_place_beyond_the_end_of_all_addresses_is_an_error() {
    let memory = tempfile::tempfile().unwrap();
    memory.set_len(MEMORY).unwrap();
    let mut session = session(&memory);
    describe(&memory, 0, 0x4000, 16, 1, 1);
    describe(&memory, 1, u64::MAX - 2, 4096, 2, 0);
    put(&memory, 0x1002, &1_u16.to_le_bytes());
    session.look().unwrap();
    assert!(session.take().is_err());
}

#[test]
fn memory_that_its_file_does_not_have_is_refused() {
    let memory = tempfile::tempfile().unwrap();
    memory.set_len(MEMORY).unwrap();
    let table = |offset: u64, size: u64| {
        let region = Region { guest: 0, size, user: USER, offset };
        let files = vec![memory.try_clone().unwrap().into()];
        let mut session = Session::new(Bytes::GIB, Bytes(512), false);
        session.answer(0, Ask::SetMemTable(vec![region]), true, files).map(|_| ())
    };
    assert_eq!(table(0, MEMORY), Ok(()));
    assert_eq!(table(0x1000, MEMORY - 0x1000), Ok(()));
    for (offset, size) in [(0, MEMORY + 1), (0x1000, MEMORY), (0, 1 << 62), (1 << 62, 4096)] {
        assert!(table(offset, size).is_err(), "{size} bytes from {offset} on");
    }
    assert!(table(1, 4096).is_err(), "not at a page");
}
