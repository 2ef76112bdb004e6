//! What happens next inside a drive: one pending event for each resource.
//!
//! Most things take one of a few constant times, and of those that take equally long the first to
//! begin is the first to end. So there is a queue for each such time, sorted without being sorted,
//! and the next event is the smallest of eight heads. What takes any other time waits in a heap.
//! Events at the same time happen in the order of their slots.

use assay_spec::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which events a pending one is queued with. The first three hold one event each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queue {
    /// The firmware is done with a request.
    Firmware,
    /// A transfer on the link is through.
    Link,
    /// Time to work in the background.
    Timer,
    /// A page has been sensed; of a server (`nand/plane_fast_path.rs`): it has been sent, too.
    Sense,
    /// A fast page has been programmed; of a server, from its transfer on.
    Program,
    /// A slow one.
    ProgramSlow,
    /// A page is through on a channel.
    Transfer,
    /// Anything that takes another time.
    Other,
}

impl Queue {
    /// All, by their numbers.
    const ALL: [Queue; QUEUES] = [
        Queue::Firmware,
        Queue::Link,
        Queue::Timer,
        Queue::Sense,
        Queue::Program,
        Queue::ProgramSlow,
        Queue::Transfer,
        Queue::Other,
    ];
}

/// Queues, a power of two.
const QUEUES: usize = 8;
/// The first queue of more than one event.
const FIRST_LONG: usize = Queue::Sense as usize;
const OTHER: usize = Queue::Other as usize;
/// The key of nothing.
const NEVER: u64 = u64::MAX;

/// The pending events, and the time now.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// The key of the first event of each queue: its time, its slot, its queue.
    heads: [u64; QUEUES],
    /// The smallest of them.
    first: u64,
    /// What comes after the heads.
    rings: [Ring; OTHER - FIRST_LONG],
    heap: BinaryHeap<Reverse<u64>>,
    /// Bits of a slot and a queue.
    bits: u32,
    /// Times from here on leave no room for them.
    too_late: Nanos,
    now: Nanos,
    /// The slot of the event that happens, or the last in order of those of the same time that did.
    slot: usize,
}

/// A time, and the slot of the event that happens then: at the same time the order is that of
/// slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Events {
    /// `slots` resources, all idle.
    pub(crate) fn new(slots: usize) -> Events {
        let bits = slots.next_power_of_two().trailing_zeros() + QUEUES.trailing_zeros();
        Events {
            heads: [NEVER; QUEUES],
            first: NEVER,
            rings: std::array::from_fn(|_| Ring::new(slots)),
            heap: BinaryHeap::new(),
            bits,
            too_late: Nanos(NEVER >> bits),
            now: Nanos::ZERO,
            slot: 0,
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// This moment: of the event that happens, or behind all that have.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        self.moment_at(self.now, self.slot)
    }

    /// The moment of an event of `slot`.
    #[inline]
    pub(crate) fn moment_at(&self, at: Nanos, slot: usize) -> Moment {
        Moment(at.0 << self.bits | (slot << 3) as u64)
    }

    /// Time passes to `to`; nothing is pending before.
    #[inline]
    pub(crate) fn pass(&mut self, to: Nanos) {
        debug_assert!(to >= self.now, "time runs back: {to} after {}", self.now);
        debug_assert!(self.next().is_none_or(|at| at >= to), "an event is passed over");
        self.now = to;
        // Behind all events of that time.
        self.slot = (1 << (self.bits - 3)) - 1;
    }

    /// The resource of `slot`, which is idle, will be done after `duration`.
    #[inline]
    pub(crate) fn after(&mut self, queue: Queue, slot: usize, duration: Nanos) -> Nanos {
        let at = self.now + duration;
        assert!(at < self.too_late, "a time leaves room for its slot");
        let index = queue as usize;
        let key = at.0 << self.bits | (slot << 3 | index) as u64;
        self.first = self.first.min(key);
        let head = &mut self.heads[index];
        if *head == NEVER {
            *head = key;
        } else if index == OTHER {
            self.heap.push(Reverse(key.max(*head)));
            *head = key.min(*head);
        } else {
            debug_assert!(index >= FIRST_LONG, "{queue:?} holds one event");
            self.rings[index - FIRST_LONG].push(key, head);
        }
        at
    }

    /// What is pending in a queue of one event is called off.
    #[inline]
    pub(crate) fn cancel(&mut self, queue: Queue) {
        debug_assert!((queue as usize) < FIRST_LONG, "{queue:?} holds many events");
        self.heads[queue as usize] = NEVER;
        self.first = self.smallest();
    }

    /// What is pending of `slot` is called off, whatever queue it is in.
    #[cold]
    pub(crate) fn call_off(&mut self, slot: usize) {
        let bits = self.bits;
        let is_its = |key: u64| key != NEVER && slot_of(key, bits) == slot;
        if let Some(index) = self.heads.iter().position(|key| is_its(*key)) {
            self.heads[index] = self.next_in(index);
            self.first = self.smallest();
            return;
        }
        self.rings.iter_mut().for_each(|ring| ring.drop_if(is_its));
        self.heap.retain(|Reverse(key)| !is_its(*key));
    }

    /// Takes out what comes next in a queue, behind its head.
    #[inline]
    fn next_in(&mut self, index: usize) -> u64 {
        match self.rings.get_mut(index.wrapping_sub(FIRST_LONG)) {
            Some(ring) => ring.pop(),
            None if index == OTHER => self.heap.pop().map_or(NEVER, |Reverse(key)| key),
            None => NEVER,
        }
    }

    /// The smallest key.
    #[inline]
    fn smallest(&self) -> u64 {
        let h = &self.heads;
        let low = h[0].min(h[1]).min(h[2].min(h[3]));
        let high = h[4].min(h[5]).min(h[6].min(h[7]));
        low.min(high)
    }

    /// When the next event happens, if any is pending.
    #[inline]
    pub(crate) fn next(&self) -> Option<Nanos> {
        (self.first != NEVER).then_some(Nanos(self.first >> self.bits))
    }

    /// The slots of all pending events, and when each happens.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (usize, Nanos)> {
        let rings = self.rings.iter().flat_map(Ring::all);
        let heap = self.heap.iter().map(|Reverse(key)| *key);
        let all = self.heads.iter().copied().chain(rings).chain(heap);
        all.filter(|key| *key != NEVER)
            .map(|key| (slot_of(key, self.bits), Nanos(key >> self.bits)))
    }

    /// Whether an event is pending that is not after `until`.
    #[inline]
    pub(crate) fn is_due(&self, until: Nanos) -> bool {
        let at = Nanos(self.first >> self.bits);
        // Nothing is pending as late as the key of nothing.
        at <= until && at < self.too_late
    }

    /// Takes out the next event if it is not after `until`: time passes to it. Returns its queue
    /// and its slot.
    #[inline]
    pub(crate) fn pop(&mut self, until: Nanos) -> Option<(Queue, usize)> {
        if !self.is_due(until) {
            return None;
        }
        let key = self.first;
        let (before, index) = (self.now, key as usize % QUEUES);
        self.now = Nanos(key >> self.bits);
        self.heads[index] = self.next_in(index);
        self.first = self.smallest();
        let slot = slot_of(key, self.bits);
        // What takes no time comes behind what it came from, whatever their slots.
        self.slot = if self.now > before { slot } else { self.slot.max(slot) };
        Some((Queue::ALL[index], slot))
    }
}

/// The slot in a key with so many bits of slot and queue.
#[inline]
fn slot_of(key: u64, bits: u32) -> usize {
    (key as usize & ((1 << bits) - 1)) >> 3
}

/// Keys in order, of which the last come in last.
#[derive(Clone, Debug)]
struct Ring {
    keys: Box<[u64]>,
    first: usize,
    count: usize,
}

impl Ring {
    /// Room for `capacity` keys.
    fn new(capacity: usize) -> Ring {
        let keys = vec![NEVER; capacity.next_power_of_two()].into_boxed_slice();
        Ring { keys, first: 0, count: 0 }
    }

    #[inline]
    fn at(&mut self, index: usize) -> &mut u64 {
        let mask = self.keys.len() - 1;
        &mut self.keys[(self.first + index) & mask]
    }

    /// All keys.
    fn all(&self) -> impl Iterator<Item = u64> {
        let mask = self.keys.len() - 1;
        (0..self.count).map(move |index| self.keys[(self.first + index) & mask])
    }

    /// Adds a key; `head` is before all others. Only of events at the same time may a later one
    /// have to go before one that is there.
    #[inline]
    fn push(&mut self, key: u64, head: &mut u64) {
        let mut place = self.count;
        self.count += 1;
        while place > 0 && *self.at(place - 1) > key {
            *self.at(place) = *self.at(place - 1);
            place -= 1;
        }
        *self.at(place) = key;
        if place == 0 && *head > key {
            std::mem::swap(self.at(0), head);
        }
    }

    /// Drops the key of which that `is_it`, if there is one.
    fn drop_if(&mut self, is_it: impl Fn(u64) -> bool) {
        let Some(place) = (0..self.count).find(|place| is_it(*self.at(*place))) else { return };
        for place in place + 1..self.count {
            *self.at(place - 1) = *self.at(place);
        }
        self.count -= 1;
    }

    #[inline]
    fn pop(&mut self) -> u64 {
        if self.count == 0 {
            return NEVER;
        }
        let key = *self.at(0);
        self.first += 1;
        self.count -= 1;
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::seed::mix;

    /// Against a sorted list: any mixture of queues, ties in time broken by slot.
    #[test]
    fn events_come_in_order_of_time_and_slot() {
        const LONG: [Queue; 5] =
            [Queue::Sense, Queue::Program, Queue::ProgramSlow, Queue::Transfer, Queue::Other];
        for slots in [4, 5, 40, 700] {
            let mut events = Events::new(slots);
            let mut pending: Vec<(u64, usize)> = Vec::new();
            for step in 0..20_000_u64 {
                let r = mix(step << 10 | slots as u64);
                let slot = r as usize % slots;
                if r >> 62 != 0 && pending.iter().all(|(_, s)| *s != slot) {
                    let queue = LONG[(r >> 20) as usize % 5];
                    // Constant in all queues but the last.
                    let duration = match queue {
                        Queue::Other => r >> 40 & 0x3f,
                        queue => 7 * (queue as u64 - 2),
                    };
                    let at = events.after(queue, slot, Nanos(duration));
                    pending.push((at.0, slot));
                } else if r >> 58 & 7 == 0 && !pending.is_empty() {
                    let (_, slot) = pending.swap_remove(r as usize % pending.len());
                    events.call_off(slot);
                } else {
                    pending.sort_unstable();
                    let mut told: Vec<_> = events.pending().map(|(s, at)| (at.0, s)).collect();
                    told.sort_unstable();
                    assert_eq!(told, pending);
                    let until = events.now() + Nanos(r >> 40 & 0x1f);
                    let expected = pending.first().copied().filter(|(at, _)| *at <= until.0);
                    let got = events.pop(until).map(|(_, slot)| (events.now().0, slot));
                    assert_eq!(got, expected);
                    if expected.is_some() {
                        pending.remove(0);
                    }
                }
            }
        }
    }
}
