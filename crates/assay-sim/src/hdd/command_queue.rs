//! The queue of commands: those that wait for the arm, and writes that wait for room in the cache.

use super::arm::Arm;
use super::geometry::SectorPlace;
use super::order::{CommandOrder, PendingSeek};
use assay_spec::Nanos;
use std::collections::VecDeque;

/// A command of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub tag: u32,
    /// The order of arrival.
    pub number: u64,
    /// When it arrived.
    pub came: Nanos,
    /// The first sector.
    pub first: u64,
    pub sectors: u64,
    /// Whether it is a write that ends only when it is on the platter.
    pub fua: bool,
    pub kind: CommandKind,
}

/// What a waiting command waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum CommandKind {
    /// The arm, to read all sectors.
    Read,
    /// The arm, to read the sectors behind the first `have`. Segment `slot` has those, and the link
    /// may take them from `from` on.
    Rest { have: u64, slot: usize, from: Nanos },
    /// The arm, to write.
    Write,
    /// Room in the cache. Only the first command that waits for room is among those that wait for
    /// the arm.
    Room,
}

/// A flush, or a forced write in the cache. It waits for the writes that the cache held when it
/// arrived, and for none that come later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    pub(super) tag: u32,
    /// The order of submission.
    pub(super) number: u64,
    /// The earliest time at which it can end.
    pub(super) ready: Nanos,
    /// The number of the last use of the cache that it covers.
    pub(super) until: u64,
}

/// The commands that wait, with the order in which the arm serves them.
pub(super) struct CommandQueue {
    order: Box<dyn CommandOrder + Send>,
    /// The commands that wait for the arm. Of the writes that wait for room, only the first.
    commands: Vec<Command>,
    /// What the order sees of each of `commands`.
    seeks: Vec<PendingSeek>,
    /// The other writes that wait for room, and when each may have it.
    room: VecDeque<(Command, Nanos)>,
}

impl CommandQueue {
    /// Creates an empty queue with this order.
    pub(super) fn new(order: Box<dyn CommandOrder + Send>) -> CommandQueue {
        CommandQueue { order, commands: Vec::new(), seeks: Vec::new(), room: VecDeque::new() }
    }

    /// Adds a command that the arm may serve from `ready` on, at `place`.
    pub(super) fn push(&mut self, command: Command, ready: Nanos, place: SectorPlace) {
        let Command { number, came, kind, .. } = command;
        let write = matches!(kind, CommandKind::Write | CommandKind::Room);
        self.seeks.push(PendingSeek { number, came, ready, place, write });
        self.commands.push(command);
    }

    /// Removes and returns command `index`. The last one takes its index.
    pub(super) fn remove(&mut self, index: usize) -> (Command, PendingSeek) {
        (self.commands.swap_remove(index), self.seeks.swap_remove(index))
    }

    /// Returns command `index`.
    pub(super) fn get(&self, index: usize) -> Command {
        self.commands[index]
    }

    /// Returns when the arm may serve command `index`.
    pub(super) fn ready(&self, index: usize) -> Nanos {
        self.seeks[index].ready
    }

    /// Changes the place to which the arm must go for command `index`.
    pub(super) fn set_place(&mut self, index: usize, place: SectorPlace) {
        self.seeks[index].place = place;
    }

    /// Returns the number of commands that wait for the arm.
    pub(super) fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns `true` if no command waits for the arm.
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Returns the number of all commands that wait.
    pub(super) fn waiting(&self) -> usize {
        self.commands.len() + self.room.len()
    }

    /// Returns the index of the command that the arm serves next at `at`, or `None` if none is
    /// ready by then.
    pub(super) fn next(&self, at: Nanos, arm: &Arm) -> Option<usize> {
        self.order.next(at, arm, &self.seeks)
    }

    /// Returns when a free arm could get its next command, or `None` if no command waits.
    pub(super) fn next_ready(&self) -> Option<Nanos> {
        if self.seeks.is_empty() { None } else { self.order.ready(&self.seeks) }
    }

    /// Returns the index of the first write that waits for room.
    pub(super) fn first_for_room(&self) -> Option<usize> {
        self.commands.iter().position(|command| matches!(command.kind, CommandKind::Room))
    }

    /// Adds a write that waits for room behind the first one, and may have it from `ready` on.
    pub(super) fn push_for_room(&mut self, command: Command, ready: Nanos) {
        self.room.push_back((command, ready));
    }

    /// Removes and returns the next write that waits for room behind the first one.
    pub(super) fn pop_for_room(&mut self) -> Option<(Command, Nanos)> {
        self.room.pop_front()
    }
}
