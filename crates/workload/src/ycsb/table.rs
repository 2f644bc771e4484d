//! The table: its name and columns. Must never accept a table with different columns.

use super::engine;
use super::options::FIELDS_MAX;
use crate::catalog::Tables;
use prony_document::SqlDialect;

pub const NAME: &str = "usertable";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserTable;

impl Tables for UserTable {
    const ALL: &'static [Self] = &[UserTable];

    fn name(self) -> &'static str {
        NAME
    }

    fn columns(self, _: SqlDialect) -> Vec<&'static str> {
        // Only for messages: the number of fields is an option, and `has_columns` checks the fields.
        vec!["ycsb_key", "field0", "..."]
    }

    fn has_columns(self, _: SqlDialect, columns: &str) -> bool {
        field_count(columns).is_some()
    }

    fn key(self, _: SqlDialect) -> &'static [&'static str] {
        &["ycsb_key"]
    }
}

/// Number of fields in a table with these columns; `None` if the table is not YCSB's. Ignores case, because
/// YCSB's documentation writes column names in capitals, and MySQL preserves them.
pub fn field_count(columns: &str) -> Option<u32> {
    let count = u32::try_from(columns.split(',').count() - 1).ok()?;
    let matches = engine::column_list(count).eq_ignore_ascii_case(columns);
    (matches && (1..=FIELDS_MAX).contains(&count)).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::field_count;

    #[test]
    fn only_the_columns_of_ycsb_are_accepted() {
        assert_eq!(field_count("ycsb_key,field0"), Some(1));
        assert_eq!(field_count("YCSB_KEY,FIELD0,FIELD1,FIELD2"), Some(3));
        let invalid = [
            "",
            "ycsb_key",
            "ycsb_key,field1",
            "ycsb_key,field0,field2",
            "id,field0",
            "field0,ycsb_key",
        ];
        for columns in invalid {
            assert_eq!(field_count(columns), None, "{columns}");
        }
        let too_many: String = (0..101).map(|field| format!(",field{field}")).collect();
        assert_eq!(field_count(&format!("ycsb_key{too_many}")), None);
    }
}
