//! Preconditions a target: runs the steps that come before the workload itself.

use super::repeat::{Repeat, tags_per_process};
use crate::error::Result;
use crate::generate::Generator;
use crate::load_loop::{Forget, run_phase};
use crate::stop::{interrupted, is_interrupted};
use crate::target::Target;
use assay_spec::experiment::{Arrival, Step, StreamSpec};
use assay_spec::{Nanos, seed};

/// The longest sleep without a look at the interrupt flag: if another thread took the signal, it
/// does not wake this one.
const STRETCH: Nanos = Nanos::from_secs(1);

impl Repeat<'_> {
    /// Runs the steps of `precondition` on `target`, and calls `before_writes` before the first
    /// that writes. Returns `true` if one of them did.
    pub(super) fn prepare<T: Target>(
        &self,
        target: &mut T,
        before_writes: &dyn Fn() -> Result<()>,
        warnings: &mut Vec<String>,
    ) -> Result<bool> {
        let (mut failed, mut wrote) = (0, false);
        for (index, step) in self.workload.phases.precondition.iter().enumerate() {
            if !wrote && step.stream().is_some_and(StreamSpec::writes) {
                before_writes()?;
                wrote = true;
            }
            match step {
                Step::Idle(time) => idle(target, self.limit.unwrap_or(*time).min(*time))?,
                Step::Requests { .. } => failed += self.prepare_with(target, index, step)?,
            }
        }
        if failed > 0 {
            warnings.push(format!("{failed} requests failed during preconditioning"));
        }
        Ok(wrote)
    }

    /// Runs step `index`, which consists of requests; returns how many failed.
    fn prepare_with<T: Target>(&self, target: &mut T, index: usize, step: &Step) -> Result<u64> {
        let Step::Requests { stream, amount, think, .. } = step else { return Ok(0) };
        // The seed of the first step has no index, so that workloads with one step give the same
        // results as in runs before there could be several.
        let seed = match index {
            0 => seed::derive(self.seed, &["precondition"]),
            n => seed::derive(self.seed, &["precondition", &n.to_string()]),
        };
        let stream = std::slice::from_ref(stream);
        let mut generator = Generator::new(stream, target.capacity(), seed);
        let mut forget = Forget::default();
        let queue_depth = step.depth(self.workload.slots());
        let arrival = Arrival::Closed { jobs: 1, queue_depth, think: *think };
        target.set_processes(tags_per_process(arrival));
        run_phase(target, &mut generator, arrival, self.end(*amount), seed, &mut forget)?;
        Ok(forget.errors)
    }
}

/// Lets `target` be idle for `time`. Nothing may be in flight.
fn idle<T: Target>(target: &mut T, time: Nanos) -> Result<()> {
    let mut now = target.now();
    let until = now + time;
    let mut completions = Vec::new();
    while now < until {
        if is_interrupted() {
            return Err(interrupted());
        }
        now = target.poll(until.min(now + STRETCH), &mut completions);
    }
    assert!(completions.is_empty(), "nothing was in flight");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::null::NullTarget;
    use assay_spec::Bytes;

    #[test]
    fn idle_ends_when_its_time_is_over() {
        let mut target = NullTarget::new(Bytes::GIB);
        let before = target.now();
        idle(&mut target, Nanos::from_millis(20)).expect("nobody interrupts");
        assert!(target.now() - before >= Nanos::from_millis(20));
    }
}
