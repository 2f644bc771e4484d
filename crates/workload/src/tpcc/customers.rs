//! Customers by last name: the names to search for, and the choice among customers with the same name.

use super::execution::{int_value, missing_row};
use super::input::CustomerKey;
use super::profile::Profile;
use super::random::LastNames;
use prony_session::{DbError, DbReply};
use prony_wire::Value;

#[derive(Debug)]
pub struct SearchNames {
    names: LastNames,
    finds_names: bool,
}

/// A name that no customer has, because it has no syllables.
const UNKNOWN_NAME: &str = "?";

impl SearchNames {
    pub fn new(profile: &Profile) -> Self {
        SearchNames {
            names: LastNames::new(),
            finds_names: profile.finds_names,
        }
    }

    /// The name to send for a number of [`LastNames`].
    pub fn search_text(&self, name: u32) -> &str {
        if self.finds_names { self.names.get(name) } else { UNKNOWN_NAME }
    }

    /// The parameters of a routine for the customer: the number and the name, one of which is NULL.
    pub fn routine_values(&self, customer: CustomerKey) -> [Value<'_>; 2] {
        match customer {
            CustomerKey::Number(c_id) => [int_value(c_id), Value::Null],
            CustomerKey::Name { name, fallback } => [
                fallback.map_or(Value::Null, int_value),
                Value::Text(self.search_text(name)),
            ],
        }
    }

    /// The parameters of a routine of HammerDB for the customer: whether to search by name (1 or 0), the
    /// number, and the name.
    pub fn hammerdb_routine_values(&self, customer: CustomerKey) -> [Value<'_>; 3] {
        match customer {
            CustomerKey::Number(c_id) => [int_value(0), int_value(c_id), Value::Text("")],
            CustomerKey::Name { name, fallback } => [
                int_value(1),
                int_value(fallback.unwrap_or(0)),
                Value::Text(self.search_text(name)),
            ],
        }
    }
}

/// The number of the customer in the middle, rounded up, of those with the same last name, ordered by first
/// name [2.5.2.2]. Column 0 of this result has their numbers.
pub fn middle_customer(rows: &DbReply<'_>, result_index: usize) -> Result<i64, DbError> {
    let matching = || rows.iter().filter(|(index, _)| *index == result_index);
    let c_id = middle_index(matching().count()).and_then(|index| matching().nth(index)?.1.int(0));
    c_id.ok_or_else(|| missing_row("a customer of that last name"))
}

/// The index, from 0, of the customer in the middle of `count` customers.
fn middle_index(count: usize) -> Option<usize> {
    count.checked_sub(1).map(|last| last / 2)
}

#[cfg(test)]
mod tests {
    use super::middle_index;

    #[test]
    fn the_middle_index_is_rounded_up() {
        // The position, counted from 1, is n/2 rounded up: the 1st of 1 and 2, the 2nd of 3 and 4, the 3rd of
        // 5.
        for (count, position) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)] {
            assert_eq!(middle_index(count), Some(position - 1), "of {count}");
            assert_eq!(position, count.div_ceil(2));
        }
        assert_eq!(middle_index(0), None);
    }
}
