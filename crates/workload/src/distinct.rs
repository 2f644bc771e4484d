//! Numbers of which no two users of a run draw the same.
//!
//! In: who the user is. Out: numbers of 32 bits. Must never: repeat one before 2^32 were drawn.

use prony_session::UserId;

/// One user's part of all numbers of 32 bits, in an order that looks like chance.
#[derive(Clone, Debug)]
pub struct Distinct {
    next: u32,
    step: u32,
    key: u32,
}

impl Distinct {
    /// The part of this user.
    pub fn new(id: UserId) -> Self {
        Distinct {
            next: id.client,
            step: id.clients.max(1),
            key: id.seed as u32,
        }
    }

    /// The next number. The mixing is one to one: C. Wellons, "Prospecting for hash functions"
    /// (lowbias32, in the public domain).
    pub fn draw(&mut self) -> u32 {
        let mut mixed = self.next ^ self.key;
        self.next = self.next.wrapping_add(self.step);
        mixed ^= mixed >> 16;
        mixed = mixed.wrapping_mul(0x7feb_352d);
        mixed ^= mixed >> 15;
        mixed = mixed.wrapping_mul(0x846c_a68b);
        mixed ^= mixed >> 16;
        mixed
    }
}
