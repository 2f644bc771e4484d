//! Warnings during a run.
//!
//! A warning is printed when a transaction fails with a new class of error, when connections are lost, and when they
//! are back. Warnings are not repeated, and their number is limited.

use prony_measure::{ErrorClass, IntervalRow};
use prony_report::units::count;

/// Maximum number of lines about failed transactions; the report has all error classes.
const MAX_ERROR_LINES: usize = 5;

/// What was reported so far, so that no warning is repeated.
#[derive(Default)]
pub struct RunWarnings {
    reported_classes: Vec<ErrorClass>,
    /// The largest number of connections at the end of a second.
    max_connections: u32,
    /// Whether connections were lost at the end of the last second.
    has_lost_connections: bool,
}

impl RunWarnings {
    /// The lines for one second of the run. `has_persistent_connections`: whether connections last for the
    /// whole run.
    pub fn lines_for_second(
        &mut self,
        row: &IntervalRow,
        has_persistent_connections: bool,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for error in row.interval.errors.entries() {
            if self.reported_classes.contains(&error.class)
                || self.reported_classes.len() >= MAX_ERROR_LINES
            {
                continue;
            }
            self.reported_classes.push(error.class);
            let code = String::from_utf8_lossy(&error.code);
            let message = match error.example.as_str() {
                "" => String::new(),
                text => format!(": {text}"),
            };
            let suffix = match error.class {
                ErrorClass::LostConnection | ErrorClass::AmbiguousCommit => "; reconnecting",
                _ => "",
            };
            let class = match error.class {
                ErrorClass::Other => String::new(),
                class => format!(", {}", class.name()),
            };
            lines.push(format!(
                "first failed transaction{class} ({code}){message}{suffix}"
            ));
        }
        if has_persistent_connections {
            let health = &row.interval.health;
            lines.extend(self.connection_warning(health.connections, health.connections_lost));
        }
        lines
    }

    /// The warning about connections that were lost or are back. `lost` counts connections that are not back
    /// yet; connections of ended threads count neither as up nor as lost.
    fn connection_warning(&mut self, up: u32, lost: u32) -> Option<String> {
        self.max_connections = self.max_connections.max(up.saturating_add(lost));
        let has_lost = lost > 0;
        let had_lost = std::mem::replace(&mut self.has_lost_connections, has_lost);
        if has_lost == had_lost || (!has_lost && up < self.max_connections) {
            return None;
        }
        let (lost, max_connections) = (u64::from(lost), u64::from(self.max_connections));
        Some(if has_lost {
            format!(
                "{} of {} connections lost, retrying",
                count(lost),
                count(max_connections)
            )
        } else {
            format!("all {} connections are back", count(max_connections))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_measure::{Interval, ProcessHealth, RunPhase, Span};

    fn row(up: u32, lost: u32, errors: &[(ErrorClass, &str)]) -> IntervalRow {
        let span = Span {
            index: 0,
            phase: RunPhase::Measured,
            start_ns: 0,
            end_ns: 1,
        };
        let mut interval = Box::new(Interval::empty(span));
        interval.health.connections = up;
        interval.health.connections_lost = lost;
        for (class, message) in errors {
            interval.errors.count(0, *class, *b"53100", 1);
            interval.errors.store_example(0, *class, *b"53100", message);
        }
        IntervalRow {
            interval,
            worker_cpu_ns: Vec::new(),
            process: ProcessHealth::default(),
        }
    }

    #[test]
    fn each_error_class_is_reported_once_and_an_outage_at_its_start_and_end() {
        let disk_full = [(ErrorClass::Resources, "No space left on device")];
        let mut warnings = RunWarnings::default();
        assert_eq!(warnings.lines_for_second(&row(8, 0, &[]), true), [""; 0]);
        assert_eq!(
            warnings.lines_for_second(&row(8, 0, &disk_full), true),
            ["first failed transaction, insufficient resources (53100): No space left on device"]
        );
        assert_eq!(
            warnings.lines_for_second(&row(8, 0, &disk_full), true),
            [""; 0]
        );
        let other = [(ErrorClass::Other, "permission denied")];
        assert_eq!(
            RunWarnings::default().lines_for_second(&row(8, 0, &other), true),
            ["first failed transaction (53100): permission denied"]
        );
        assert_eq!(
            warnings.lines_for_second(&row(0, 8, &[]), true),
            ["8 of 8 connections lost, retrying"]
        );
        assert_eq!(warnings.lines_for_second(&row(3, 5, &[]), true), [""; 0]);
        assert_eq!(
            warnings.lines_for_second(&row(8, 0, &[]), true),
            ["all 8 connections are back"]
        );
        // With one connection per transaction, the number of open connections is random.
        assert_eq!(warnings.lines_for_second(&row(1, 7, &[]), false), [""; 0]);
    }

    #[test]
    fn connections_of_an_ended_thread_are_not_reported_as_lost() {
        let mut warnings = RunWarnings::default();
        for (up, lost) in [(8, 0), (4, 0), (0, 0)] {
            assert_eq!(
                warnings.lines_for_second(&row(up, lost, &[]), true),
                [""; 0]
            );
        }
        // One of two threads ends while the other waits for its connections.
        let mut warnings = RunWarnings::default();
        assert_eq!(warnings.lines_for_second(&row(8, 0, &[]), true), [""; 0]);
        assert_eq!(
            warnings.lines_for_second(&row(0, 4, &[]), true),
            ["4 of 8 connections lost, retrying"]
        );
        assert_eq!(warnings.lines_for_second(&row(4, 0, &[]), true), [""; 0]);
    }
}
