//! Parses the tables in this crate's text files, such as `options.txt`.
//!
//! `#` begins a comment, `[...]` a group of rows, and ` | ` separates columns.

/// The rows with their group; the group is empty before the first `[...]`.
///
/// # Panics
///
/// A row does not have `N` columns. This is a bug, because the table is part of the program.
pub(crate) fn rows<const N: usize>(
    text: &'static str,
) -> impl Iterator<Item = (&'static str, [&'static str; N])> {
    let mut group = "";
    text.lines().filter_map(move |line| {
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        if let Some(name) = line.strip_prefix('[') {
            group = name.trim_end_matches(']');
            return None;
        }
        let columns: Vec<&str> = line.splitn(N, " | ").map(str::trim).collect();
        let columns = <[&str; N]>::try_from(columns);
        let columns = columns.unwrap_or_else(|_| panic!("{line}: not {N} columns"));
        Some((group, columns))
    })
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn rows_have_a_group_and_columns() {
        let table = "# comment\n[one]\na  |  | 1\n\n[two]\nb | x|y | c | d\n";
        let rows: Vec<_> = rows::<3>(table).collect();
        assert_eq!(
            rows,
            [("one", ["a", "", "1"]), ("two", ["b", "x|y", "c | d"])]
        );
    }
}
