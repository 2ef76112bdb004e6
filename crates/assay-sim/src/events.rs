//! The pending events inside a flash drive, at most one for each resource.
//!
//! Most steps take one of a few constant times, and of steps of equal length the first to begin is
//! the first to end. So each such time has a queue that is in order without being sorted, and the
//! next event is the smallest of eight heads. Events after any other time wait in a heap.
//! Events at the same time happen in the order of their slots.

use assay_spec::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The queue of an event. The first three hold one event each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queue {
    /// The firmware has processed a request.
    Firmware,
    /// A transfer on the link has ended.
    Link,
    /// It is time to work in the background.
    Timer,
    /// A page has been sensed; on the fast path (`nand/plane_fast_path.rs`), also transferred.
    Sense,
    /// A fast page has been programmed; on the fast path, also transferred before.
    Program,
    /// A slow page has been programmed; on the fast path, also transferred before.
    ProgramSlow,
    /// The transfer of a page on a channel has ended.
    Transfer,
    /// A step of any other length has ended.
    Other,
}

impl Queue {
    /// All queues, by their numbers.
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

/// The number of queues, a power of two.
const QUEUES: usize = 8;
/// The first queue that can hold more than one event.
const FIRST_LONG: usize = Queue::Sense as usize;
const OTHER: usize = Queue::Other as usize;
/// The key that means no event.
const NEVER: u64 = u64::MAX;

/// The pending events, and the time now.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    /// By queue: the key of its first event. From the high bits on, a key holds time, slot, queue.
    heads: [u64; QUEUES],
    /// The smallest key of `heads`.
    first: u64,
    /// The events behind the heads, for the queues of constant times.
    rings: [Ring; OTHER - FIRST_LONG],
    /// The events behind the head of [`Queue::Other`].
    heap: BinaryHeap<Reverse<u64>>,
    /// The number of bits for slot and queue in a key.
    bits: u32,
    /// The first time too large for a key.
    too_late: Nanos,
    now: Nanos,
    /// The slot of the event that happens, or the largest slot of those that have happened at
    /// the same time.
    slot: usize,
}

/// A time and the slot of an event at that time: a place in the order of all events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Events {
    /// Creates the events of `slots` resources, all idle.
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

    /// Returns the moment of the event that happens now, or one behind all events until now.
    #[inline]
    pub(crate) fn moment(&self) -> Moment {
        self.moment_at(self.now, self.slot)
    }

    /// Returns the moment of an event of `slot` at `at`.
    #[inline]
    pub(crate) fn moment_at(&self, at: Nanos, slot: usize) -> Moment {
        Moment(at.0 << self.bits | (slot << 3) as u64)
    }

    /// Advances the time to `to`. No event is pending before that.
    #[inline]
    pub(crate) fn pass(&mut self, to: Nanos) {
        debug_assert!(to >= self.now, "time runs back: {to} after {}", self.now);
        debug_assert!(self.next().is_none_or(|at| at >= to), "an event is passed over");
        self.now = to;
        // The moment is then behind all events of that time.
        self.slot = (1 << (self.bits - 3)) - 1;
    }

    /// Schedules the event of `slot`, an idle resource, `duration` from now; returns its time.
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

    /// Removes the pending event, if there is one, of a queue that holds one event.
    #[inline]
    pub(crate) fn cancel(&mut self, queue: Queue) {
        debug_assert!((queue as usize) < FIRST_LONG, "{queue:?} holds many events");
        self.heads[queue as usize] = NEVER;
        self.first = self.smallest();
    }

    /// Removes the pending event of `slot`, if there is one, whatever queue it is in.
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

    /// Takes out the event behind the head of queue `index`; returns its key, or [`NEVER`].
    #[inline]
    fn next_in(&mut self, index: usize) -> u64 {
        match self.rings.get_mut(index.wrapping_sub(FIRST_LONG)) {
            Some(ring) => ring.pop(),
            None if index == OTHER => self.heap.pop().map_or(NEVER, |Reverse(key)| key),
            None => NEVER,
        }
    }

    /// Returns the smallest key of all heads.
    #[inline]
    fn smallest(&self) -> u64 {
        let h = &self.heads;
        let low = h[0].min(h[1]).min(h[2].min(h[3]));
        let high = h[4].min(h[5]).min(h[6].min(h[7]));
        low.min(high)
    }

    /// Returns when the next event happens, if any is pending.
    #[inline]
    pub(crate) fn next(&self) -> Option<Nanos> {
        (self.first != NEVER).then_some(Nanos(self.first >> self.bits))
    }

    /// Returns all pending events: the slot and the time of each.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (usize, Nanos)> {
        let rings = self.rings.iter().flat_map(Ring::all);
        let heap = self.heap.iter().map(|Reverse(key)| *key);
        let all = self.heads.iter().copied().chain(rings).chain(heap);
        all.filter(|key| *key != NEVER)
            .map(|key| (slot_of(key, self.bits), Nanos(key >> self.bits)))
    }

    /// Returns `true` if an event is pending at `until` or before.
    #[inline]
    pub(crate) fn is_due(&self, until: Nanos) -> bool {
        let at = Nanos(self.first >> self.bits);
        // `NEVER`, the key of no event, is at or after `too_late`; no event is.
        at <= until && at < self.too_late
    }

    /// Takes out the next event if it is not after `until`, and advances the time to it. Returns
    /// its queue and its slot.
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
        // An event after zero time comes behind its cause, whatever their slots.
        self.slot = if self.now > before { slot } else { self.slot.max(slot) };
        Some((Queue::ALL[index], slot))
    }
}

/// Returns the slot in `key`, whose lowest `bits` bits hold slot and queue.
#[inline]
fn slot_of(key: u64, bits: u32) -> usize {
    (key as usize & ((1 << bits) - 1)) >> 3
}

/// Keys in order, in a ring buffer; new keys come in near the end.
#[derive(Clone, Debug)]
struct Ring {
    keys: Box<[u64]>,
    first: usize,
    count: usize,
}

impl Ring {
    /// Creates an empty ring with room for `capacity` keys.
    fn new(capacity: usize) -> Ring {
        let keys = vec![NEVER; capacity.next_power_of_two()].into_boxed_slice();
        Ring { keys, first: 0, count: 0 }
    }

    /// Returns the key at place `index`, counted from the first.
    #[inline]
    fn at(&mut self, index: usize) -> &mut u64 {
        let mask = self.keys.len() - 1;
        &mut self.keys[(self.first + index) & mask]
    }

    /// Returns all keys, in order.
    fn all(&self) -> impl Iterator<Item = u64> {
        let mask = self.keys.len() - 1;
        (0..self.count).map(move |index| self.keys[(self.first + index) & mask])
    }

    /// Adds a key; `head` is the key before all others of the queue. A new key comes before others
    /// only if their events are at the same time.
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

    /// Removes the first key for which `is_it` returns `true`, if there is one.
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

    /// Compares with a sorted list: any mixture of queues, ties in time broken by slot.
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
                    // The duration is constant in all queues but the last.
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
