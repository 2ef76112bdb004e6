//! Sorts events by time.
//!
//! A stream is nearly in order: an interrupt may write a record while its processor writes another,
//! and the clocks of the processors that ftrace merges differ a bit. A window of events is kept
//! sorted. An event that is older than those which have left the window is passed on out of order,
//! and counted.

use super::event::Event;
use std::collections::VecDeque;

/// The number of events in the window.
const EVENTS: usize = 1024;

/// The latest events of a trace, sorted by time.
#[derive(Default)]
pub struct SortingWindow {
    events: VecDeque<Event>,
    /// The latest time of events that have left the window.
    passed: u64,
    /// The number of events that came too late to be sorted.
    late: u64,
}

impl SortingWindow {
    /// Adds an event. If the window is full, removes and returns the earliest one.
    #[inline]
    pub fn push(&mut self, event: Event) -> Option<Event> {
        self.late += u64::from(event.time < self.passed);
        self.events.push_back(event);
        let mut at = self.events.len() - 1;
        // Equal times keep the order they came in.
        while at > 0 && self.events[at - 1].time > event.time {
            self.events.swap(at - 1, at);
            at -= 1;
        }
        if self.events.len() > EVENTS { self.pop() } else { None }
    }

    /// Removes and returns the earliest event.
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.passed = self.passed.max(event.time);
        Some(event)
    }

    /// Returns the number of events that came after a later one had left the window.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::event::{Action, Of};
    use assay_spec::trace::Device;

    fn event(time: u64, sequence: u32) -> Event {
        let device = Device::default();
        let (action, of) = (Action::Queue, Of::Nothing);
        let (sector, bytes, cpu, process, error) = (0, 0, 0, 0, 0);
        Event { time, sector, bytes, device, sequence, cpu, process, error, action, of }
    }

    #[test]
    fn what_is_near_is_sorted_and_what_is_far_is_counted() {
        let mut window = SortingWindow::default();
        let mut times = Vec::new();
        let mut push = |window: &mut SortingWindow, time, sequence| {
            times.extend(window.push(event(time, sequence)).map(|e| (e.time, e.sequence)));
        };
        for i in 0..EVENTS as u64 * 3 {
            // Each time comes twice, and neighbouring times are swapped.
            push(&mut window, (i / 2) ^ 1, i as u32);
        }
        push(&mut window, 3, 9);
        assert_eq!(window.late(), 1);
        while let Some(e) = window.pop() {
            times.push((e.time, e.sequence));
        }
        let late = times.iter().position(|t| *t == (3, 9)).unwrap();
        times.remove(late);
        assert_eq!(times.len(), EVENTS * 3);
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    }
}
