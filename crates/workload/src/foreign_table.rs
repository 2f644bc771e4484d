//! The error for a table of another application that has the name of a workload's table.

use crate::Error;
use crate::remedy::Remedy;

/// The error for a table with other columns than expected; both lists are separated by commas. It names one difference.
pub fn foreign_table_error(
    name: &str,
    columns: &str,
    expected: &str,
    remedy: Option<Remedy>,
) -> Error {
    let names = |list: &str| -> Vec<String> {
        let names = list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let (has, expects) = (names(columns), names(expected));
    let missing = expects.iter().find(|column| !has.contains(column));
    let additional = has.iter().find(|column| !expects.contains(column));
    let difference = match (missing, additional) {
        (Some(column), _) => format!("it has no column {column}"),
        (None, Some(column)) => format!("it has a column {column}"),
        (None, None) => "its columns are in another order".to_owned(),
    };
    let other_place =
        "rename it, or use another database or search_path: Prony drops only its own tables";
    Error::Data {
        problem: format!("{name} exists and is not a table of this workload: {difference}"),
        remedy: remedy.unwrap_or_else(|| other_place.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn one_difference_is_named() {
        for (columns, difference) in [
            ("", "it has no column id"),
            ("id,name", "it has no column k"),
            ("id,k,pad,x", "it has a column x"),
            ("k,id,pad", "its columns are in another order"),
        ] {
            let error = foreign_table_error("t", columns, "id,k,pad", None).to_string();
            error.assert_contains(difference);
            error.assert_contains("hint: rename it");
        }
    }
}
