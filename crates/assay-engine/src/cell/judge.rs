//! Warnings that a reader needs to trust the numbers of a repeat.

use super::repeat::Repeat;
use crate::load_loop::PhaseEnd;
use assay_spec::Nanos;
use assay_spec::experiment::Arrival;
use assay_spec::record::OpRecord;

/// The relative change, due to requests cut off in flight, that is worth a warning.
const NOTEWORTHY: f64 = 0.02;

impl Repeat<'_> {
    /// Returns the mean latency in nanoseconds that follows, by Little's law, from the throughput
    /// of a closed loop without think time.
    fn by_little(&self, done: u64, elapsed: Nanos) -> Option<f64> {
        match self.workload.arrival {
            Arrival::Closed { jobs, queue_depth, think: Nanos::ZERO } if done > 0 => {
                let slots = u64::from(jobs) * u64::from(queue_depth);
                Some(elapsed.0 as f64 * slots as f64 / done as f64)
            }
            _ => None,
        }
    }

    /// Returns a warning about the requests that the end of the phase cut off, if they matter: slow
    /// ones are cut off more often than fast ones.
    fn cut_off(&self, ops: &[OpRecord], end: &PhaseEnd) -> Option<String> {
        let done: u64 = ops.iter().map(|o| o.requests).sum();
        let text = format!(
            "{} requests were still in flight when the phase ended; the latencies do not include \
             them",
            end.unfinished
        );
        let sum: f64 = ops.iter().filter_map(|o| Some(o.latency.mean()? * o.requests as f64)).sum();
        // Failed requests took time, too.
        let all_succeeded = ops.iter().all(|o| o.errors == 0);
        let by_little = self.by_little(done, end.elapsed).filter(|_| all_succeeded);
        match by_little.filter(|_| end.unfinished > 0) {
            Some(mean) => {
                let more = mean * done as f64 / sum - 1.0;
                (more > NOTEWORTHY).then(|| {
                    format!(
                        "{text}. With them the mean latency would be {:.0} % higher (by Little's \
                         law)",
                        100.0 * more
                    )
                })
            }
            None => (end.unfinished as f64 > NOTEWORTHY * done as f64).then_some(text),
        }
    }

    /// Adds the warnings that a reader needs to trust the numbers.
    pub(super) fn judge(&self, ops: &[OpRecord], end: &PhaseEnd, warnings: &mut Vec<String>) {
        let errors: u64 = ops.iter().map(|o| o.errors).sum();
        if errors > 0 {
            warnings.push(format!("{errors} requests failed; the latencies do not include them"));
        }
        let done: u64 = ops.iter().map(|o| o.requests).sum();
        if done < 100 {
            warnings.push(format!("only {done} requests completed in {}", end.elapsed));
        }
        warnings.extend(self.cut_off(ops, end));
    }
}
