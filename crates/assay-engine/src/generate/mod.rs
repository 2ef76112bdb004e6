//! From a workload's declaration to its requests.
//!
//! A stream is a pure function of (spec, capacity, seed): the same numbers whatever the target
//! does. All jobs of a workload draw from the one stream, in the order they become free.

mod address;
mod random;
mod shuffled;
mod zipf;

pub use random::Random;
pub use shuffled::Shuffled;

use address::Walker;
use assay_spec::experiment::StreamSpec;
use assay_spec::{Bytes, Op};

/// What a stream asks next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Which way.
    pub op: Op,
    /// First byte.
    pub offset: Bytes,
    /// How many bytes.
    pub length: Bytes,
    /// Whether a write is to survive a power cut when it is answered.
    pub fua: bool,
}

/// One stream, or two taken in turn.
#[derive(Debug)]
pub struct Generator {
    streams: Vec<Stream>,
    turn: usize,
    /// The next request, if somebody has looked at it.
    next: Option<Ask>,
}

#[derive(Debug)]
struct Stream {
    read_share: f64,
    sizes: Vec<(Bytes, f64)>,
    walker: Walker,
    random: Random,
    flush_every: u32,
    fua: bool,
    /// Requests since the last flush.
    unflushed: u32,
}

impl Generator {
    /// Streams over a target of `capacity`; a span beyond its end is cut to it.
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

    /// The next request.
    #[inline]
    pub fn ask(&mut self) -> Ask {
        self.next.take().unwrap_or_else(|| self.draw())
    }

    /// The request that will be next.
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
