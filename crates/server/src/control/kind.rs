//! Whether a session is of the kind that `target_session_attrs` asks for.
//!
//! In: what is wanted, and what a session is, as its log-in told or its server answers. Out: why it does not
//! suit. Must never: ask what does not decide.

use super::error::{Cause, Error};
use crate::target::SessionAttrs;
use prony_wire::SessionKind;

/// What a session can be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// Its server is in recovery.
    Standby,
    /// It refuses writes.
    ReadOnly,
}

impl Aspect {
    /// What the log-in said of it; servers before PostgreSQL 14 and some poolers say nothing.
    pub fn said(self, kind: SessionKind) -> Option<bool> {
        match self {
            Aspect::Standby => kind.standby,
            Aspect::ReadOnly => kind.read_only,
        }
    }

    /// How PostgreSQL is asked; its answer is for [`is_yes`].
    pub(super) fn question(self) -> &'static str {
        match self {
            Aspect::Standby => "SELECT pg_is_in_recovery()",
            Aspect::ReadOnly => "SHOW transaction_read_only",
        }
    }
}

/// Whether the first value of an answer says yes.
pub(super) fn is_yes(value: Option<&str>) -> bool {
    matches!(value, Some("t" | "on"))
}

/// Why a session is not of the kind that is wanted; `is` tells what it is like.
///
/// # Errors
/// Those of `is`.
pub fn unfit<E>(
    wanted: SessionAttrs,
    mut is: impl FnMut(Aspect) -> Result<bool, E>,
) -> Result<Option<&'static str>, E> {
    Ok(match wanted {
        SessionAttrs::Any | SessionAttrs::PreferStandby => None,
        SessionAttrs::Primary => is(Aspect::Standby)?.then_some("server is in hot standby mode"),
        SessionAttrs::Standby => {
            (!is(Aspect::Standby)?).then_some("server is not in hot standby mode")
        }
        SessionAttrs::ReadWrite | SessionAttrs::ReadOnly => {
            let read_only = is(Aspect::Standby)? || is(Aspect::ReadOnly)?;
            match wanted {
                SessionAttrs::ReadOnly => (!read_only).then_some("session is not read-only"),
                _ => read_only.then_some("session is read-only"),
            }
        }
    })
}

/// The same of a session whose server can be asked, as a cause to go on elsewhere.
pub(super) fn check(
    wanted: SessionAttrs,
    is: impl FnMut(Aspect) -> Result<bool, Error>,
) -> Result<(), Cause> {
    match unfit(wanted, is) {
        Ok(None) => Ok(()),
        Ok(Some(problem)) => Err(Cause::Session(problem)),
        Err(error) => Err(Cause::SessionUnknown(Box::new(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn a_standby_refuses_writes_unasked() {
        let on = |wanted, standby, read_only| {
            let mut asked = Vec::new();
            let Ok(unfit) = unfit(wanted, |aspect| {
                asked.push(aspect);
                Ok::<_, Infallible>(match aspect {
                    Aspect::Standby => standby,
                    Aspect::ReadOnly => read_only,
                })
            });
            (unfit.is_none(), asked.len())
        };
        assert_eq!(on(SessionAttrs::ReadWrite, true, false), (false, 1));
        assert_eq!(on(SessionAttrs::ReadOnly, true, false), (true, 1));
        assert_eq!(on(SessionAttrs::ReadWrite, false, true), (false, 2));
        assert_eq!(on(SessionAttrs::ReadWrite, false, false), (true, 2));
        assert_eq!(on(SessionAttrs::Primary, false, true), (true, 1));
        assert_eq!(on(SessionAttrs::Standby, false, true), (false, 1));
        assert_eq!(on(SessionAttrs::PreferStandby, false, true), (true, 0));
    }
}
