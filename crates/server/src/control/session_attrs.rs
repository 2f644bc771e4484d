//! Checks a session against `target_session_attrs`.
//!
//! In: the attributes, and the session's properties, from its login or a query. Out: why the
//! session does not match. Must never: query a property that the attributes do not need.

use super::connect_failure::FailureCause;
use super::error::Error;
use crate::target::SessionAttrs;
use prony_wire::Session;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionProperty {
    /// The server is in recovery.
    Standby,
    /// The session refuses writes.
    ReadOnly,
}

impl SessionProperty {
    /// The value that the login reported, if any; servers before PostgreSQL 14 and some poolers report
    /// none.
    pub fn reported(self, session: &Session) -> Option<bool> {
        let setting = match self {
            SessionProperty::Standby => "in_hot_standby",
            SessionProperty::ReadOnly => "default_transaction_read_only",
        };
        session.parameters.get(setting).map(|value| value == "on")
    }

    /// The query for this property on PostgreSQL; [`is_true`] reads the result.
    pub(crate) fn query(self) -> &'static str {
        match self {
            SessionProperty::Standby => "SELECT pg_is_in_recovery()",
            SessionProperty::ReadOnly => "SHOW transaction_read_only",
        }
    }
}

pub(super) fn is_true(value: Option<&str>) -> bool {
    matches!(value, Some("t" | "on"))
}

/// Why a session does not match the attributes; `has` returns whether it has a property.
pub fn mismatch<E>(
    wanted: SessionAttrs,
    mut has: impl FnMut(SessionProperty) -> Result<bool, E>,
) -> Result<Option<&'static str>, E> {
    Ok(match wanted {
        SessionAttrs::Any | SessionAttrs::PreferStandby => None,
        SessionAttrs::Primary => {
            has(SessionProperty::Standby)?.then_some("server is in hot standby mode")
        }
        SessionAttrs::Standby => {
            (!has(SessionProperty::Standby)?).then_some("server is not in hot standby mode")
        }
        SessionAttrs::ReadWrite | SessionAttrs::ReadOnly => {
            let read_only = has(SessionProperty::Standby)? || has(SessionProperty::ReadOnly)?;
            match wanted {
                SessionAttrs::ReadOnly => (!read_only).then_some("session is not read-only"),
                _ => read_only.then_some("session is read-only"),
            }
        }
    })
}

/// As [`mismatch`], with the result as the cause of a failed attempt.
pub(super) fn check(
    wanted: SessionAttrs,
    has: impl FnMut(SessionProperty) -> Result<bool, Error>,
) -> Result<(), FailureCause> {
    match mismatch(wanted, has) {
        Ok(None) => Ok(()),
        Ok(Some(problem)) => Err(FailureCause::SessionMismatch(problem)),
        Err(error) => Err(FailureCause::SessionCheckFailed(Box::new(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn a_standby_counts_as_read_only_without_a_second_query() {
        let matches = |wanted, standby, read_only| {
            let mut queried = Vec::new();
            let Ok(mismatch) = mismatch(wanted, |property| {
                queried.push(property);
                Ok::<_, Infallible>(match property {
                    SessionProperty::Standby => standby,
                    SessionProperty::ReadOnly => read_only,
                })
            });
            (mismatch.is_none(), queried.len())
        };
        assert_eq!(matches(SessionAttrs::ReadWrite, true, false), (false, 1));
        assert_eq!(matches(SessionAttrs::ReadOnly, true, false), (true, 1));
        assert_eq!(matches(SessionAttrs::ReadWrite, false, true), (false, 2));
        assert_eq!(matches(SessionAttrs::ReadWrite, false, false), (true, 2));
        assert_eq!(matches(SessionAttrs::Primary, false, true), (true, 1));
        assert_eq!(matches(SessionAttrs::Standby, false, true), (false, 1));
        assert_eq!(matches(SessionAttrs::PreferStandby, false, true), (true, 0));
    }
}
