//! A table of values by small numbers.

/// The table. It uses a number again when its value was removed.
pub(super) struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds a value, and returns its number.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.values[index as usize] = Some(value);
                index
            }
            None => {
                self.values.push(Some(value));
                self.values.len() as u32 - 1
            }
        }
    }

    /// Returns the value of a number that is in use.
    pub(super) fn get(&self, index: u32) -> &T {
        self.values[index as usize].as_ref().expect("in use")
    }

    /// Returns the value of a number that is in use.
    pub(super) fn get_mut(&mut self, index: u32) -> &mut T {
        self.values[index as usize].as_mut().expect("in use")
    }

    /// Takes the value of a number that is in use, which is free from now on.
    pub(super) fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.values[index as usize].take().expect("in use")
    }
}
