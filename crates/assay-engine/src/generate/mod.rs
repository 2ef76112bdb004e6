//! Generates the requests of a workload from its declaration.
//!
//! A stream is a pure function of (spec, capacity, seed): the requests are the same whatever the
//! target does. All jobs of a workload draw from one stream, in the order in which they get free.

mod address;
mod random;
mod shuffled;
mod zipf;

pub use random::Random;
pub use shuffled::Shuffled;

use address::Walker;
use assay_spec::experiment::StreamSpec;
use assay_spec::{Bytes, Op};

/// A generated request, before it has a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The kind of request.
    pub op: Op,
    /// The address of its first byte on the target.
    pub offset: Bytes,
    /// Its length.
    pub length: Bytes,
    /// Whether it is a FUA write, which must survive a power failure once it is answered.
    pub fua: bool,
}

/// A generator that takes requests from its streams in turn.
#[derive(Debug)]
pub struct Generator {
    streams: Vec<Stream>,
    /// The index of the stream whose turn it is.
    turn: usize,
    /// The next request, if [`Generator::peek`] has drawn it already.
    next: Option<Ask>,
}

#[derive(Debug)]
struct Stream {
    read_share: f64,
    /// The sizes, each with its cumulative probability.
    sizes: Vec<(Bytes, f64)>,
    walker: Walker,
    random: Random,
    flush_every: u32,
    fua: bool,
    /// Requests since the last flush.
    unflushed: u32,
}

impl Generator {
    /// Creates a generator for a target of this capacity. Spans are cut at the end of the target.
    pub fn new(specs: &[StreamSpec], capacity: Bytes, seed: u64) -> Generator {
        let stream = |(index, spec): (usize, &StreamSpec)| {
            let total: f64 = spec.sizes.iter().map(|(_, w)| w).sum();
            let mut below = 0.0;
            let cumulate = |(size, weight): &(Bytes, f64)| {
                below += weight / total;
                (*size, below)
            };
            Stream {
                read_share: spec.read_share,
                sizes: spec.sizes.iter().map(cumulate).collect(),
                walker: Walker::new(spec, capacity),
                random: Random::new(assay_spec::seed::derive(seed, &[&index.to_string()])),
                flush_every: spec.flush_every,
                fua: spec.fua,
                unflushed: 0,
            }
        };
        Generator { streams: specs.iter().enumerate().map(stream).collect(), turn: 0, next: None }
    }

    /// Returns the next request.
    #[inline]
    pub fn ask(&mut self) -> Ask {
        self.next.take().unwrap_or_else(|| self.draw())
    }

    /// Returns the request that the next call of [`Generator::ask`] will return.
    #[inline]
    pub fn peek(&mut self) -> Ask {
        let next = self.ask();
        *self.next.insert(next)
    }

    #[inline]
    fn draw(&mut self) -> Ask {
        let turn = self.turn;
        self.turn = if turn + 1 == self.streams.len() { 0 } else { turn + 1 };
        self.streams[turn].ask()
    }
}

impl Stream {
    #[inline]
    fn ask(&mut self) -> Ask {
        if self.flush_every > 0 {
            if self.unflushed == self.flush_every {
                self.unflushed = 0;
                let (offset, length) = (Bytes::ZERO, Bytes::ZERO);
                return Ask { op: Op::Flush, offset, length, fua: false };
            }
            self.unflushed += 1;
        }
        let length = match self.sizes.as_slice() {
            [(size, _)] => *size,
            sizes => {
                let u = self.random.unit();
                sizes.iter().find(|(_, below)| u < *below).unwrap_or(&sizes[sizes.len() - 1]).0
            }
        };
        let op = match self.read_share {
            share if share >= 1.0 => Op::Read,
            share if share <= 0.0 => Op::Write,
            share if self.random.unit() < share => Op::Read,
            _ => Op::Write,
        };
        let offset = self.walker.step(length, &mut self.random);
        Ask { op, offset, length, fua: self.fua && op == Op::Write }
    }
}
