//! Keys of records, such as `user6284781860667377211`, which are derived from record numbers. Two clients of
//! a run must never insert records with the same number.
//!
//! YCSB numbers loaded records from 0, and inserted ones with a counter that all threads share. Prony's users
//! share no counter; each client has its own series of numbers instead ([`inserted_number`]). Concurrent runs
//! have clients with the same numbers: a client continues in a different series if another run has inserted
//! its key ([`next_series`]).

/// Maximum number of digits in a key, after the prefix.
const DIGITS_MAX: usize = 19;
pub const PREFIX: &str = "user";
/// The numbers of series fit into this many bits: a plan has at most a million clients.
const SERIES_BITS: u32 = 20;
/// The difference between the series that a client tries. In a run of more clients the next series may be another
/// client's: whichever of the two finds its key taken goes on to the one after. The check looks for the first records of
/// this many series at a time, until none of them exists.
pub const SERIES_STEP: u32 = 1_000;

/// The absolute value of the 64-bit FNV-1a hash over the eight bytes of a number, the least significant byte
/// first. YCSB uses it to scatter keys and requests over the key space. Constants: G. Fowler, L. C. Noll,
/// K.-P. Vo and D. Eastlake, "The FNV Non-Cryptographic Hash Algorithm" (IETF draft).
#[inline]
pub fn hash(number: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in number.to_le_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash.cast_signed().unsigned_abs()
}

/// Returns the number of the record with this ordinal, from 0, in a series, in a table that was loaded with
/// `records` records. The number depends on nothing else, so that a run continues where an earlier one ended.
/// A client begins with the series that has the client's number.
#[inline]
pub fn inserted_number(records: u64, series: u32, ordinal: u64) -> u64 {
    records + (ordinal << SERIES_BITS) + u64::from(series)
}

/// Returns the series in which a client continues if another run inserts in this one; `None` after the last.
pub fn next_series(series: u32) -> Option<u32> {
    Some(series + SERIES_STEP).filter(|next| next >> SERIES_BITS == 0)
}

/// The key of a record, as text.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    bytes: [u8; PREFIX.len() + DIGITS_MAX],
    length: usize,
}

impl Key {
    #[inline]
    pub fn of(number: u64) -> Key {
        let mut bytes = [0; PREFIX.len() + DIGITS_MAX];
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(hash(number)).as_bytes();
        let length = PREFIX.len() + digits.len();
        bytes[..PREFIX.len()].copy_from_slice(PREFIX.as_bytes());
        bytes[PREFIX.len()..length].copy_from_slice(digits);
        Key { bytes, length }
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub fn text(&self) -> &str {
        // The bytes are ASCII, so the conversion never fails.
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The first keys that the original `ycsb load` prints.
    #[test]
    fn keys_match_those_of_ycsb() {
        for (number, key) in [
            (0, "user6284781860667377211"),
            (1, "user8517097267634966620"),
            (2, "user1820151046732198393"),
        ] {
            assert_eq!(Key::of(number).text(), key);
        }
        assert!(
            u64::MAX.to_string().len() > DIGITS_MAX,
            "an unsigned hash could have too many digits"
        );
        assert_eq!(i64::MAX.to_string().len(), DIGITS_MAX);
    }

    #[test]
    fn inserted_records_have_unique_numbers() {
        let mut numbers = HashSet::new();
        for client in [0, 1, 2, 999_999] {
            for ordinal in 0..100 {
                let number = inserted_number(1_000, client, ordinal);
                assert!(number >= 1_000 && numbers.insert(number));
            }
        }
    }

    #[test]
    fn the_series_of_a_client_end_at_the_maximum() {
        let series: Vec<u32> =
            std::iter::successors(Some(7), |series| next_series(*series)).collect();
        assert_eq!((series[1], series.len()), (1_007, 1_049));
        assert!(series.iter().all(|series| *series < 1 << SERIES_BITS));
    }
}
