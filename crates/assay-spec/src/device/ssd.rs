//! The declaration of a solid-state drive.

use super::Values;
use super::ftl::FtlSpec;
use super::nand::NandSpec;
use crate::decode::{Decoded, Section, with_hint};
use crate::diagnostic::Kind;
use crate::units::Bytes;

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

/// Where written data waits for the flash.
#[derive(Clone, Copy, Debug)]
pub enum BufferSpec {
    /// The planes' page registers, nothing else.
    Registers,
    /// DRAM that acknowledges at once and writes back.
    Dram {
        /// Bytes of user data it holds.
        size: Bytes,
        /// Whether a write is answered from it; switched off, a write is answered when it is in the
        /// cells.
        write_back: bool,
        /// What a read of a page in it gets.
        reads: ReadBuffered,
    },
}

/// What a read gets of a page that is still in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBuffered {
    /// The page, from the buffer.
    FromBuffer,
    /// The page from flash, once it has been written there: the buffer serves writes only.
    AfterWriteBack,
}

/// Which pages are read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Whatever comes next by its number, wherever it is.
    Logical,
    /// What comes next on flash: nothing is read ahead unless the whole window lies there in one
    /// piece, page after page over the planes.
    Contiguous,
}

/// Sequential read-ahead.
#[derive(Clone, Copy, Debug)]
pub struct ReadAheadSpec {
    /// Sequential requests before it starts.
    pub trigger: u32,
    /// How far it reads ahead.
    pub window: Bytes,
    /// Which pages.
    pub reach: Reach,
}

pub(super) fn decode(
    top: &mut Section<'_>,
    values: &mut Values,
    capacity: Bytes,
) -> Decoded<SsdSpec> {
    let nand = super::nand::decode(top, values)?;
    let ftl = super::ftl::decode(top, values)?;
    let mut buffer = top.section("buffer", "buffer")?;
    let buffer_spec = match values.choice(&mut buffer, "buffer", "kind", &["registers", "dram"])? {
        0 => {
            buffer.goes_with(&["size", "reads"], "kind `dram`");
            BufferSpec::Registers
        }
        _ => {
            let size = values.size(&mut buffer, "buffer", "size")?;
            let words = ["from-buffer", "after-write-back"];
            let reads = match values.choice_or(&mut buffer, "buffer", "reads", &words, 0)? {
                0 => ReadBuffered::FromBuffer,
                _ => ReadBuffered::AfterWriteBack,
            };
            BufferSpec::Dram { size, write_back: true, reads }
        }
    };
    buffer.finish()?;
    let readahead = match top.optional_section("readahead", "readahead")? {
        None => None,
        Some(mut s) => {
            let trigger = values.count(&mut s, "readahead", "trigger", 1..1025)?;
            let window = values.size(&mut s, "readahead", "window")?;
            let words = ["logical", "contiguous"];
            let reach = match values.choice_or(&mut s, "readahead", "reach", &words, 0)? {
                0 => Reach::Logical,
                _ => Reach::Contiguous,
            };
            let spec = ReadAheadSpec { trigger, window, reach };
            s.finish()?;
            Some(spec)
        }
    };
    let spec = SsdSpec { nand, ftl, buffer: buffer_spec, readahead };
    check(top, &spec, capacity)?;
    Ok(spec)
}

/// What is fine alone and impossible together.
fn check(top: &Section<'_>, spec: &SsdSpec, capacity: Bytes) -> Decoded<()> {
    let nand = &spec.nand;
    let ftl_span = top.span_of("ftl");
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
    check_spare(top, spec, capacity)?;
    if let FtlSpec::Hybrid(hybrid) = spec.ftl {
        let width = hybrid.width.unwrap_or(nand.planes());
        let superblock = nand.page * u64::from(width) * u64::from(nand.pages_per_block);
        if !nand.planes().is_multiple_of(width) {
            return impossible(
                ftl_span,
                format!("superblocks of {width} planes do not divide {} planes", nand.planes()),
                "use a divisor of the number of planes".into(),
            );
        }
        let unit = hybrid.unit.max(nand.page);
        if !unit.is_multiple_of(nand.page) || !superblock.is_multiple_of(unit) {
            return impossible(
                ftl_span,
                format!("the log's unit of {unit} does not divide a superblock of {superblock}"),
                format!("use a multiple of the page ({}) that divides it", nand.page),
            );
        }
    }
    Ok(())
}

/// Whether there is flash enough beside the capacity for what the layer works with.
fn check_spare(top: &Section<'_>, spec: &SsdSpec, capacity: Bytes) -> Decoded<()> {
    let nand = &spec.nand;
    let stripe = nand.page * u64::from(nand.planes()) * u64::from(nand.pages_per_block);
    let overhead = match spec.ftl {
        // Two open blocks a plane and one that the collector can always move into, or the reserve
        // if that is more; and a page in each plane that makes collecting worth it.
        FtlSpec::Page(map) => {
            let blocks = map.collection.reserve_blocks.max(3);
            let saved = map.save_map_every.map_or(Bytes::ZERO, |_| {
                // Four bytes a page of the host's.
                let entries = nand.page.0 / 4;
                nand.page * (capacity.0 / nand.page.0).div_ceil(entries)
            });
            stripe * u64::from(blocks) + nand.page * u64::from(nand.planes()) + saved
        }
        // Logs may all belong to one group of planes; a stream and a merge take one more each, and
        // the last superblock of each group may be half empty.
        FtlSpec::Hybrid(hybrid) => {
            stripe * u64::from(hybrid.log_superblocks * hybrid.blocks_per_log + 3)
        }
    };
    if nand.raw() >= capacity + overhead {
        return Ok(());
    }
    let message = format!(
        "{} of flash cannot hold {capacity} and the {overhead} this layer works with",
        nand.raw()
    );
    let e = top.error(Kind::Impossible, top.span_of("ftl"), message, "");
    let hint = "raise `nand.blocks_per_plane`, or lower `capacity` or what the layer reserves";
    Err(with_hint(e, hint))
}
