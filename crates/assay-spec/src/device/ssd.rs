//! The declaration of a solid-state drive.

use super::Values;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::{Bytes, Nanos};

/// A solid-state drive: flash, translation layer, buffer, read-ahead.
#[derive(Clone, Copy, Debug)]
pub struct SsdSpec {
    /// The chips.
    pub nand: NandSpec,
    /// How logical pages are mapped to physical ones.
    pub ftl: FtlSpec,
    /// Where written data waits.
    pub buffer: BufferSpec,
    /// What is fetched before it is asked for.
    pub readahead: Option<ReadAheadSpec>,
}

/// Flash chips and their bus.
#[derive(Clone, Copy, Debug)]
pub struct NandSpec {
    /// Buses that work in parallel.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes of a die; each has a page register and works on its own.
    pub planes_per_die: u32,
    /// Erase blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Data bytes of a page.
    pub page: Bytes,
    /// Cell to register (tR).
    pub read: Nanos,
    /// Register to cell (tPROG).
    pub program: Nanos,
    /// Block erase (tBERS).
    pub erase: Nanos,
    /// Register to controller and back: bytes a second of a channel.
    pub bus: Bytes,
}

impl NandSpec {
    /// Planes of the whole drive.
    pub fn planes(&self) -> u32 {
        self.channels * self.dies_per_channel * self.planes_per_die
    }
    /// Physical pages of the whole drive.
    pub fn pages(&self) -> u64 {
        u64::from(self.planes())
            * u64::from(self.blocks_per_plane)
            * u64::from(self.pages_per_block)
    }
    /// Raw size of the whole drive.
    pub fn raw(&self) -> Bytes {
        self.page * self.pages()
    }
}

/// The flash translation layer.
#[derive(Clone, Copy, Debug)]
pub enum FtlSpec {
    /// Every page mapped on its own; greedy garbage collection.
    Page {
        /// Free blocks a plane keeps before it collects.
        reserve_blocks: u32,
    },
    /// Superblocks striped over all planes, with log superblocks for what is not sequential.
    Hybrid {
        /// Log superblocks.
        log_superblocks: u32,
        /// Smallest unit the log maps; smaller writes read the rest of the unit first.
        unit: Bytes,
    },
}

/// Where written data waits for the flash.
#[derive(Clone, Copy, Debug)]
pub enum BufferSpec {
    /// The planes' page registers, nothing else.
    Registers,
    /// DRAM that acknowledges at once and writes back.
    Dram {
        /// Bytes of user data it holds.
        size: Bytes,
    },
}

/// Sequential read-ahead.
#[derive(Clone, Copy, Debug)]
pub struct ReadAheadSpec {
    /// Sequential requests before it starts.
    pub trigger: u32,
    /// How far it reads ahead.
    pub window: Bytes,
}

pub(super) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    capacity: Bytes,
) -> Decoded<SsdSpec> {
    let nand = decode_nand(top, values)?;
    let mut ftl = top.section("ftl", "ftl")?;
    let ftl_span = ftl.span();
    let mapping = values.choice(&mut ftl, "ftl", "mapping", &["page", "hybrid"])?;
    let ftl_spec = match mapping {
        0 => FtlSpec::Page {
            reserve_blocks: values.count(&mut ftl, "ftl", "reserve_blocks", 2..4097)?,
        },
        _ => FtlSpec::Hybrid {
            log_superblocks: values.count(&mut ftl, "ftl", "log_superblocks", 1..4097)?,
            unit: values.size(&mut ftl, "ftl", "unit")?,
        },
    };
    ftl.finish()?;
    let mut buffer = top.section("buffer", "buffer")?;
    let buffer_spec = match values.choice(&mut buffer, "buffer", "kind", &["registers", "dram"])? {
        0 => BufferSpec::Registers,
        _ => BufferSpec::Dram { size: values.size(&mut buffer, "buffer", "size")? },
    };
    buffer.finish()?;
    let readahead = match top.optional_section("readahead", "readahead")? {
        None => None,
        Some(mut s) => {
            let spec = ReadAheadSpec {
                trigger: values.count(&mut s, "readahead", "trigger", 1..1025)?,
                window: values.size(&mut s, "readahead", "window")?,
            };
            s.finish()?;
            Some(spec)
        }
    };
    let spec = SsdSpec { nand, ftl: ftl_spec, buffer: buffer_spec, readahead };
    check(top, &spec, capacity, ftl_span)?;
    Ok(spec)
}

fn decode_nand(top: &mut Section<'_>, values: &mut Values) -> Decoded<NandSpec> {
    let mut s = top.section("nand", "nand")?;
    let spec = NandSpec {
        channels: values.count(&mut s, "nand", "channels", 1..257)?,
        dies_per_channel: values.count(&mut s, "nand", "dies_per_channel", 1..257)?,
        planes_per_die: values.count(&mut s, "nand", "planes_per_die", 1..17)?,
        blocks_per_plane: values.count(&mut s, "nand", "blocks_per_plane", 4..1_048_577)?,
        pages_per_block: values.count(&mut s, "nand", "pages_per_block", 2..8193)?,
        page: values.size(&mut s, "nand", "page")?,
        read: values.time(&mut s, "nand", "read")?,
        program: values.time(&mut s, "nand", "program")?,
        erase: values.time(&mut s, "nand", "erase")?,
        bus: values.rate(&mut s, "nand", "bus")?,
    };
    if spec.page < Bytes(512) || spec.page > Bytes::MIB || !spec.page.0.is_power_of_two() {
        return Err(s.error(
            Kind::OutOfRange,
            s.span_of("page"),
            format!("a page of {} cannot be", spec.page),
            "a power of two from 512B to 1MiB",
        ));
    }
    s.finish()?;
    Ok(spec)
}

/// What is fine alone and impossible together.
fn check(
    top: &Section<'_>,
    spec: &SsdSpec,
    capacity: Bytes,
    ftl_span: std::ops::Range<usize>,
) -> Decoded<()> {
    let nand = &spec.nand;
    let impossible = |span, message: String, hint: String| {
        Err(with_hint(top.error(Kind::Impossible, span, message, ""), hint))
    };
    if !capacity.is_multiple_of(nand.page) {
        return impossible(
            top.span_of("capacity"),
            format!("capacity {capacity} is not a whole number of pages of {}", nand.page),
            "round the capacity down to a multiple of the page".into(),
        );
    }
    if nand.pages() > u64::from(u32::MAX) / 2 {
        return impossible(
            top.span_of("capacity"),
            format!("{} flash pages are more than this model addresses", nand.pages()),
            "use larger pages or fewer blocks; the limit is 2^31 pages".into(),
        );
    }
    let superblock = nand.page * u64::from(nand.planes()) * u64::from(nand.pages_per_block);
    let overhead = match spec.ftl {
        // One open block a plane for the host and one for collected pages, beside the reserve.
        FtlSpec::Page { reserve_blocks } => superblock * u64::from(reserve_blocks + 2),
        FtlSpec::Hybrid { log_superblocks, .. } => superblock * u64::from(log_superblocks + 2),
    };
    if nand.raw() < capacity + overhead {
        return impossible(
            ftl_span,
            format!(
                "{} of flash cannot hold {capacity} and the {overhead} this layer works with",
                nand.raw()
            ),
            "raise `nand.blocks_per_plane`, or lower `capacity` or what the layer reserves".into(),
        );
    }
    if let FtlSpec::Hybrid { unit, .. } = spec.ftl
        && (!unit.is_multiple_of(nand.page) || !superblock.is_multiple_of(unit))
    {
        return impossible(
            ftl_span,
            format!("the log's unit of {unit} does not divide a superblock of {superblock}"),
            format!("use a multiple of the page ({}) that divides it", nand.page),
        );
    }
    Ok(())
}
