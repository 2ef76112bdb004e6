//! The reasons why a metric of a cell has no value.

/// Why a metric has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// Neither known nor told by the target.
    #[error("no such metric `{0}`: this run did not measure it")]
    NoSuchMetric(String),
    /// The cell was skipped; the reason.
    #[error("not measured: {0}")]
    Skipped(String),
    /// Fewer of the first requests were kept.
    #[error(
        "{kept} of the first requests were kept, and {wanted} are needed; `first` in the workload \
         says how many are"
    )]
    TooFewKept {
        /// How many were.
        kept: usize,
        /// How many must be.
        wanted: usize,
    },
    /// The latencies that were kept do not come back.
    #[error("no period: the latencies come back no more than by chance")]
    NoPeriod,
    /// The cell has no requests of this kind.
    #[error("no {0} requests completed")]
    NoRequests(&'static str),
}
