//! The lines of `-i` while rows are generated, and the last line.
//!
//! In: finished rows and elapsed seconds. Out: text for standard error. Must never: read a clock.

use super::level::Level;
use prony_workload::tpcb::Table;

/// Rows between two lines without `-q`.
const ROWS_PER_LINE: u64 = 100_000;
/// Seconds between two lines with `-q`.
const QUIET_INTERVAL_S: f64 = 5.0;

/// Formats the progress of one table's generation.
#[derive(Clone, Debug)]
pub struct LoadProgress {
    table: Table,
    total_rows: u64,
    quiet: bool,
    /// Whether standard error is a terminal, on which each line replaces the previous one.
    is_terminal: bool,
    /// Whether lines contain the table's name, as from level 17 on.
    names_table: bool,
    /// The number of rows in the last printed line.
    rows_printed: u64,
    /// With `-q`: a line is due when this many intervals have passed.
    interval_number: f64,
    /// The length of the previous line, which the next line overwrites on a terminal.
    line_length: usize,
}

impl LoadProgress {
    /// Starts a table. `quiet`: whether `-q` is set; `is_terminal`: whether standard error is a terminal.
    pub fn new(level: &Level, table: Table, scale: u32, quiet: bool, is_terminal: bool) -> Self {
        Self {
            table,
            total_rows: table.rows(scale),
            quiet,
            is_terminal,
            names_table: level.at_least(17),
            rows_printed: 0,
            interval_number: 1.0,
            line_length: 0,
        }
    }

    /// The text to print when `rows` of the table are finished after `elapsed_s` seconds; often empty. With
    /// `-q` pgbench checks the time every 100 rows, and at the last row.
    pub fn advance(&mut self, rows: u64, elapsed_s: f64) -> String {
        let mut text = String::new();
        if self.quiet {
            let checks_time = rows.is_multiple_of(100) || rows / 100 > self.rows_printed / 100;
            let is_last = rows == self.total_rows && rows.is_multiple_of(100);
            let is_due =
                is_last || (checks_time && elapsed_s >= self.interval_number * QUIET_INTERVAL_S);
            if is_due && rows > self.rows_printed {
                self.push_line(&mut text, rows, elapsed_s);
                self.interval_number = (elapsed_s / QUIET_INTERVAL_S).ceil();
            }
            return text;
        }
        // Print a line for each multiple, even if one call passes several.
        while self.rows_printed + ROWS_PER_LINE <= rows {
            self.push_line(&mut text, self.rows_printed + ROWS_PER_LINE, elapsed_s);
        }
        text
    }

    /// The text to print after all rows; on a terminal it clears the line for the next text.
    pub fn finish(&self) -> String {
        if !self.is_terminal {
            String::new()
        } else if !self.names_table {
            "\n".to_owned()
        } else if self.line_length == 0 {
            String::new()
        } else {
            " ".repeat(self.line_length) + "\r"
        }
    }

    /// Appends a line to `text`.
    fn push_line(&mut self, text: &mut String, rows: u64, elapsed_s: f64) {
        let remaining_s = (self.total_rows as f64 - rows as f64) * elapsed_s / rows as f64;
        let total = self.total_rows;
        let percent = rows * 100 / total;
        let of_table =
            if self.names_table { format!(" of {}", self.table.name()) } else { String::new() };
        let line = format!(
            "{rows} of {total} tuples ({percent}%){of_table} done (elapsed {elapsed_s:.2} s, remaining {remaining_s:.2} s)"
        );
        // Blanks overwrite the end of a longer previous line.
        let blanks = " ".repeat(self.line_length.saturating_sub(line.len()));
        self.line_length = line.len();
        self.rows_printed = rows;
        *text += &line;
        *text += &blanks;
        text.push(if self.is_terminal { '\r' } else { '\n' });
    }
}

/// A step's name in the last line; `None` for a character that is no step, such as a blank.
fn step_name(step: char) -> Option<&'static str> {
    Some(match step {
        'd' => "drop tables",
        't' => "create tables",
        'g' => "client-side generate",
        'G' => "server-side generate",
        'v' => "vacuum",
        'p' => "primary keys",
        'f' => "foreign keys",
        _ => return None,
    })
}

/// The last line: the steps in the order of execution, and the seconds of each step.
pub fn done_line(steps: &[(char, f64)]) -> String {
    let named = steps
        .iter()
        .filter_map(|(step, seconds)| Some((step_name(*step)?, seconds)));
    let mut total_s = 0.0;
    let mut parts = Vec::new();
    for (name, seconds) in named {
        total_s += seconds;
        parts.push(format!("{name} {seconds:.2} s"));
    }
    format!("done in {total_s:.2} s ({}).\n", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn new_progress(major: u16, table: Table, scale: u32, flags: [bool; 2]) -> LoadProgress {
        let [quiet, is_terminal] = flags;
        let level = Level::of_major(major).unwrap();
        LoadProgress::new(&level, table, scale, quiet, is_terminal)
    }

    #[test]
    fn a_line_is_printed_every_100_000_rows() {
        let mut load = new_progress(16, Table::Accounts, 3, [false, false]);
        assert_eq!(load.advance(99_999, 0.5), "");
        assert_eq!(
            load.advance(100_000, 1.0),
            "100000 of 300000 tuples (33%) done (elapsed 1.00 s, remaining 2.00 s)\n"
        );
        assert_eq!(load.advance(300_000, 3.0).lines().count(), 2);
        assert_eq!(load.finish(), "");
        let mut branches = new_progress(18, Table::Branches, 10, [false, false]);
        assert_eq!(branches.advance(10, 0.1), "");
    }

    #[test]
    fn quiet_prints_at_intervals_and_at_the_end() {
        let mut load = new_progress(18, Table::Accounts, 1, [true, false]);
        assert_eq!(load.advance(100, 0.1), "");
        load.advance(50_000, 5.2)
            .assert_contains("(50%) of pgbench_accounts done");
        assert_eq!(load.advance(60_000, 9.0), "");
        load.advance(100_000, 9.5)
            .assert_starts_with("100000 of 100000 tuples (100%)");
        assert_eq!(load.advance(100_000, 9.6), "");
    }

    #[test]
    fn on_a_terminal_lines_replace_each_other() {
        let mut load = new_progress(16, Table::Accounts, 2, [false, true]);
        let longer = load.advance(100_000, 1000.0);
        let shorter = load.advance(200_000, 1.0);
        assert_eq!(longer.len(), shorter.len());
        shorter.assert_ends_with(" \r");
        assert_eq!(load.finish(), "\n");
        let mut named = new_progress(18, Table::Accounts, 1, [false, true]);
        assert_eq!(named.finish(), "");
        let length = named.advance(100_000, 1.0).len() - 1;
        assert_eq!(named.finish(), " ".repeat(length) + "\r");
    }

    #[test]
    fn the_last_line_sums_the_steps() {
        assert_eq!(
            done_line(&[('d', 0.06), (' ', 9.0), ('G', 0.24)]),
            "done in 0.30 s (drop tables 0.06 s, server-side generate 0.24 s).\n"
        );
    }
}
