//! The measuring loop: runs one phase of a workload on a target.
//!
//! It is generic over target and sink, so that it makes no virtual calls, and a null target shows
//! the cost of the tool. It issues a request whenever a slot is free, by the target's clock. If a
//! phase ends by time, requests that have completed by then count; those in flight are waited for,
//! and do not count.

mod failures;
mod open_loop;

use crate::error::{Error, Result};
use crate::generate::{Ask, Generator, Random};
use crate::measure::Recorder;
use crate::measure::sample::Sample;
use crate::stop::{PATIENCE, interrupted, waited};
use crate::target::{Submit, Target};
use assay_spec::experiment::{Amount, Arrival, ErrorLimit, SteadyRule};
use assay_spec::record::SteadyRecord;
use assay_spec::{Bytes, Completion, Nanos, Op, Request};
use failures::Failures;
use open_loop::OpenLoop;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When a phase is interrupted: the time between two looks at the requests in flight.
const LOOK_AGAIN: Nanos = Nanos::from_millis(100);

/// A consumer of finished requests.
pub trait Sink {
    /// Takes a request, the `number`-th that was submitted in its phase, from 0.
    fn sample(&mut self, number: u64, sample: Sample);

    /// Takes a request that was in flight when the phase ended and has completed since.
    fn late(&mut self, _sample: Sample) {}

    /// Returns `true` if nothing can be recorded any more. Then the phase ends.
    fn is_broken(&self) -> bool {
        false
    }
}

impl Sink for Recorder {
    #[inline]
    fn sample(&mut self, number: u64, sample: Sample) {
        self.record(number, sample);
    }

    fn late(&mut self, sample: Sample) {
        self.record_late(sample);
    }

    #[inline]
    fn is_broken(&self) -> bool {
        Recorder::is_broken(self)
    }
}

/// A sink that only counts errors, for phases that prepare a target.
#[derive(Debug, Default)]
pub struct Forget {
    /// The number of failed requests.
    pub errors: u64,
}

impl Sink for Forget {
    #[inline]
    fn sample(&mut self, _number: u64, sample: Sample) {
        self.errors += u64::from(sample.error != 0);
    }
}

/// The result of a phase that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseEnd {
    /// Its length on the target's clock.
    pub elapsed: Nanos,
    /// The number of requests in flight when its time was over; they went to [`Sink::late`].
    pub unfinished: u64,
    /// The rounds of its steady-state rule, if it has one.
    pub steady: Option<SteadyRecord>,
}

/// The conditions that end a phase; the first one that holds ends it.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The amount of requests, bytes or time, or the steady-state rule.
    pub amount: Amount,
    /// The most time that it may take.
    pub limit: Option<Nanos>,
    /// The share of its requests that may fail.
    pub errors: ErrorLimit,
}

impl From<Amount> for End {
    fn from(amount: Amount) -> End {
        End { amount, limit: None, errors: ErrorLimit::default() }
    }
}

/// Runs a phase to its end. `seed` determines Poisson arrivals.
pub fn run_phase<T: Target, S: Sink>(
    target: &mut T,
    generator: &mut Generator,
    arrival: Arrival,
    end: impl Into<End>,
    seed: u64,
    sink: &mut S,
) -> Result<PhaseEnd> {
    Phase::new(target, arrival, end.into(), seed).run(target, generator, sink)
}

/// The request that a slot has in flight.
#[derive(Clone, Copy)]
struct InFlight {
    submit: Nanos,
    number: u64,
    ask: Ask,
}

/// The rounds of a steady-state rule; `count` and `end` are those of the current one.
struct Rounds {
    rule: SteadyRule,
    end: Nanos,
    count: u64,
    done: Vec<f64>,
}

/// The slots for requests; the slot of a request in flight is its tag.
struct Slots {
    all: Vec<InFlight>,
    free: Vec<u32>,
    /// The slots that begin their next request at a time.
    thinking: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// The time between the completion of a request and the next request of its slot.
    think: Nanos,
    /// The number of slots of a job.
    queue_depth: u32,
}

/// A phase of a repeat.
struct Phase {
    start: Nanos,
    /// The time of the end: completions after it do not count.
    deadline: Nanos,
    /// The time when the phase ends even if its amount is not reached.
    limit: Nanos,
    requests_left: u64,
    bytes_left: u64,
    slots: Slots,
    open: Option<OpenLoop>,
    rounds: Option<Rounds>,
    submitted: u64,
    in_flight: usize,
    unfinished: u64,
    last: Nanos,
    failures: Failures,
    errors: ErrorLimit,
}

impl Phase {
    fn new<T: Target>(target: &mut T, arrival: Arrival, end: End, seed: u64) -> Phase {
        let start = target.now();
        let End { amount: end, limit, errors } = end;
        let (slots, think, queue_depth, open) = match arrival {
            Arrival::Closed { jobs, queue_depth, think } => {
                (jobs * queue_depth, think, queue_depth, None)
            }
            Arrival::Open { interval, poisson, max_in_flight } => {
                let random = poisson.then(|| Random::new(seed));
                let open = OpenLoop { interval, random, next: start };
                // An open loop is one job, whatever number of its requests wait.
                (max_in_flight, Nanos::ZERO, max_in_flight, Some(open))
            }
        };
        let idle = Ask { op: Op::Read, offset: Bytes::ZERO, length: Bytes::ZERO, fua: false };
        Phase {
            start,
            deadline: if let Amount::Time(t) = end { start + t } else { Nanos::NEVER },
            limit: limit.map_or(Nanos::NEVER, |limit| start + limit),
            requests_left: if let Amount::Requests(n) = end { n } else { u64::MAX },
            bytes_left: if let Amount::Bytes(b) = end { b.0 } else { u64::MAX },
            slots: Slots {
                all: vec![InFlight { submit: start, number: 0, ask: idle }; slots as usize],
                free: (0..slots).rev().collect(),
                thinking: BinaryHeap::new(),
                think,
                queue_depth,
            },
            open,
            rounds: match end {
                Amount::Steady(rule) => {
                    Some(Rounds { rule, end: start + rule.round, count: 0, done: Vec::new() })
                }
                _ => None,
            },
            submitted: 0,
            in_flight: 0,
            unfinished: 0,
            last: start,
            failures: Failures::default(),
            errors,
        }
    }

    fn run<T: Target, S: Sink>(
        mut self,
        target: &mut T,
        generator: &mut Generator,
        sink: &mut S,
    ) -> Result<PhaseEnd> {
        let mut now = self.start;
        let (mut issuing, mut is_over) = (true, false);
        let mut completions: Vec<Completion> = Vec::with_capacity(self.slots.all.len());
        loop {
            if issuing {
                self.issue(target, generator, now)?;
                issuing = self.requests_left > 0 && self.bytes_left > 0;
            }
            if !issuing && self.in_flight == 0 {
                break;
            }
            let wake = match (is_over, issuing) {
                (true, _) => now + LOOK_AGAIN,
                (false, true) => self.wake(),
                (false, false) => Nanos::NEVER,
            };
            now = target.poll(wake, &mut completions);
            for completion in completions.drain(..) {
                self.complete(completion, sink);
            }
            if self.close_rounds(now) || now >= self.deadline {
                issuing = false;
            }
            if issuing && now >= self.limit {
                self.deadline = self.limit;
                issuing = false;
            }
            if self.failures.completed >= Failures::ENOUGH && self.failures.exceed(self.errors) {
                issuing = false;
            }
            issuing &= !sink.is_broken();
            if let Some(waited) = waited() {
                (issuing, is_over) = (false, true);
                // The phase does not wait for a device that does not answer.
                if self.in_flight == 0 || waited > PATIENCE {
                    return Err(interrupted());
                }
            }
        }
        match self.failures.exceed(self.errors) {
            true => Err(self.failures.error()),
            false => Ok(self.finish()),
        }
    }

    /// Issues the requests that are due at `now`, as long as slots are free.
    #[inline]
    fn issue<T: Target>(
        &mut self,
        target: &mut T,
        generator: &mut Generator,
        now: Nanos,
    ) -> Result<()> {
        while let Some(Reverse((at, slot))) = self.slots.thinking.peek().copied() {
            if at > now {
                break;
            }
            self.slots.thinking.pop();
            self.slots.free.push(slot);
        }
        while let Some(&slot) = self.slots.free.last() {
            if self.requests_left == 0 || self.bytes_left == 0 {
                break;
            }
            let intended = match &mut self.open {
                Some(open) if open.next > now => break,
                Some(open) => open.take(),
                None => now,
            };
            let ask = generator.ask();
            target.expect(generator.peek().offset);
            let Ask { op, offset, length, fua } = ask;
            let request = Request { tag: slot, op, offset, length, fua };
            if target.submit(now, request) == Submit::Full {
                return Err(Error::usage(
                    "queue-overrun",
                    format!(
                        "the workload keeps {} requests in flight, more than the target takes at a \
                         time",
                        self.slots.all.len()
                    ),
                    "lower `jobs` or `queue_depth`",
                ));
            }
            self.slots.free.pop();
            self.slots.all[slot as usize] =
                InFlight { submit: intended, number: self.submitted, ask };
            self.submitted += 1;
            self.in_flight += 1;
            self.requests_left -= 1;
            self.bytes_left = self.bytes_left.saturating_sub(ask.length.0);
        }
        Ok(())
    }

    /// Returns the time when there is something to do even if nothing completes.
    #[inline]
    fn wake(&self) -> Nanos {
        // While requests are in flight, their completions show that the deadline has passed, and a
        // wait without a timer is cheaper.
        let end = self.deadline.min(self.limit);
        let mut wake = if self.in_flight > 0 { Nanos::NEVER } else { end };
        if let Some(rounds) = &self.rounds {
            wake = wake.min(rounds.end);
        }
        if let Some(Reverse((at, _))) = self.slots.thinking.peek() {
            wake = wake.min(*at);
        }
        match &self.open {
            Some(open) if !self.slots.free.is_empty() => wake.min(open.next),
            _ => wake,
        }
    }

    #[inline]
    fn complete<S: Sink>(&mut self, completion: Completion, sink: &mut S) {
        let slot = self.slots.all[completion.tag as usize];
        self.in_flight -= 1;
        self.failures.count(completion.error);
        let sample = Sample {
            submit: slot.submit - self.start,
            complete: completion.at - self.start,
            offset: slot.ask.offset,
            length: slot.ask.length,
            op: slot.ask.op,
            job: completion.tag / self.slots.queue_depth,
            error: completion.error,
        };
        if completion.at <= self.deadline {
            self.last = completion.at;
            if let Some(rounds) = &mut self.rounds {
                rounds.count += u64::from(completion.error == 0);
            }
            sink.sample(slot.number, sample);
        } else {
            self.unfinished += 1;
            sink.late(sample);
        }
        if self.slots.think == Nanos::ZERO {
            self.slots.free.push(completion.tag);
        } else {
            self.slots.thinking.push(Reverse((completion.at + self.slots.think, completion.tag)));
        }
    }

    /// Closes the rounds that have ended by `now`. Returns `true` if the rule ends the phase.
    #[inline]
    fn close_rounds(&mut self, now: Nanos) -> bool {
        let Some(rounds) = &mut self.rounds else { return false };
        while now >= rounds.end && self.deadline == Nanos::NEVER {
            rounds.done.push(rounds.count as f64 / rounds.rule.round.as_secs_f64());
            rounds.count = 0;
            if rounds.rule.holds(&rounds.done) || rounds.done.len() >= rounds.rule.limit as usize {
                self.deadline = rounds.end;
            }
            rounds.end += rounds.rule.round;
        }
        self.deadline != Nanos::NEVER
    }

    fn finish(self) -> PhaseEnd {
        let end = if self.deadline == Nanos::NEVER { self.last } else { self.deadline };
        let steady = self.rounds.map(|r| SteadyRecord {
            reached: r.rule.holds(&r.done),
            rounds: r.done,
            window: r.rule.window,
            range: r.rule.range,
            slope: r.rule.slope,
        });
        let elapsed = end.saturating_sub(self.start);
        PhaseEnd { elapsed, unfinished: self.unfinished, steady }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::experiment::{Address, Span, StreamSpec};

    /// A target that serves one request at a time, 10 µs each, in virtual time.
    struct Server {
        now: Nanos,
        busy: Nanos,
        queue: std::collections::VecDeque<(Nanos, u32)>,
    }

    impl crate::target::ModelHints for Server {}

    impl Target for Server {
        fn capacity(&self) -> Bytes {
            Bytes::GIB
        }
        fn granularity(&self) -> Bytes {
            Bytes(512)
        }
        fn now(&mut self) -> Nanos {
            self.now
        }
        fn submit(&mut self, now: Nanos, request: Request) -> Submit {
            self.busy = self.busy.max(now) + Nanos::from_micros(10);
            self.queue.push_back((self.busy, request.tag));
            Submit::Accepted
        }
        fn poll(&mut self, until: Nanos, completions: &mut Vec<Completion>) -> Nanos {
            match self.queue.front().copied().filter(|(at, _)| *at <= until) {
                Some((at, tag)) => {
                    self.queue.pop_front();
                    completions.push(Completion { tag, at, error: 0 });
                    self.now = at;
                }
                None => self.now = until,
            }
            self.now
        }
    }

    #[derive(Default)]
    struct Keep(Vec<Sample>);
    impl Sink for Keep {
        fn sample(&mut self, number: u64, sample: Sample) {
            assert_eq!(number, self.0.len() as u64, "the server keeps the order");
            self.0.push(sample);
        }
    }

    fn run(arrival: Arrival, end: impl Into<End>) -> (PhaseEnd, Vec<Sample>) {
        let spec = StreamSpec {
            read_share: 1.0,
            sizes: vec![(Bytes(4096), 1.0)],
            address: Address::Sequential,
            span: Span::WHOLE,
            flush_every: 0,
            fua: false,
        };
        let mut server = Server { now: Nanos(123), busy: Nanos::ZERO, queue: Default::default() };
        let mut generator = Generator::new(&[spec], Bytes::GIB, 1);
        let mut keep = Keep::default();
        let end = run_phase(&mut server, &mut generator, arrival, end, 1, &mut keep);
        (end.expect("runs"), keep.0)
    }

    fn closed(jobs: u32, queue_depth: u32, think_us: u64) -> Arrival {
        Arrival::Closed { jobs, queue_depth, think: Nanos::from_micros(think_us) }
    }

    #[test]
    fn a_closed_loop_keeps_its_depth_and_little_holds() {
        let (end, samples) = run(closed(2, 4, 0), Amount::Requests(1000));
        assert_eq!(samples.len(), 1000);
        assert_eq!(end.elapsed, Nanos::from_micros(10_000));
        let later = &samples[8..1000 - 8];
        assert!(later.iter().all(|s| s.complete - s.submit == Nanos::from_micros(80)));
        assert!(samples.iter().all(|s| s.job < 2));
    }

    #[test]
    fn think_time_is_kept_between_completion_and_next() {
        let (end, samples) = run(closed(1, 1, 90), Amount::Requests(5));
        let starts: Vec<u64> = samples.iter().map(|s| s.submit.0 / 1000).collect();
        assert_eq!(starts, [0, 100, 200, 300, 400]);
        assert_eq!(end.elapsed, Nanos::from_micros(410));
    }

    #[test]
    fn time_counts_what_ended_within_it() {
        for (us, expected) in [(99, 9), (100, 10), (101, 10)] {
            let (end, samples) = run(closed(1, 4, 0), Amount::Time(Nanos::from_micros(us)));
            assert_eq!(samples.len(), expected, "{us} µs");
            assert_eq!(end.unfinished, if us == 100 { 3 } else { 4 }, "{us} µs");
            assert_eq!(end.elapsed, Nanos::from_micros(us));
        }
    }

    #[test]
    fn a_limit_ends_a_phase_before_its_amount() {
        let limited = |amount, us| End { limit: Some(Nanos::from_micros(us)), ..End::from(amount) };
        let (end, samples) = run(closed(1, 4, 0), limited(Amount::Requests(1000), 100));
        assert_eq!((samples.len(), end.elapsed), (10, Nanos::from_micros(100)));
        let (end, samples) = run(closed(1, 4, 0), limited(Amount::Requests(5), 100));
        assert_eq!((samples.len(), end.elapsed), (5, Nanos::from_micros(50)));
        let (end, samples) = run(closed(1, 1, 90), limited(Amount::Requests(1000), 250));
        assert_eq!((samples.len(), end.elapsed), (3, Nanos::from_micros(250)));
    }

    #[test]
    fn an_overloaded_open_loop_shows_its_queue() {
        let interval = Nanos::from_micros(5);
        let arrival = Arrival::Open { interval, poisson: false, max_in_flight: 4 };
        let (_, samples) = run(arrival, Amount::Requests(101));
        let last = samples.last().expect("samples");
        assert_eq!(last.submit, Nanos::from_micros(500), "the intended arrival");
        assert_eq!(last.complete - last.submit, Nanos::from_micros(101 * 10 - 500));
        assert!(samples.iter().all(|s| s.job == 0), "one process of arrivals is one job");
    }

    #[test]
    fn poisson_arrivals_have_their_rate() {
        let interval = Nanos::from_micros(20);
        let arrival = Arrival::Open { interval, poisson: true, max_in_flight: 1000 };
        let (end, _) = run(arrival, Amount::Requests(50_000));
        assert!((end.elapsed.as_secs_f64() - 1.0).abs() < 0.02, "{:?}", end.elapsed);
    }

    #[test]
    fn steady_ends_after_its_window() {
        let rule = SteadyRule {
            round: Nanos::from_millis(1),
            window: 5,
            range: 0.2,
            slope: 0.1,
            limit: 25,
        };
        let (end, samples) = run(closed(1, 1, 0), Amount::Steady(rule));
        let steady = end.steady.expect("a rule");
        assert!(steady.reached);
        assert_eq!(steady.rounds, [100_000.0; 5]);
        assert_eq!((end.elapsed, samples.len()), (Nanos::from_millis(5), 500));
    }

    #[test]
    fn bytes_end_a_phase() {
        let (_, samples) = run(closed(1, 2, 0), Amount::Bytes(Bytes(4096 * 7)));
        assert_eq!(samples.len(), 7);
    }
}
