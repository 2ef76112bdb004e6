//! The reasons why a metric of a cell has no value.

/// The reason why a metric has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// The name is neither a known metric nor reported by the target.
    #[error("no such metric `{0}`: this run did not measure it")]
    NoSuchMetric(String),
    /// The cell was skipped, for this reason.
    #[error("not measured: {0}")]
    Skipped(String),
    /// Too few of the first requests were kept.
    #[error(
        "{kept} of the first requests were kept, but {wanted} are needed; `first` in the workload \
         sets how many are kept"
    )]
    TooFewKept {
        /// The number of requests that were kept.
        kept: usize,
        /// The number of requests that are needed.
        wanted: usize,
    },
    /// The latencies that were kept have no period.
    #[error("no period: high latencies do not come back more often than by chance")]
    NoPeriod,
    /// The cell has no requests of this kind.
    #[error("no {0} requests completed")]
    NoRequests(&'static str),
}
