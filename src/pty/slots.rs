//! A bounded table that gives equal values one small number, and numbers back again.

use std::collections::HashMap;
use std::hash::Hash;

/// Values by number. Numbers of collected values are given out again.
#[derive(Debug)]
pub(super) struct Slots<T> {
    values: Vec<Option<T>>,
    numbers: HashMap<T, u32>,
    free: Vec<u32>,
    capacity: usize,
}

impl<T: Clone + Eq + Hash> Slots<T> {
    /// An empty table for at most `capacity` values.
    pub fn new(capacity: usize) -> Self {
        Self { values: Vec::new(), numbers: HashMap::new(), free: Vec::new(), capacity }
    }

    /// The number of `value`, which is added where it is new; `None` where the table is full.
    pub fn intern(&mut self, value: &T) -> Option<u32> {
        if let Some(number) = self.numbers.get(value) {
            return Some(*number);
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.values.len() < self.capacity => {
                self.values.push(None);
                u32::try_from(self.values.len() - 1).ok()?
            }
            None => return None,
        };
        *self.values.get_mut(number as usize)? = Some(value.clone());
        self.numbers.insert(value.clone(), number);
        Some(number)
    }

    /// The value behind `number`.
    pub fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize)?.as_ref()
    }

    /// How many values are kept.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Forgets every value whose number `is_used` denies.
    pub fn retain(&mut self, is_used: impl Fn(u32) -> bool) {
        for (number, value) in (0u32..).zip(&mut self.values) {
            if !is_used(number)
                && let Some(value) = value.take()
            {
                self.numbers.remove(&value);
                self.free.push(number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_stable_bounded_and_reused() {
        let mut slots = Slots::new(2);
        assert_eq!([slots.intern(&"a"), slots.intern(&"b"), slots.intern(&"a")], [Some(0), Some(1), Some(0)]);
        assert_eq!(slots.intern(&"c"), None);
        slots.retain(|number| number == 1);
        assert_eq!((slots.get(0), slots.get(1), slots.len()), (None, Some(&"b"), 1));
        assert_eq!(slots.intern(&"c"), Some(0));
    }
}
