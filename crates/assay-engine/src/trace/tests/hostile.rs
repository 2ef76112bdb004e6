//! Tests with bytes that are no trace, and with damaged traces.

use super::*;

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let right = e(0, "Q", "R", 8, 8).record(false, 8);
    let broken = |bytes: &[u8]| {
        let error = read(&[&[&right, bytes].concat()], None).unwrap_err();
        assert!(!error.hint.is_empty());
        (error.id, error.message)
    };
    let (id, message) = broken(&[0x20; 48]);
    assert_eq!(id, "trace-malformed");
    assert_eq!(
        message,
        "t.0: byte 56: no record begins here: its first four bytes are 0x20202020 instead of \
         0x65617407"
    );
    let mut newer = right.clone();
    newer[0] = 8;
    let (_, message) = broken(&newer);
    assert_eq!(message, "t.0: byte 56: a record has version 8, but assay reads only version 7");
    let (_, message) = broken(&e(1, "Q", "R", 1 << 60, 8).record(false, 0));
    assert_eq!(message, "t.0: byte 56: block 1152921504606846976 lies beyond every drive");
    // Request logs hold signed numbers, so times above 2^63 - 1 ns are refused.
    let late =
        |time: u64| [&e(0, "Q", "R", 8, 8).record(false, 0)[..8], &time.to_le_bytes()].concat();
    let record = |time: u64| [&late(time), &e(0, "Q", "R", 8, 8).record(false, 0)[16..]].concat();
    let (id, message) = broken(&record(1 << 63));
    assert_eq!(id, "trace-malformed");
    assert_eq!(
        message,
        "t.0: byte 56: the time of a record, 9223372036854775808 ns, is larger than in any trace"
    );
    assert!(read(&[&[&right[..], &record((1 << 63) - 1)].concat()], None).is_ok());
    // A record in the middle has the other byte order.
    let (_, message) = broken(&e(1, "Q", "R", 8, 8).record(true, 0));
    assert!(message.starts_with("t.0: byte 56: no record begins here"), "{message}");

    let line = text(&[e(0, "Q", "R", 8, 8)]);
    let wrong = [&line[..], &line, b"  8,0 0 0 0.5 4711 Q R 8 + x\n"].concat();
    let error = read(&[&wrong], None).unwrap_err();
    assert_eq!(error.message, "t.0: line 3, column 28: the number of blocks is not a number");
    let endless = [&line[..], &[b'9'; 80_000]].concat();
    let error = read(&[&endless], None).unwrap_err();
    assert_eq!(error.message, "t.0: line 2, column 65536: the line does not end");
    for (bytes, id) in [(&b""[..], "trace-empty"), (b"\0\0\0\0\0\0", "trace-unknown")] {
        assert_eq!(read(&[bytes], None).unwrap_err().id, id);
    }
    assert_eq!(read(&[b"PAR1 and more"], None).unwrap_err().id, "trace-unknown");
}

/// A xorshift generator: these tests need variety, not quality.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }
}

/// Random events, whole or damaged, never cause a panic, and the counts of the record agree with
/// the requests.
#[test]
fn random_events_and_random_damage() {
    const ACTIONS: [&str; 10] = ["Q", "Q", "I", "D", "D", "C", "C", "R", "M", "X"];
    const WAYS: [&str; 6] = ["R", "W", "WS", "DS", "FWS", "FN"];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut rows = 0;
    for round in 0..120_000_u64 {
        let mut events = Vec::new();
        for _ in 0..1 + random.below(30) {
            let action = ACTIONS[random.below(10) as usize];
            let way = WAYS[random.below(6) as usize];
            let (sector, blocks) = (random.below(4), random.below(4) as u32);
            let error = if random.below(9) == 0 { 0xfffb } else { 0 };
            let device = (8, u32::from(random.below(400) == 0));
            let event = e(random.below(90), action, way, sector, blocks);
            events.push(E { error, device, ..event });
        }
        let mut bytes = match round % 3 {
            0 => records(&events, false),
            1 => records(&events, true),
            _ => text(&events),
        };
        if round % 2 == 0 {
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(3) {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = random.below(256) as u8,
                    _ => bytes.insert(at, b"0123456789 ,.+[]\n-CQDRW"[random.below(23) as usize]),
                }
            }
        }
        match small(&bytes) {
            Ok((found, record)) => {
                rows += found.len();
                let counted: u64 = record.requests.iter().map(|r| r.requests).sum();
                assert_eq!(counted, found.len() as u64);
                let bytes: u64 = record.requests.iter().map(|r| r.bytes.0).sum();
                assert_eq!(bytes, found.iter().map(|r| r.length.0).sum::<u64>());
                assert!(found.iter().all(|r| r.submit <= r.complete), "{found:?}");
                assert!(found.iter().all(|r| r.dispatch == N || r.dispatch <= r.complete));
            }
            Err(error) => assert!(!error.message.is_empty() && !error.hint.is_empty()),
        }
    }
    assert!(rows > 20_000, "{rows}");
}

/// Reads a single trace like [`read`], with less memory.
fn small(bytes: &[u8]) -> Result<(Vec<TraceRow>, TraceRecord)> {
    let mut rows = Vec::new();
    let input = Input::of_bytes("t", bytes.to_vec());
    let record = follow(vec![input], None, &mut |row| rows.push(row))?;
    Ok((rows, record))
}
