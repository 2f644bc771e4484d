//! The general and the slow query log of MySQL and MariaDB.
//!
//! The general log has each statement when it begins, without its duration, and the values of prepared statements in
//! their text. The slow query log with `long_query_time = 0` has each statement when it ends, with its duration.

use super::super::raw_bytes::decode;
use super::super::recorder::LogEvent;
use super::{Records, TakeEvent, clock, duration_us};
use crate::capture::tokens;
use prony_document::SqlDialect;
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, BufRead};

/// Reads the records of a general log. One without a command may be the rest of a record in a log before this one.
pub(super) fn read_general(
    records: &mut Records<impl BufRead>,
    take: &mut TakeEvent<'_>,
) -> io::Result<()> {
    let mut last_us = 0;
    // The sessions whose last statement was EXECUTE, which the server logs once more with its values.
    let mut executes: HashSet<String> = HashSet::new();
    let begins = |line: &[u8]| is_header(line) || is_general(&String::from_utf8_lossy(line));
    while records.next_until(begins)? {
        if records.is_cut_off() {
            continue;
        }
        let text = decode(&records.record);
        let Some((time_us, session, command, argument)) = general_line(&text) else {
            records.unreadable += u64::from(!is_header(&records.record));
            continue;
        };
        let at_us = time_us.unwrap_or(last_us);
        last_us = at_us;
        if matches!(command, "Query" | "Execute") {
            let repeats = executes.remove(session) && command == "Execute";
            if repeats {
                continue;
            }
            let text = argument.trim_end_matches(['\r', '\n']);
            if command == "Query" && is_execute(text) {
                executes.insert(session.to_owned());
            }
            take(session, LogEvent::of_text(at_us, None, text))?;
        } else if let Some(event) = event_of_command(command, at_us) {
            executes.remove(session);
            take(session, event)?;
        }
    }
    Ok(())
}

/// Whether a text executes a statement that another text has prepared.
fn is_execute(text: &str) -> bool {
    let verb = tokens(text, SqlDialect::MySql).next();
    verb.is_some_and(|verb| verb.text == "execute")
}

/// Whether a line begins a record of the general log: a time or none, the number of the session and a command.
pub(super) fn is_general(line: &str) -> bool {
    general_line(line).is_some()
}

/// A line of the general log: its time if it has one, the session, the command and its argument.
fn general_line(line: &str) -> Option<(Option<i64>, &str, &str, &str)> {
    let (time_us, rest) = match clock::mysql(line) {
        Some((time_us, rest)) => (Some(time_us), rest),
        // MariaDB writes a time only when the second changes.
        None => (None, line.strip_prefix("\t\t")?),
    };
    let rest = rest.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (session, rest) = rest.split_at(digits);
    let rest = rest.strip_prefix(' ')?;
    let (command, argument) = match rest.split_once('\t') {
        Some(parts) => parts,
        None => (rest.trim_end(), ""),
    };
    let command = command.trim_end();
    let is_command = |known: &str| known.eq_ignore_ascii_case(command);
    let is_known = digits > 0 && COMMANDS.split(", ").any(is_command);
    is_known.then_some((time_us, session, command, argument))
}

/// The names of the commands of both servers; their versions write some of them with other letters.
const COMMANDS: &str = "\
    Query, Execute, Prepare, Close stmt, Reset stmt, Long Data, Fetch, Bulk_execute, \
    Bulk execute, Connect, Quit, Change user, Reset connection, Init DB, Ping, Statistics, \
    Set option, Field List, Create DB, Drop DB, Refresh, Shutdown, Processlist, Kill, Debug, \
    Sleep, Time, Delayed insert, Daemon, Error, Com_multi, clone, Connect Out, Binlog Dump, \
    Binlog Dump GTID, Table Dump, Register Slave, Register Replica, \
    Group Replication Data Stream subscription, Subscribe Group Replication Stream";

/// Whether it is one of the three lines that a server writes when it opens a log.
pub(super) fn is_header(line: &[u8]) -> bool {
    let has = |part: &[u8]| line.windows(part.len()).any(|window| window == part);
    has(b", Version: ")
        || line.starts_with(b"Tcp port:")
        || (line.starts_with(b"Time") && has(b"Id Command"))
}

/// What a command says of its session, unless it is a statement.
fn event_of_command(command: &str, at_us: i64) -> Option<LogEvent<'static>> {
    Some(match &*command.to_ascii_lowercase() {
        "connect" => LogEvent::Connected { at_us },
        "quit" => LogEvent::Disconnected { at_us },
        "change user" | "reset connection" => LogEvent::Reset,
        _ => return None,
    })
}

/// Reads the records of a slow query log. A statement without a time, a duration or a session is counted.
pub(super) fn read_slow(
    records: &mut Records<impl BufRead>,
    take: &mut TakeEvent<'_>,
) -> io::Result<()> {
    let mut last_us = None;
    // A record begins with its first line of attributes.
    let is_first = |line: &[u8]| {
        line.starts_with(b"# Time: ") || line.starts_with(b"# User@Host: ") || is_header(line)
    };
    let mut time_line = String::new();
    while records.next_until(is_first)? {
        if records.is_cut_off() {
            continue;
        }
        let mut record = decode(&records.record);
        if record.starts_with("# Time: ") && !record.contains("\n# ") {
            // The other attributes follow in a record that begins with the user.
            time_line = record.into_owned();
            continue;
        }
        if !time_line.is_empty() {
            record = Cow::Owned(std::mem::take(&mut time_line) + &record);
        }
        let Some(slow) = slow_record(&record, &mut last_us) else {
            let is_statement = !record.contains(ADMINISTRATOR_COMMAND);
            records.unreadable += u64::from(is_statement && record.contains("\n# Query_time: "));
            continue;
        };
        let event = match slow.text.strip_prefix(ADMINISTRATOR_COMMAND) {
            Some(command) => event_of_command(command.trim(), slow.ended_us),
            None => {
                let at_us = slow.ended_us - slow.duration_us as i64;
                Some(LogEvent::of_text(at_us, Some(slow.duration_us), slow.text))
            }
        };
        event.map_or(Ok(()), |event| take(slow.session, event))?;
    }
    Ok(())
}

/// What stands before the name of a command without a text.
const ADMINISTRATOR_COMMAND: &str = "# administrator command: ";

/// A record of the slow query log.
struct SlowRecord<'a> {
    session: &'a str,
    ended_us: i64,
    duration_us: u64,
    text: &'a str,
}

/// The latest time that MySQL has, in the year 3001; beyond it a number is no time.
const EPOCH_S_MAX: f64 = 32_536_771_199.0;

/// `last_us`: when the record before it ended; MariaDB writes a time only when the second changes.
fn slow_record<'a>(record: &'a str, last_us: &mut Option<i64>) -> Option<SlowRecord<'a>> {
    let is_attribute =
        |line: &&str| line.starts_with("# ") && !line.starts_with(ADMINISTRATOR_COMMAND);
    let end = record
        .split_inclusive('\n')
        .take_while(is_attribute)
        .map(str::len)
        .sum();
    let (lines, text) = record.split_at(end);
    if let Some(rest) = lines.strip_prefix("# Time: ") {
        *last_us = clock::mysql(rest).map(|(time_us, _)| time_us);
    }
    let duration_s: f64 = attribute(lines, "Query_time: ")?.parse().ok()?;
    let duration_us = duration_us(duration_s * 1e6)?;
    let session = attribute(lines, "Thread_id: ").or_else(|| attribute(lines, " Id: "))?;
    let (mut statement, mut began_us) = (text, None);
    loop {
        let line = statement.split_inclusive('\n').next()?;
        let lower = line.get(..14).unwrap_or(line).to_ascii_lowercase();
        if lower == "set timestamp=" {
            let seconds = line[14..]
                .trim_end()
                .trim_end_matches(';')
                .parse::<f64>()
                .ok();
            let seconds = seconds.filter(|seconds| (0.0..=EPOCH_S_MAX).contains(seconds));
            began_us = seconds.map(|seconds| (seconds * 1e6) as i64);
        } else if !(lower.starts_with("use ") && line.trim_end().ends_with(';')) {
            break;
        }
        statement = &statement[line.len()..];
    }
    let ended_us = match (*last_us, began_us) {
        (Some(ended_us), _) => ended_us,
        (None, Some(began_us)) => began_us + duration_us as i64,
        (None, None) => return None,
    };
    let text = statement.trim_end().trim_end_matches(';');
    (!text.is_empty()).then_some(SlowRecord {
        session,
        ended_us,
        duration_us,
        text,
    })
}

/// The value after a name in a line of attributes, such as `Query_time: 0.01`.
fn attribute<'a>(lines: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = lines.split_once(name)?;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(
        log: &str,
        read: impl FnOnce(&mut Records<&[u8]>, &mut TakeEvent<'_>) -> io::Result<()>,
    ) -> Vec<String> {
        let mut events = Vec::new();
        let mut records = Records::new(log.as_bytes());
        read(&mut records, &mut |session, event| {
            events.push(match event {
                LogEvent::Statement(statement) => format!(
                    "{session} {} {:?} {}",
                    statement.at_us % 60_000_000,
                    statement.duration_us,
                    statement.text
                ),
                other => format!("{session} {other:?}")
                    .split(" {")
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            });
            Ok(())
        })
        .expect("reads");
        assert_eq!(records.unreadable, 0);
        events
    }

    #[test]
    fn statements_without_a_time_are_counted() {
        let attributes = "# User@Host: root[root] @ localhost []  Id:    12\n# Query_time: 0.250000  Lock_time: 0\n";
        for (rest, expected) in [
            ("SET timestamp=1796000000;\nselect 1;\n", (1, 0)),
            // No panic, and no time in the year 10^290.
            ("SET timestamp=1e300;\nselect 1;\n", (0, 1)),
            ("SET timestamp=-1e300;\nselect 1;\n", (0, 1)),
            ("select 1;\n", (0, 1)),
            ("# administrator command: Quit;\n", (0, 0)),
        ] {
            let (log, mut taken) = (format!("{attributes}{rest}"), 0);
            let mut take = |_: &str, _: LogEvent<'_>| {
                taken += 1;
                Ok(())
            };
            let mut records = Records::new(log.as_bytes());
            read_slow(&mut records, &mut take).expect("reads");
            assert_eq!((taken, records.unreadable), expected, "{rest}");
        }
    }

    #[test]
    fn general_logs_of_both_servers_are_read() {
        let mysql = "/usr/sbin/mysqld, Version: 8.0.31 (x). started with:\nTcp port: 3306  Unix socket: s\n\
            Time                 Id Command    Argument\n\
            2026-11-29T22:57:41.000001Z\t    8 Connect\troot@localhost on test using Socket\n\
            2026-11-29T22:57:41.000002Z\t    8 Query\tselect 1,\n2\n\
            2026-11-29T22:57:41.000003Z\t    9 Prepare\tselect ?\n\
            2026-11-29T22:57:41.000004Z\t    9 Execute\tselect 5\n\
            2026-11-29T22:57:41.000004Z\t    8 Query\texecute a using @b\n\
            2026-11-29T22:57:41.000004Z\t    8 Execute\tselect 6\n\
            2026-11-29T22:57:41.000004Z\t    8 Query\t/* c */ EXECUTE\na\n\
            2026-11-29T22:57:41.000004Z\t    8 Execute\tselect 7\n\
            2026-11-29T22:57:41.000005Z\t    8 Quit\t\n";
        assert_eq!(
            events(mysql, |records, take| read_general(records, take)),
            [
                "8 Connected",
                "8 41000002 None select 1,\n2",
                "9 41000004 None select 5",
                "8 41000004 None execute a using @b",
                "8 41000004 None /* c */ EXECUTE\na",
                "8 Disconnected"
            ]
        );
        let mariadb = "mariadbd, Version: 10.11.19 (x). started with:\nTime\t\t    Id Command\tArgument\n261129 22:57:41\t     8 Connect\troot@localhost on test using Socket\n\
            \t\t     8 Query\tselect 1\n261129 22:57:42\t     8 Quit\t\n";
        assert_eq!(
            events(mariadb, |records, take| read_general(records, take)),
            ["8 Connected", "8 41000000 None select 1", "8 Disconnected"]
        );
    }

    #[test]
    fn slow_logs_of_both_servers_are_read() {
        let mysql = "# Time: 2026-11-29T22:57:41.500000Z\n# User@Host: root[root] @ localhost []  Id:    12\n\
            # Query_time: 0.250000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
            use test;\nSET timestamp=1796000000;\nselect 1,\n2;\n\
            # Time: 2026-11-29T22:57:42.000000Z\n# User@Host: root[root] @ localhost []  Id:    12\n\
            # Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
            SET timestamp=1796000000;\n# administrator command: Quit;\n";
        assert_eq!(
            events(mysql, |records, take| read_slow(records, take)),
            ["12 41250000 Some(250000) select 1,\n2", "12 Disconnected"]
        );
        let mariadb = "# Time: 261129 22:57:41\n# User@Host: root[root] @ localhost []\n\
            # Thread_id: 8  Schema: test  QC_hit: No\n# Query_time: 0.000100  Lock_time: 0.0  Rows_sent: 1\n\
            # Rows_affected: 0  Bytes_sent: 64\nSET timestamp=1796000000;\nselect 1;\n\
            # User@Host: root[root] @ localhost []\n# Thread_id: 9  Schema:   QC_hit: No\n\
            # Query_time: 0.000300  Lock_time: 0.0  Rows_sent: 1\nSET timestamp=1796000000;\nselect 2;\n";
        assert_eq!(
            events(mariadb, |records, take| read_slow(records, take)),
            [
                "8 40999900 Some(100) select 1",
                "9 40999700 Some(300) select 2"
            ]
        );
    }
}
