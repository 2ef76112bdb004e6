//! The declaration of processors: what the work of a guest's kernel costs on the machine that a
//! document used.

use super::fact::Fact;
use super::values::Values;
use crate::decode::{Decoded, Section, Source, document};
use crate::name::{bad_name, is_name};
use crate::units::{Nanos, Rate};

/// The kernel counts the time of its work in fs, in 64 bits: it must not overflow before time
/// passes, and a byte must not take less than 1 fs.
const SLOWEST: u64 = 1_000_000;
const FASTEST: u64 = 1_000_000_000_000_000;

/// The declaration of a processor with its memory.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessorSpec {
    /// The name that is used in `processor=NAME`.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// The clock of the core, in MHz.
    pub clock_mhz: u32,
    /// The time from an interrupt to the first instruction of an idle core. A core that was idle
    /// for a shorter time wakes in that time.
    pub wake: Nanos,
    /// The cycles of an average basic block of kernel code, which ends at a branch.
    pub block_cycles: u32,
    /// The cycles of a system call's way into the kernel and back.
    pub call_cycles: u32,
    /// The cycles of a switch to another program or thread, beside its basic blocks.
    pub switch_cycles: u32,
    /// The cycles of a program's page fault, beside the page that is copied or cleared.
    pub fault_cycles: u32,
    /// The rate at which memory is copied or filled.
    pub copy: Rate,
    /// The rate of CRC-32, as of nilfs2.
    pub crc32: Rate,
    /// The rate of CRC-32C, as of btrfs.
    pub crc32c: Rate,
    /// The rate at which sources of parity are XORed.
    pub xor: Rate,
    /// Every value with its origin, in the order of decoding.
    pub facts: Vec<Fact>,
}

/// The time that each kind of a kernel's work takes, in fs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkCosts {
    /// Of waking up.
    pub wake: u64,
    /// Of a basic block.
    pub block: u64,
    /// Of a system call.
    pub call: u64,
    /// Of a switch to another program or thread.
    pub switch: u64,
    /// Of a program's page fault.
    pub fault: u64,
    /// Of a byte that is copied.
    pub copy: u64,
    /// Of a byte that is checksummed by CRC-32.
    pub crc32: u64,
    /// Of a byte that is checksummed by CRC-32C.
    pub crc32c: u64,
    /// Of a byte that is XORed.
    pub xor: u64,
}

impl ProcessorSpec {
    /// Decodes a processor file.
    pub fn parse(source: Source<'_>) -> Decoded<ProcessorSpec> {
        document(source, "processor", decode)
    }

    /// Returns the time that the kernel's work takes.
    pub fn costs(&self) -> WorkCosts {
        let cycles = |count: u32| u64::from(count) * 1_000_000_000 / u64::from(self.clock_mhz);
        let byte = |rate: Rate| 1_000_000_000_000_000 / rate.0;
        WorkCosts {
            wake: self.wake.0 * 1_000_000,
            block: cycles(self.block_cycles),
            call: cycles(self.call_cycles),
            switch: cycles(self.switch_cycles),
            fault: cycles(self.fault_cycles),
            copy: byte(self.copy),
            crc32: byte(self.crc32),
            crc32c: byte(self.crc32c),
            xor: byte(self.xor),
        }
    }
}

fn decode(top: &mut Section<'_>) -> Decoded<ProcessorSpec> {
    let (name, span) = top.string_at("name")?;
    if !is_name(&name) {
        return Err(bad_name(top, span, &name));
    }
    let title = top.string("title")?;
    let mut values = Values::new(top)?;
    let mut core = top.section("core", "core")?;
    let clock_mhz = values.count(&mut core, "core", "clock_mhz", 10..100_001)?;
    let wake = values.time(&mut core, "core", "wake")?;
    let block_cycles = values.count(&mut core, "core", "block_cycles", 0..1001)?;
    let call_cycles = values.count(&mut core, "core", "call_cycles", 0..1_000_001)?;
    let mut cycles = |key| {
        let count = |values: &mut Values, core: &mut Section<'_>, key| {
            values.count(core, "core", key, 0..1_000_001)
        };
        values.optional(&mut core, key, 0, count)
    };
    let (switch_cycles, fault_cycles) = (cycles("switch_cycles")?, cycles("fault_cycles")?);
    core.finish()?;
    let mut memory = top.section("memory", "memory")?;
    let mut rate = |key| values.rate_within(&mut memory, "memory", key, SLOWEST..=FASTEST);
    let (copy, crc32) = (rate("copy")?, rate("crc32")?);
    let (crc32c, xor) = (rate("crc32c")?, rate("xor")?);
    memory.finish()?;
    let facts = values.facts;
    Ok(ProcessorSpec {
        name,
        title,
        clock_mhz,
        wake,
        block_cycles,
        call_cycles,
        switch_cycles,
        fault_cycles,
        copy,
        crc32,
        crc32c,
        xor,
        facts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{PROCESSORS, find};

    #[test]
    fn costs_that_overflow_or_vanish_are_refused() {
        let bundled = find(PROCESSORS, "amd64-3ghz").expect("bundled");
        for (value, other, is_fine) in [
            ("\"4.3GB/s\"", "\"1MB/s\"", true),
            ("\"4.3GB/s\"", "\"999kB/s\"", false),
            ("\"4.3GB/s\"", "\"1001TB/s\"", false),
            ("3000", "10", true),
            ("3000", "9", false),
        ] {
            let text = bundled.text.replace(value, other);
            assert_ne!(text, bundled.text, "{value}");
            let parsed = ProcessorSpec::parse(Source { file: "mine.toml", text: &text });
            assert_eq!(parsed.is_ok(), is_fine, "{other}");
        }
    }

    #[test]
    fn costs_are_of_the_clock_and_the_rates() {
        let bundled = find(PROCESSORS, "amd64-3ghz").expect("bundled");
        let source = Source { file: bundled.file, text: bundled.text };
        let mut spec = ProcessorSpec::parse(source).expect("it decodes");
        spec.clock_mhz = 2000;
        assert_eq!((spec.switch_cycles, spec.fault_cycles), (0, 0));
        (spec.wake, spec.block_cycles, spec.call_cycles) = (Nanos(3), 5, 200);
        (spec.switch_cycles, spec.fault_cycles) = (2000, 3000);
        (spec.copy, spec.crc32) = (Rate(4_000_000_000), Rate(500_000_000));
        (spec.crc32c, spec.xor) = (Rate(1_000_000_000), Rate(8_000_000_000));
        let costs = WorkCosts {
            wake: 3_000_000,
            block: 2_500_000,
            call: 100_000_000,
            switch: 1_000_000_000,
            fault: 1_500_000_000,
            copy: 250_000,
            crc32: 2_000_000,
            crc32c: 1_000_000,
            xor: 125_000,
        };
        assert_eq!(spec.costs(), costs);
    }
}
