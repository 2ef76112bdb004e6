//! Streams: the addresses, sizes and directions of requests.

use crate::decode::{Decoded, Section, quantity, with_hint};
use crate::diagnostic::{Diagnostic, Kind};
use crate::units::{Bytes, SIZE_EXPECTED};

/// A stream of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSpec {
    /// The share of reads, 0 to 1.
    pub read_share: f64,
    /// The request sizes with their weights; one entry for a fixed size.
    pub sizes: Vec<(Bytes, f64)>,
    /// The rule that chooses the address of a request.
    pub address: Address,
    /// The part of the device in which the stream stays.
    pub span: Span,
    /// The number of requests after which a flush comes; 0 for no flushes.
    pub flush_every: u32,
    /// Whether writes complete only when their data survives a power cut (force unit access).
    pub fua: bool,
}

impl StreamSpec {
    /// Returns `true` if the stream is not all reads.
    pub fn writes(&self) -> bool {
        self.read_share < 1.0
    }

    /// Returns the size of the largest request.
    pub fn max_size(&self) -> Bytes {
        self.sizes.iter().map(|(size, _)| *size).max().expect("a stream has a size")
    }
}

/// A part of a device: from `start` up to `end`, or up to the end of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: Bytes,
    /// The first byte after the part; `None` for the end of the device.
    pub end: Option<Bytes>,
    /// The start and end in per cent of the device. If it is `Some`, `start` and `end` have no
    /// meaning.
    pub percent: Option<(u8, u8)>,
}

impl Span {
    /// The whole device.
    pub const WHOLE: Span = Span { start: Bytes::ZERO, end: None, percent: None };

    /// Returns the span in bytes, on a device of `capacity`.
    pub fn on(self, capacity: Bytes) -> Span {
        let Some((start, end)) = self.percent else { return self };
        let at = |percent: u8| {
            let byte = u128::from(capacity.0) * u128::from(percent) / 100;
            Bytes(u64::try_from(byte).expect("no more than the capacity") / 4096 * 4096)
        };
        Span { start: at(start), end: Some(at(end)), percent: None }
    }
}

/// The rule that chooses addresses within a span. All jobs of a workload draw from the same stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Address {
    /// One after the other, and again from the start after the end.
    Sequential,
    /// Uniform, aligned to the request size.
    Random,
    /// Sequential, with a share of jumps to uniform addresses, from which the stream goes on.
    Mixed {
        /// The share of jumps, 0 to 1.
        random_share: f64,
    },
    /// Starts that are `step` apart, and again from the start after the end.
    Stride {
        /// The distance between the starts of consecutive requests.
        step: Bytes,
    },
    /// Zipf over units of the request size: the k-th most popular unit has weight 1/k^theta. A
    /// fixed permutation scatters the popular units over the span.
    Zipf {
        /// The skew, above 0 and not 1.
        theta: f64,
    },
    /// Two-level: a share of the requests goes to a share of the space, at its start.
    HotCold {
        /// The share of the space that is hot, 0 to 1.
        hot_space: f64,
        /// The share of the requests that go to the hot space, 0 to 1.
        hot_requests: f64,
    },
}

const PATTERNS: &[&str] = &["sequential", "random", "mixed", "stride", "zipf", "hot-cold"];

/// Takes the keys of a stream out of `s`.
pub(super) fn decode(s: &mut Section<'_>) -> Decoded<StreamSpec> {
    let read_share = s.number("read_share", 0.0, 1.0, None)?;
    let sizes = decode_sizes(s)?;
    let pattern = s.choice("pattern", PATTERNS)?;
    let span = decode_span(s)?;
    let address = decode_address(s, pattern).map_err(|e| needed_by(PATTERNS[pattern], e))?;
    let flush_every = s.count("flush_every", 0..1_000_001, Some(0))?;
    let fua = s.boolean("fua", false)?;
    let stream = StreamSpec { read_share, sizes, address, span, flush_every, fua };
    check(s, &stream)?;
    Ok(stream)
}

/// Takes the keys that only the pattern with this index has.
fn decode_address(s: &mut Section<'_>, pattern: usize) -> Decoded<Address> {
    s.goes_with(&["random_share"], "pattern `mixed`");
    s.goes_with(&["step"], "pattern `stride`");
    s.goes_with(&["theta"], "pattern `zipf`");
    s.goes_with(&["hot_space", "hot_requests"], "pattern `hot-cold`");
    Ok(match pattern {
        0 => Address::Sequential,
        1 => Address::Random,
        2 => Address::Mixed { random_share: s.number("random_share", 0.0, 1.0, None)? },
        3 => Address::Stride { step: s.size("step")? },
        4 => Address::Zipf { theta: s.number("theta", 0.01, 5.0, None)? },
        _ => Address::HotCold {
            hot_space: s.number("hot_space", 0.0001, 0.9999, None)?,
            hot_requests: s.number("hot_requests", 0.0, 1.0, None)?,
        },
    })
}

/// Adds to a diagnostic of a missing key which pattern needs the key.
fn needed_by(pattern: &str, e: Box<Diagnostic>) -> Box<Diagnostic> {
    if e.kind != Kind::MissingKey {
        return e;
    }
    let hint = format!("pattern `{pattern}` needs it; {}", e.hint);
    with_hint(e, hint)
}

fn decode_sizes(s: &mut Section<'_>) -> Decoded<Vec<(Bytes, f64)>> {
    if !s.has("sizes") {
        s.may_have(&["sizes"]);
        let size_span = s.span_of("size");
        let size = s.size("size")?;
        check_size(s, size_span, size)?;
        return Ok(vec![(size, 1.0)]);
    }
    if s.has("size") {
        let message = "`size` and `sizes` exclude each other";
        let e = s.error(Kind::Impossible, s.key_span_of("size"), message, "");
        return Err(with_hint(e, "remove one of them"));
    }
    let span = s.span_of("sizes");
    let source = s.source();
    let mut table = s.section("sizes", "sizes")?;
    let mut sizes = Vec::new();
    for key in table.free_keys() {
        let at = table.key_span_of(&key);
        let size: Bytes = quantity(source, "sizes", &key, at.clone(), SIZE_EXPECTED)?;
        check_size(s, at, size)?;
        let at = table.span_of(&key);
        let weight = table.take_free(&key).and_then(|v| match v.get_ref() {
            toml::de::DeValue::Integer(i) => i.as_str().parse::<f64>().ok(),
            toml::de::DeValue::Float(f) => f.as_str().parse().ok(),
            _ => None,
        });
        match weight {
            // Weights outside this range are mistakes, and the sum of the weights must be finite.
            Some(w) if (1e-9..=1e9).contains(&w) => sizes.push((size, w)),
            _ => {
                let message = format!("the weight of {key} is not a number from 1e-9 to 1e9");
                let expected = "a weight, e.g. `\"8KiB\" = 30`";
                let e = s.error(Kind::OutOfRange, at, message, expected);
                return Err(with_hint(
                    e,
                    "leave out sizes that shall not occur, or give a weight in the range",
                ));
            }
        }
    }
    if sizes.is_empty() {
        let e = s.error(Kind::MissingKey, span, "`sizes` is empty", "at least one size");
        return Err(with_hint(e, "write e.g. `sizes = { \"4KiB\" = 70, \"8KiB\" = 30 }`"));
    }
    Ok(sizes)
}

fn check_size(s: &Section<'_>, span: std::ops::Range<usize>, size: Bytes) -> Decoded<()> {
    if size.0 >= 512 && size.is_multiple_of(Bytes(512)) && size <= Bytes::MIB * 64 {
        return Ok(());
    }
    let message = format!("a request cannot have {size}");
    let e = s.error(Kind::OutOfRange, span, message, "a multiple of 512B up to 64MiB");
    let whole = Bytes(((size.0.min(64 << 20) + 256) / 512).max(1) * 512);
    Err(with_hint(
        e,
        format!("use e.g. `{whole}`, the nearest possible size: drives have sectors of 512B"),
    ))
}

/// Takes `range = "1GiB..30GiB"`, `range = "1024MiB"` (from the start) or `range = "49%..51%"`.
/// Without the key it is the whole device.
fn decode_span(s: &mut Section<'_>) -> Decoded<Span> {
    let Some((text, at)) = s.optional_string("range")? else { return Ok(Span::WHOLE) };
    let source = s.source();
    if let Some((start, end)) = text.split_once("..")
        && [start, end].iter().any(|t| t.ends_with('%'))
    {
        let percent = |t: &str| t.strip_suffix('%')?.trim().parse::<u8>().ok();
        let both = percent(start).zip(percent(end)).filter(|(a, b)| a < b && *b <= 100);
        let Some(both) = both else {
            let message = format!("`{text}` is not a part of a target");
            let e = s.error(Kind::OutOfRange, at, message, "two percentages, e.g. `49%..51%`");
            return Err(with_hint(e, "whole numbers from 0 to 100, the smaller first"));
        };
        return Ok(Span { percent: Some(both), ..Span::WHOLE });
    }
    let size = |t: &str| quantity::<Bytes>(source, "range", t, at.clone(), SIZE_EXPECTED);
    let span = match text.split_once("..") {
        None => Span { end: Some(size(&text)?), ..Span::WHOLE },
        Some((start, "")) => Span { start: size(start)?, ..Span::WHOLE },
        Some((start, end)) => Span { start: size(start)?, end: Some(size(end)?), ..Span::WHOLE },
    };
    if span.end.is_some_and(|end| end <= span.start) {
        let expected = "a start below its end, e.g. `1GiB..30GiB`";
        let e = s.error(Kind::OutOfRange, at, format!("`{text}` is empty"), expected);
        return Err(with_hint(e, empty_range(span)));
    }
    Ok(span)
}

/// Returns a hint for a range that does not end after its start.
fn empty_range(span: Span) -> String {
    match span.end {
        Some(end) if end < span.start => {
            format!("write START before END: `{end}..{}`", span.start)
        }
        _ => "leave `range` out for the whole target".to_owned(),
    }
}

fn check(s: &Section<'_>, stream: &StreamSpec) -> Decoded<()> {
    if let Address::Stride { step } = stream.address
        && (step < stream.max_size() || !step.is_multiple_of(Bytes(512)))
    {
        let e = s.error(
            Kind::OutOfRange,
            s.span_of("step"),
            format!("a step of {step} is shorter than requests of {}", stream.max_size()),
            "a multiple of 512B, at least the request size",
        );
        return Err(with_hint(e, "use a larger `step`, or a smaller `size`"));
    }
    let length = stream.span.end.map(|end| end - stream.span.start);
    if length.is_some_and(|l| l < stream.max_size()) {
        let message = format!("the range is smaller than a request of {}", stream.max_size());
        let expected = "room for at least one request";
        let e = s.error(Kind::Impossible, s.span_of("range"), message, expected);
        return Err(with_hint(e, "make it longer, or leave `range` out for the whole target"));
    }
    if stream.fua && stream.read_share >= 1.0 {
        let message = "`fua` forces writes to the medium, but with `read_share = 1` there are no \
                       writes";
        let e = s.error(Kind::Impossible, s.key_span_of("fua"), message, "");
        return Err(with_hint(e, "leave `fua` out, or lower `read_share`"));
    }
    Ok(())
}
