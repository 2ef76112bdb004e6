//! Dimensions of numbers: time, size, rate.

/// The powers of time and bytes in the unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub(super) time: i32,
    pub(super) bytes: i32,
}

impl Dimension {
    /// The dimension of counts, shares, ratios, and numbers written without a unit.
    pub const PLAIN: Dimension = Dimension { time: 0, bytes: 0 };
    /// The dimension of ns, us, ms, s.
    pub const TIME: Dimension = Dimension { time: 1, bytes: 0 };
    /// The dimension of B, KiB, MB …
    pub const SIZE: Dimension = Dimension { time: 0, bytes: 1 };
    /// The dimension of MB/s …
    pub const RATE: Dimension = Dimension { time: -1, bytes: 1 };
    /// The dimension of IOPS.
    pub const IOPS: Dimension = Dimension { time: -1, bytes: 0 };

    /// Returns the dimension of a product, or of a quotient if `sign` is -1.
    pub(super) fn times(self, other: Dimension, sign: i32) -> Dimension {
        let sum = |a: i32, b: i32| a.saturating_add(b.saturating_mul(sign));
        Dimension { time: sum(self.time, other.time), bytes: sum(self.bytes, other.bytes) }
    }

    /// Returns the power of ns in the base unit: times count in ns, but rates count per second.
    pub(super) fn in_ns(self) -> i32 {
        self.time.max(0)
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Dimension::PLAIN => "a plain number",
            Dimension::TIME => "a time",
            Dimension::SIZE => "a size",
            Dimension::RATE => "a transfer rate",
            Dimension::IOPS => "requests a second",
            _ => "a product of units",
        }
    }

    /// Returns the unit that a number of this dimension usually has.
    pub(super) fn usual_unit(self) -> Option<&'static str> {
        match self {
            Dimension::TIME => Some("ms"),
            Dimension::SIZE => Some("KiB"),
            Dimension::RATE => Some("MB/s"),
            Dimension::IOPS => Some("IOPS"),
            _ => None,
        }
    }
}
