//! The state in which a drive is built.

use crate::ftl::history::RandomWrites;
use assay_spec::seed::mix;

/// The state in which a flash drive is built; other drives ignore it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InitialState {
    /// Nothing is written.
    New,
    /// Everything was written from start to end, again and again.
    Filled,
    /// Random writes have gone on until the drive reached its steady state. Only drives for which
    /// [`can_be_steady`](crate::can_be_steady) returns `Ok` can be built like that.
    Steady(RandomWrites),
}

impl InitialState {
    /// Returns the initial state of member `index` of an array in this state: the members' seeds
    /// differ.
    pub fn of_member(self, index: usize) -> InitialState {
        match self {
            InitialState::Steady(writes) => {
                InitialState::Steady(writes.seeded(mix(writes.seed ^ !(index as u64))))
            }
            state => state,
        }
    }
}
