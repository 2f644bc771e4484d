//! PostgreSQL's csvlog and jsonlog.
//!
//! With `log_min_duration_statement = 0` a statement is logged when it ends, with its duration; with
//! `log_statement = all` when it begins, and with `log_duration` its duration in a record of its own. In the extended
//! protocol, parsing and binding have records of their own, and the parameters are in the detail.

use super::super::raw_bytes::decode;
use super::super::recorder::{LogEvent, LoggedStatement};
use super::{Records, TakeEvent, clock, duration_us};
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{self, BufRead};

/// The columns of csvlog that are read, by position.
const LOG_TIME: usize = 0;
const SESSION_ID: usize = 5;
const SEVERITY: usize = 11;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
/// The columns in which no line breaks occur.
pub(super) const COLUMNS_BEFORE_MESSAGE: usize = 12;
const QUERY: usize = 19;
const BACKEND_TYPE: usize = 23;

/// The parts of a record that matter.
#[derive(Debug, Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow, default)]
    session_id: Cow<'a, str>,
    #[serde(borrow, default)]
    error_severity: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
    #[serde(borrow, default)]
    detail: Cow<'a, str>,
    #[serde(borrow, default)]
    statement: Cow<'a, str>,
    #[serde(borrow, default)]
    backend_type: Cow<'a, str>,
}

/// Reads the records of a csvlog. One without a time is none of this format.
pub(super) fn read_csv(
    records: &mut Records<impl BufRead>,
    take: &mut TakeEvent<'_>,
) -> io::Result<()> {
    while records.next_quoted()? {
        let text = decode(&records.record);
        let fields = split_csv(text.trim_end_matches(['\n', '\r']));
        let field = |index: usize| fields.get(index).cloned().unwrap_or_default();
        let record = Record {
            timestamp: field(LOG_TIME),
            session_id: field(SESSION_ID),
            error_severity: field(SEVERITY),
            message: field(MESSAGE),
            detail: field(DETAIL),
            statement: field(QUERY),
            backend_type: field(BACKEND_TYPE),
        };
        records.unreadable += u64::from(!take_record(&record, take)?);
    }
    Ok(())
}

/// Reads the records of a jsonlog. A line that is no JSON may be cut off.
pub(super) fn read_json(
    records: &mut Records<impl BufRead>,
    take: &mut TakeEvent<'_>,
) -> io::Result<()> {
    while records.next_until(|_| true)? {
        let text = decode(&records.record);
        let is_readable = match serde_json::from_str::<Record<'_>>(&text) {
            Ok(record) => take_record(&record, take)?,
            Err(_) => false,
        };
        records.unreadable += u64::from(!is_readable);
    }
    Ok(())
}

/// The length of a text up to its closing quote; the quotes in it are doubled. The whole text if it is cut off.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut end = 0;
    while let Some(next) = text[end..].find(quote) {
        end += next;
        if !text[end + 1..].starts_with(quote) {
            return end;
        }
        end += 2;
    }
    text.len()
}

/// The fields of a record of CSV.
fn split_csv(text: &str) -> Vec<Cow<'_, str>> {
    let mut fields = Vec::with_capacity(26);
    let mut rest = text;
    loop {
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = rest.find(',').unwrap_or(rest.len());
            fields.push(Cow::Borrowed(&rest[..end]));
            match rest.get(end + 1..) {
                Some(next) => rest = next,
                None => return fields,
            }
            continue;
        };
        let end = quoted_length(quoted, '"');
        let field = &quoted[..end];
        fields.push(if field.contains('"') {
            Cow::Owned(field.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(field)
        });
        match quoted
            .get(end + 1..)
            .and_then(|after| after.strip_prefix(','))
        {
            Some(next) => rest = next,
            None => return fields,
        }
    }
}

/// Takes what a record says of a client; returns whether the record has a time.
fn take_record(record: &Record<'_>, take: &mut TakeEvent<'_>) -> io::Result<bool> {
    let Some(at_us) = clock::postgres(&record.timestamp) else {
        return Ok(false);
    };
    // Parallel workers and the like log under sessions of their own. Versions before 13 name no type.
    if matches!(&*record.backend_type, "" | "client backend") {
        take_message(record, at_us, take)?;
    }
    Ok(true)
}

fn take_message(record: &Record<'_>, at_us: i64, take: &mut TakeEvent<'_>) -> io::Result<()> {
    let session = &*record.session_id;
    let message = &*record.message;
    match &*record.error_severity {
        "LOG" => {}
        "ERROR" | "FATAL" => {
            let text = Some(&*record.statement).filter(|text| !text.is_empty());
            return take(session, LogEvent::Failed { at_us, text });
        }
        _ => return Ok(()),
    }
    if let Some(rest) = message.strip_prefix("duration: ") {
        let Some((duration, rest)) = rest.split_once(" ms") else {
            return Ok(());
        };
        let Some(duration_us) = duration
            .parse::<f64>()
            .ok()
            .and_then(|ms| duration_us(ms * 1e3))
        else {
            return Ok(());
        };
        let start_us = at_us - duration_us as i64;
        let rest = rest.trim_start();
        return match rest.split_once(": ") {
            None if rest.is_empty() => take(
                session,
                LogEvent::Duration {
                    at_us: start_us,
                    duration_us,
                },
            ),
            Some((step, _)) if step.starts_with("parse ") || step.starts_with("bind ") => take(
                session,
                LogEvent::Step {
                    at_us: start_us,
                    duration_us,
                },
            ),
            _ => take_statement(record, rest, start_us, Some(duration_us), take),
        };
    }
    if message.starts_with("connection authorized: ") {
        return take(session, LogEvent::Connected { at_us });
    }
    if message.starts_with("disconnection: ") {
        return take(session, LogEvent::Disconnected { at_us });
    }
    take_statement(record, message, at_us, None, take)
}

/// `statement: SELECT 1`, or `execute NAME: SELECT $1`.
fn take_statement(
    record: &Record<'_>,
    message: &str,
    at_us: i64,
    duration_us: Option<u64>,
    take: &mut TakeEvent<'_>,
) -> io::Result<()> {
    let session = &*record.session_id;
    if let Some(text) = message.strip_prefix("statement: ") {
        return take(session, LogEvent::of_text(at_us, duration_us, text));
    }
    // `execute fetch from` continues a portal, whose rows were fetched with its first execution on a replay.
    let Some(execute) = message
        .strip_prefix("execute ")
        .filter(|rest| !rest.starts_with("fetch from "))
    else {
        return Ok(());
    };
    let Some((name, text)) = execute.split_once(": ") else {
        return Ok(());
    };
    let values = parameters(&record.detail);
    let is_named = !name.starts_with("<unnamed>");
    take(
        session,
        LogEvent::Statement(LoggedStatement {
            at_us,
            duration_us,
            text: text.into(),
            values: Some(values),
            is_named,
        }),
    )
}

/// The values in `parameters: $1 = '5', $2 = NULL`; PostgreSQL 16 and newer begin it with a capital.
fn parameters(detail: &str) -> Vec<Option<String>> {
    let mut values = Vec::new();
    let lower = detail.get(..12).map(str::to_ascii_lowercase);
    if lower.as_deref() != Some("parameters: ") {
        return values;
    }
    let mut rest = &detail[12..];
    while let Some((_, value)) = rest.split_once(" = ") {
        let Some(quoted) = value.strip_prefix('\'') else {
            values.push(None);
            match value.strip_prefix("NULL, ") {
                Some(next) => rest = next,
                None => break,
            }
            continue;
        };
        let end = quoted_length(quoted, '\'');
        values.push(Some(quoted[..end].replace("''", "'")));
        match quoted
            .get(end + 1..)
            .and_then(|after| after.strip_prefix(", "))
        {
            Some(next) => rest = next,
            None => break,
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_have_quotes_commas_and_lines() {
        let expected = ["a", "b,\"c\"\nd", "", "", "e"];
        assert_eq!(split_csv("a,\"b,\"\"c\"\"\nd\",,\"\",e"), expected);
        assert_eq!(split_csv("a,"), ["a", ""]);
        assert_eq!(split_csv("\"cut off"), ["cut off"]);
    }

    #[test]
    fn parameters_are_read_from_the_detail() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            parameters("parameters: $1 = '5', $2 = NULL, $3 = 'it''s, $4 = x', $4 = ''"),
            [text("5"), None, text("it's, $4 = x"), text("")]
        );
        assert_eq!(parameters("Parameters: $1 = NULL"), [None]);
        assert_eq!(parameters(""), []);
        assert_eq!(parameters("Bind parameters"), []);
    }
}
