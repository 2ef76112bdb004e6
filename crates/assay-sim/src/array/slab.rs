//! A slab: values in numbered places.

/// A slab: values in numbered places, which are reused. A removed value stays until then.
#[derive(Debug)]
pub(super) struct Slab<T> {
    pub(super) places: Vec<T>,
    pub(super) free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.places[index as usize] = value;
                index
            }
            None => {
                self.places.push(value);
                self.places.len() as u32 - 1
            }
        }
    }

    pub(super) fn remove(&mut self, index: u32) {
        self.free.push(index);
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, index: u32) -> &T {
        &self.places[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.places[index as usize]
    }
}
