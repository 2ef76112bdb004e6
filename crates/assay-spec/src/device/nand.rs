//! The declaration of flash chips and their buses.

use super::values::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos, Rate};

/// Flash chips and their buses.
#[derive(Clone, Copy, Debug)]
pub struct NandSpec {
    /// The number of channels: buses that work in parallel.
    pub channels: u32,
    /// The number of dies on each channel.
    pub dies_per_channel: u32,
    /// The number of planes of a die. Each has a page register.
    pub planes_per_die: u32,
    /// The way the planes of a die share its array.
    pub plane_mode: PlaneMode,
    /// The number of erase blocks of a plane.
    pub blocks_per_plane: u32,
    /// The number of pages of an erase block.
    pub pages_per_block: u32,
    /// The data bytes of a page.
    pub page: Bytes,
    /// The time from cell to register (tR). Like the next three times it lasts until the controller
    /// sees that the chip is ready.
    pub read: Nanos,
    /// The time from register to cell (tPROG).
    pub program: ProgramTime,
    /// The time of a block erase (tBERS).
    pub erase: Nanos,
    /// The rate of a channel, in both directions.
    pub bus: Rate,
    /// Whether a second register transfers data while the array works.
    pub cache_register: bool,
    /// The number of pages that a plane programs at once, when all of them are loaded: the parts of
    /// a physical page that are mapped on their own, times the physical pages that share their
    /// cells.
    pub pages_per_program: u32,
    /// The times of blocks that are used with one bit a cell; `None` if blocks cannot be used so.
    pub slc: Option<SlcSpec>,
    /// The suspension of programs and erases for reads of the host, which then precede all other
    /// operations; `None` if the chips cannot suspend.
    pub suspend: Option<SuspendSpec>,
}

/// The time from register to cell of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramTime {
    /// That of the fast pages of a block.
    pub fast: Nanos,
    /// That of every second page of a block: the upper pages of multi-level cells.
    pub slow: Nanos,
}

impl ProgramTime {
    /// Returns the time of cells whose pages all take as long.
    pub fn uniform(time: Nanos) -> ProgramTime {
        ProgramTime { fast: time, slow: time }
    }
}

/// The suspension of programs and erases for reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendSpec {
    /// The time from the suspension until the array can be read.
    pub suspend: Nanos,
    /// The time that it costs to continue the operation.
    pub resume: Nanos,
    /// The largest number of times that reads are admitted before a suspended operation ends.
    pub max_admissions: u32,
}

/// A block that is used with one bit a cell: it holds less and is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcSpec {
    /// The number of bits of a cell in other blocks: a block with one bit a cell holds this many
    /// times less.
    pub bits: u32,
    /// The time from cell to register.
    pub read: Nanos,
    /// The time from register to cell.
    pub program: Nanos,
}

/// The way the planes of a die share its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneMode {
    /// Each plane reads, programs and erases by itself.
    Independent,
    /// The die does one operation at a time. Programs of the same page on several of its planes are
    /// one operation if they are loaded before it begins.
    MultiPlane,
    /// The die does one operation on one plane at a time.
    Serial,
}

impl NandSpec {
    /// Returns the number of planes of the whole drive.
    pub fn planes(&self) -> u32 {
        self.channels * self.dies_per_channel * self.planes_per_die
    }
    /// Returns the number of physical pages of a plane.
    pub fn pages_per_plane(&self) -> u64 {
        u64::from(self.blocks_per_plane) * u64::from(self.pages_per_block)
    }
    /// Returns the number of physical pages of the whole drive.
    pub fn pages(&self) -> u64 {
        u64::from(self.planes()) * self.pages_per_plane()
    }
    /// Returns the raw size of the whole drive.
    pub fn raw(&self) -> Bytes {
        self.page * self.pages()
    }
}

pub(super) fn decode(top: &mut Section<'_>, values: &mut Values) -> Decoded<NandSpec> {
    let mut s = top.section("nand", "nand")?;
    let modes = ["independent", "multi-plane", "serial"];
    let channels = values.count(&mut s, "nand", "channels", 1..257)?;
    let dies_per_channel = values.count(&mut s, "nand", "dies_per_channel", 1..257)?;
    let planes_per_die = values.count(&mut s, "nand", "planes_per_die", 1..17)?;
    let plane_mode = match values.choice_or(&mut s, "nand", "plane_mode", &modes, 0)? {
        0 => PlaneMode::Independent,
        1 => PlaneMode::MultiPlane,
        _ => PlaneMode::Serial,
    };
    let blocks_per_plane = values.count(&mut s, "nand", "blocks_per_plane", 4..1_048_577)?;
    let pages_per_block = values.count(&mut s, "nand", "pages_per_block", 2..8193)?;
    let page = values.size(&mut s, "nand", "page")?;
    let read = values.time(&mut s, "nand", "read")?;
    let program = values.time(&mut s, "nand", "program")?;
    let slow = values
        .optional(&mut s, "program_slow", program, |values, s, key| values.time(s, "nand", key))?;
    let erase = values.time(&mut s, "nand", "erase")?;
    let poll =
        values.optional(&mut s, "poll", Nanos(1), |values, s, key| values.time(s, "nand", key))?;
    let count =
        |values: &mut Values, s: &mut Section<'_>, key| values.count(s, "nand", key, 1..257);
    let pages_per_program = values.optional(&mut s, "pages_per_program", 1, count)?;
    let seen = |busy: Nanos| Nanos(busy.0.next_multiple_of(poll.0.max(1)));
    let spec = NandSpec {
        channels,
        dies_per_channel,
        planes_per_die,
        plane_mode,
        blocks_per_plane,
        pages_per_block,
        page,
        read: seen(read),
        program: ProgramTime { fast: seen(program), slow: seen(slow) },
        erase: seen(erase),
        bus: values.rate(&mut s, "nand", "bus")?,
        cache_register: values.choice_or(&mut s, "nand", "cache_register", &["no", "yes"], 0)? == 1,
        pages_per_program,
        slc: decode_slc(&mut s, values, seen)?,
        suspend: decode_suspend(&mut s, values, seen)?,
    };
    check_programs(&s, &spec)?;
    if spec.page > Bytes::MIB || !spec.page.0.is_power_of_two() {
        let message = format!("a page cannot have {}", spec.page);
        let expected = "a power of two from 512B to 1MiB";
        let near = Bytes(spec.page.0.min(1 << 20).next_power_of_two());
        let e = s.error(Kind::OutOfRange, s.span_of("page"), message, expected);
        return Err(with_hint(e, format!("the nearest possible page is `{near}`")));
    }
    s.finish()?;
    Ok(spec)
}

/// Decodes `bits`, `slc_read` and `slc_program`, which must be all present or all absent.
fn decode_slc(
    s: &mut Section<'_>,
    values: &mut Values,
    seen: impl Fn(Nanos) -> Nanos,
) -> Decoded<Option<SlcSpec>> {
    s.may_have(&["bits", "slc_read", "slc_program"]);
    if !["bits", "slc_read", "slc_program"].iter().any(|key| s.has(key)) {
        return Ok(None);
    }
    Ok(Some(SlcSpec {
        bits: values.count(s, "nand", "bits", 2..6)?,
        read: seen(values.time(s, "nand", "slc_read")?),
        program: seen(values.time(s, "nand", "slc_program")?),
    }))
}

/// Decodes `suspend`, `resume` and `suspensions`, which must be all present or all absent.
fn decode_suspend(
    s: &mut Section<'_>,
    values: &mut Values,
    seen: impl Fn(Nanos) -> Nanos,
) -> Decoded<Option<SuspendSpec>> {
    s.may_have(&["suspend", "resume", "suspensions"]);
    if !["suspend", "resume", "suspensions"].iter().any(|key| s.has(key)) {
        return Ok(None);
    }
    Ok(Some(SuspendSpec {
        suspend: seen(values.time(s, "nand", "suspend")?),
        resume: values.time(s, "nand", "resume")?,
        max_admissions: values.count(s, "nand", "suspensions", 1..65_536)?,
    }))
}

/// Checks that a block consists of whole programs, also when it is used with one bit a cell.
fn check_programs(s: &Section<'_>, spec: &NandSpec) -> Decoded<()> {
    let impossible = |key, message: String, hint: &str| {
        Err(with_hint(s.error(Kind::Impossible, s.key_span_of(key), message, ""), hint))
    };
    let (block, program) = (spec.pages_per_block, spec.pages_per_program);
    if !block.is_multiple_of(program) {
        let message = format!("programs of {program} pages do not divide a block of {block}");
        return impossible("pages_per_program", message, "use a divisor of `pages_per_block`");
    }
    let Some(slc) = spec.slc else { return Ok(()) };
    if !program.is_multiple_of(slc.bits) {
        let message = format!("{} bits of a cell do not divide a program of {program}", slc.bits);
        let hint = "use a `pages_per_program` that is a multiple of the bits of a cell: one \
                    program writes all of them";
        return impossible("bits", message, hint);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Source;
    use crate::device::{DeviceKind, DeviceSpec};

    #[test]
    fn a_chip_is_ready_when_the_controller_looks() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        // The drive has reads of 50 us, programs of 250 us and erases of 700 us.
        let times = |poll: &str| {
            let poll = format!("[nand]\npoll = {{ value = \"{poll}\", assumed = \"a test\" }}\n");
            let text = text.replace("[nand]\n", &poll);
            let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
            let DeviceKind::Ssd(ssd) = spec.expect("a drive").kind else { panic!("not flash") };
            let nand = ssd.nand;
            [nand.read, nand.program.fast, nand.program.slow, nand.erase].map(|t| t.0 / 1000)
        };
        let own = times("1ns");
        assert_eq!(times("0s"), own, "no time at all");
        let reach = own.map(|t| t.next_multiple_of(80));
        assert!(reach != own);
        assert_eq!(times("80us"), reach);
        assert_eq!(times(&format!("{}us", own[0])), own.map(|t| t.next_multiple_of(own[0])));
        assert_eq!(times(&format!("{}ns", own[0] * 1000 - 1))[0], (own[0] * 2000 - 2) / 1000);
    }

    #[test]
    fn what_is_left_for_reads_is_said_as_a_whole() {
        let bundled = crate::catalog::DEVICES.iter().find(|d| d.name == "reference-28");
        let text = bundled.expect("in the catalogue").text;
        let suspend = |keys: &[(&str, &str)]| {
            let key = |(key, value): &(&str, &str)| {
                format!("{key} = {{ value = {value}, assumed = \"a test\" }}\n")
            };
            let keys: String = keys.iter().map(key).collect();
            let text = text.replace("[nand]\n", &format!("[nand]\n{keys}"));
            let spec = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
            match spec.map_err(|e| e.to_string())?.kind {
                DeviceKind::Ssd(ssd) => Ok(ssd.nand.suspend),
                _ => Err("not an SSD".to_owned()),
            }
        };
        assert_eq!(suspend(&[]), Ok(None));
        let all = [("suspend", "\"20us\""), ("resume", "\"5us\""), ("suspensions", "4")];
        let spec = SuspendSpec { suspend: Nanos(20_000), resume: Nanos(5_000), max_admissions: 4 };
        assert_eq!(suspend(&all), Ok(Some(spec)));
        for without in 0..3 {
            let mut some = all.to_vec();
            let (key, _) = some.remove(without);
            let error = suspend(&some).expect_err("a part of it");
            assert!(error.contains(&format!("`nand.{key}`")) || error.contains(key), "{error}");
        }
        let optane = crate::catalog::DEVICES.iter().find(|d| d.name == "optane-p4800x");
        let keys: String = all
            .iter()
            .map(|(key, value)| format!("{key} = {{ value = {value}, assumed = \"a test\" }}\n"))
            .collect();
        let text = optane.expect("in the catalogue").text;
        let text = text.replace("[nand]\n", &format!("[nand]\n{keys}"));
        let in_place = DeviceSpec::parse(Source { file: "drive.toml", text: &text });
        let in_place = in_place.map(|_| ()).expect_err("in place").to_string();
        assert!(in_place.contains("does not suspend writes for reads"), "{in_place}");
        let never = suspend(&[all[0], all[1], ("suspensions", "0")]).expect_err("never");
        assert!(never.contains("suspensions"), "{never}");
    }
}
