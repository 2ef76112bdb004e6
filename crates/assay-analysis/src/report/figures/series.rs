//! What a panel of a figure shows: workloads and a quantity.

/// A workload of an experiment, with a name for people.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    /// The experiment; empty for any.
    pub experiment: &'static str,
    /// The workload.
    pub workload: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The index of the colour of its line.
    pub tint: usize,
    /// The index of the dash of its line.
    pub dash: usize,
}

/// Returns a series with its own colour.
pub const fn series(
    experiment: &'static str,
    workload: &'static str,
    label: &'static str,
    tint: usize,
) -> Series {
    Series { experiment, workload, label, tint, dash: if tint == 0 { 0 } else { (tint - 1) % 4 } }
}

/// A metric in the unit of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// The metric.
    pub metric: &'static str,
    /// The size of the axis's unit in base units.
    pub per: f64,
    /// The unit of the axis.
    pub unit: &'static str,
}

impl Quantity {
    /// The bandwidth in MB/s.
    pub const BANDWIDTH: Quantity = Quantity { metric: "bandwidth", per: 1e6, unit: "MB/s" };
}
