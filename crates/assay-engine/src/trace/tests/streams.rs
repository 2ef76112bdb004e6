//! Tests of inputs: several files, several devices, and cut-off ends.

use super::*;

fn on(cpu: u32, sequence: u32, event: E) -> E {
    E { cpu, sequence, ..event }
}

#[test]
fn files_of_processors_are_merged_by_time() {
    let zero = [
        on(0, 1, e(1000, "Q", "R", 8, 8)),
        on(0, 2, e(1010, "D", "R", 8, 8)),
        on(0, 4, e(1030, "Q", "R", 16, 8)),
        on(0, 5, e(1050, "C", "R", 16, 8)),
    ];
    let one = [on(1, 1, e(1020, "C", "R", 8, 8)), on(1, 2, e(1040, "D", "R", 16, 8))];
    let expected = [
        row([Nanos(0), N, Nanos(10), Nanos(20)], Op::Read, 8, 8),
        row([Nanos(30), N, Nanos(40), Nanos(50)], Op::Read, 16, 8),
    ];
    for is_big in [false, true] {
        let (zero, one) = (records(&zero, is_big), records(&one, is_big));
        let (rows, record) = read(&[&one, &zero], None).unwrap();
        assert_eq!(rows, expected);
        assert_eq!(unpaired(&record), [("missing sequence numbers", 1)]);
        assert_eq!(record.source.files, ["t.0", "t.1"]);
        assert_eq!(record.source.bytes as usize, zero.len() + one.len());
        // One file behind the other is small enough for the window to sort.
        let (rows, _) = read(&[&[one, zero].concat()], None).unwrap();
        assert_eq!(rows, expected);
    }
    let mixed = read(&[&records(&zero, false), &text(&one)], None).unwrap_err();
    assert_eq!(mixed.id, "trace-mixed");
}

#[test]
fn late_events_are_told() {
    let mut events: Vec<E> = (0..3000).map(|i| e(10_000 + i, "P", "N", 0, 0)).collect();
    events.push(e(5, "Q", "R", 8, 8));
    events.push(e(20_000, "C", "R", 8, 8));
    let (rows, record) = read_all(&events);
    // The late event does not come before the start of the trace.
    assert_eq!(rows, [row([Nanos(0), N, N, Nanos(10_000)], Op::Read, 8, 8)]);
    assert_eq!(unpaired(&record), [("late events", 1)]);
}

#[test]
fn a_trace_of_several_devices_is_asked_about() {
    let of = |minor, event: E| E { device: (8, minor), ..event };
    let events = [
        // The whole disk has only requests that are remapped to it from its partition.
        of(0, e(0, "A", "R", 8, 8)),
        of(1, e(1, "Q", "R", 8, 8)),
        of(16, e(2, "Q", "W", 8, 8)),
        of(16, e(3, "D", "W", 8, 8)),
        of(1, e(4, "D", "R", 8, 8)),
        of(1, e(5, "C", "R", 8, 8)),
        of(16, e(6, "C", "W", 8, 8)),
        of(16, e(7, "Q", "W", 8, 8)),
    ];
    for bytes in [records(&events, false), records(&events, true), text(&events)] {
        let unclear = read(&[&bytes], None).unwrap_err();
        assert_eq!(unclear.id, "trace-devices");
        let said = "the trace has requests of several devices: 8,16 (4 events), 8,1 (3 events)";
        assert_eq!(unclear.message, said);
        let (rows, record) = read(&[&bytes], Some("8,1")).unwrap();
        assert_eq!(rows, [row([Nanos(1), N, Nanos(4), Nanos(5)], Op::Read, 8, 8)]);
        assert_eq!(record.device.to_string(), "8,1");
        let counts: Vec<_> =
            record.devices.iter().map(|d| (d.device.minor, d.events, d.of_requests)).collect();
        assert_eq!(counts, [(0, 1, 0), (1, 3, 3), (16, 4, 4)]);
        let absent = read(&[&bytes], Some("8,32")).unwrap_err();
        assert_eq!(
            (absent.id, &*absent.message),
            ("trace-no-requests", "the trace has no requests of 8,32")
        );
        assert_eq!(absent.hint, "choose a device of the trace: 8,16 (4 events), 8,1 (3 events)");
        // Without the other device, the trace is of one device.
        let without: Vec<E> = events.into_iter().filter(|e| e.device.1 != 16).collect();
        assert_eq!(read(&[&records(&without, false)], None).unwrap().0, rows);
    }
}

#[test]
fn an_end_in_the_middle_is_told_with_its_place() {
    let events = [e(0, "Q", "R", 8, 8), e(1, "D", "R", 8, 8), e(2, "C", "R", 8, 8)];
    for is_big in [false, true] {
        let bytes = records(&events, is_big);
        // The first record is followed by eight bytes.
        for cut in [1, 30, 47] {
            let (rows, record) = read(&[&bytes[..104 + cut]], None).unwrap();
            assert_eq!(rows, []);
            let last = record.unpaired.last().unwrap();
            assert_eq!((&*last.what, last.count), ("bytes at a cut-off end", cut as u64));
            assert_eq!(last.why, "t.0 ends within a record, which begins at byte 104");
        }
        // This cut is in the bytes that follow a record.
        let cut = read(&[&bytes[..50]], None).unwrap_err();
        assert_eq!((cut.id, &*cut.message), ("trace-no-requests", "the trace has no requests"));
    }
    let bytes = text(&events);
    let last = bytes.len() - events[2].line().len();
    let (rows, record) = read(&[&bytes[..last + 40]], None).unwrap();
    assert_eq!(rows, []);
    assert_eq!(unpaired(&record).last(), Some(&("bytes at a cut-off end", 40)));
    // A complete last line needs no line feed.
    let (rows, record) = read(&[bytes.trim_ascii_end()], None).unwrap();
    assert_eq!((rows.len(), unpaired(&record)), (1, vec![]));
}

#[test]
fn what_ftrace_lost_is_forgotten() {
    let record = |event: E| event.record(false, 0);
    let bytes = [
        b"CPU:3 [LOST 2 EVENTS]\n".to_vec(),
        record(e(0, "Q", "R", 8, 8)),
        record(e(1, "D", "R", 8, 8)),
        b"CPU:0 [LOST 4579 EVENTS]\n".to_vec(),
        record(e(100, "Q", "R", 8, 8)),
        record(e(101, "D", "R", 8, 8)),
        record(e(102, "C", "R", 8, 8)),
        b"CPU:0 [LOST 1 EVENTS]\n".to_vec(),
    ];
    let (rows, record) = read(&[&bytes.concat()], None).unwrap();
    // The request that began before the loss is not among them.
    assert_eq!(rows, [row([Nanos(100), N, Nanos(101), Nanos(102)], Op::Read, 8, 8)]);
    let expected = [("given up where events were lost", 1), ("lost events", 4582)];
    assert_eq!(unpaired(&record), expected);
}

#[test]
fn text_has_headings_and_summaries() {
    let lines = text(&[e(0, "Q", "R", 8, 8), e(1, "C", "R", 8, 8)]);
    let heading = b"Device CPU Seq Time PID Action\n\n";
    let summary = b"CPU0 (8,0):\n Reads Queued:           1,        4KiB\n";
    let (rows, record) = read(&[&[&heading[..], &lines, summary].concat()], None).unwrap();
    assert_eq!((rows.len(), unpaired(&record)), (1, vec![("lines that are not events", 4)]));
}

#[test]
fn longer_than_what_is_read_at_a_time() {
    let request = |i: u64| {
        let (time, sector) = (i * 100, i * 8 % 4096);
        [
            e(time, "Q", "R", sector, 8),
            e(time + 5, "D", "R", sector, 8),
            e(time + 9, "C", "R", sector, 8),
        ]
    };
    const REQUESTS: u64 = 30_000;
    let events: Vec<E> = (0..REQUESTS).flat_map(request).collect();
    let (rows, record) = read_all(&events);
    assert_eq!(rows.len() as u64, REQUESTS);
    assert!(rows.iter().all(|r| r.complete - r.submit == Nanos(9)));
    assert_eq!(unpaired(&record), []);
    assert!(record.source.bytes > 4 << 20);
}
