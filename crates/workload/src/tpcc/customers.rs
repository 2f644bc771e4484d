//! Customers by last name.
//!
//! In: a profile, an input. Out: the name to search for. Must never: take another than the middle
//! one of those that share a name.

use super::input::Who;
use super::profile::Profile;
use super::random::LastNames;
use super::way::{int, middle, missing};
use prony_session::{DbError, Rows};
use prony_wire::Value;

/// The last names that users ask for.
#[derive(Debug)]
pub struct Names {
    names: LastNames,
    found: bool,
}

/// A name that no customer has: names are made of syllables.
const NOBODY: &str = "?";

impl Names {
    /// Names as this profile asks for them.
    pub fn new(profile: &Profile) -> Self {
        Names {
            names: LastNames::new(),
            found: profile.finds_names,
        }
    }

    /// The name as it is asked for.
    pub fn get(&self, name: u32) -> &str {
        match self.found {
            true => self.names.get(name),
            false => NOBODY,
        }
    }

    /// The number and the name as a function takes them; NULL for what is not given.
    pub fn values(&self, who: Who) -> [Value<'_>; 2] {
        match who {
            Who::Number(c_id) => [int(c_id), Value::Null],
            Who::Name { name, otherwise } => [
                otherwise.map_or(Value::Null, int),
                Value::Text(self.get(name)),
            ],
        }
    }
}

/// The customer that is taken of those found, whose numbers stand in column 0 of result `result`.
pub fn chosen(rows: &Rows<'_>, result: usize, otherwise: Option<u32>) -> Result<i64, DbError> {
    let found = || rows.iter().filter(|(number, _)| *number == result);
    let place = middle(found().count());
    place
        .and_then(|place| found().nth(place)?.1.int(0))
        .or(otherwise.map(i64::from))
        .ok_or_else(|| missing("a customer of that last name"))
}

/// The same in PL/pgSQL: `v_c_id` from `p_c_id` and `p_c_last`. It needs `v_found int[]`.
pub fn choosing(w_id: &str, d_id: &str) -> String {
    format!(
        "  v_c_id := p_c_id;
  if p_c_last is not null then
    v_found := array(select c_id from customer
      where c_w_id = {w_id} and c_d_id = {d_id} and c_last = p_c_last order by c_first, c_id);
    if cardinality(v_found) > 0 then
      v_c_id := v_found[(cardinality(v_found) + 1) / 2];
    elsif v_c_id is null then
      raise no_data_found using message = 'a customer of that last name is not there';
    end if;
  end if;"
    )
}
