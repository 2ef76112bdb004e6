//! What a drive is reckoned to take is not much below what it takes, so that a run that would not
//! fit is refused and not ended by the system.

use assay_sim::{InitialState, build, memory};
use assay_spec::Bytes;
use assay_spec::catalog::DEVICES;
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;

/// Drives that take more are left out: a test must not take the machine's memory itself.
const LARGEST: Bytes = Bytes(256 << 20);
/// What the allocator and the drive's queues may take beside it.
const BESIDE: u64 = 4 << 20;

/// What this process has in memory, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn no_drive_takes_much_more_than_it_is_reckoned_to() {
    let mut compared = 0;
    for bundled in DEVICES {
        let spec = DeviceSpec::parse(Source { file: bundled.file, text: bundled.text }).unwrap();
        let reckoned = memory(&spec);
        if reckoned > LARGEST {
            continue;
        }
        let before = resident();
        let drive = build(&spec, InitialState::Filled);
        let took = resident().saturating_sub(before);
        drop(drive);
        let most = reckoned.0 + reckoned.0 / 4 + BESIDE;
        assert!(took <= most, "{}: {} reckoned, {} taken", spec.name, reckoned, Bytes(took));
        compared += 1;
    }
    assert!(compared > 5, "only {compared} drives were compared");
}
