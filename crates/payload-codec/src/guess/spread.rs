//! A hash for keys that are our own numbers, of classes, types and spans: nobody can choose them to collide.

use std::hash::{BuildHasherDefault, Hasher};

/// What to build a map of such keys with.
pub type Spread = BuildHasherDefault<Multiply>;

/// Spreads a key by one multiplication.
#[derive(Default)]
pub struct Multiply(u64);

impl Hasher for Multiply {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
