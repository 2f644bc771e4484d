//! User-level locks of MySQL and MariaDB.
//!
//! Must never: leave a session of a cluster without replication.

use crate::Control;
use crate::control::Error;

/// What became of a request for a user-level lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserLock {
    /// This session holds it.
    Held,
    /// Another session holds it.
    HeldByOther,
    /// The server has none: clusters of Galera refuse the function, because the lock would be that of one node. The cluster
    /// needs none of a node either.
    Refused,
}

/// Takes the lock with this name, an SQL expression, and waits up to `wait_s` seconds for it.
pub fn take_user_lock(control: &mut Control, name: &str, wait_s: u32) -> Result<UserLock, Error> {
    let statement = format!("select get_lock({name}, {wait_s})");
    let answer = match control.query_value(&statement) {
        Err(Error::Statement(_)) => {
            // A session that is not replicated may lock.
            let is_alone = control.execute("set session wsrep_on = off").is_ok();
            let answer = is_alone.then(|| control.query_value(&statement));
            if is_alone {
                control.execute("set session wsrep_on = on")?;
            }
            match answer {
                Some(Ok(answer)) => answer,
                Some(Err(error)) if !matches!(error, Error::Statement(_)) => return Err(error),
                _ => return Ok(UserLock::Refused),
            }
        }
        other => other?,
    };
    Ok(match answer.as_deref() {
        Some("1") => UserLock::Held,
        _ => UserLock::HeldByOther,
    })
}
