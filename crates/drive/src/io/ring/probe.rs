//! Checks whether this process may use io_uring.

use super::Ring;
use prony_plan::{ErrorParts, UserError};
use std::io;

/// Why io_uring cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub struct RingUnavailable {
    problem: String,
    hint: Option<&'static str>,
}

impl RingUnavailable {
    /// The reason if a ring failed for lack of locked memory: see [`is_out_of_locked_memory`].
    pub fn out_of_locked_memory() -> Self {
        Self {
            problem: "the rings of all threads need more locked memory than this user may have"
                .to_owned(),
            hint: Some("use fewer --threads, or raise ulimit -l"),
        }
    }
}

impl UserError for RingUnavailable {
    fn parts(&self) -> ErrorParts {
        let parts = ErrorParts::new(&self.problem);
        parts.with_optional_hint(self.hint)
    }
}

/// Whether a ring failed for lack of locked memory. Since Linux 6.13, all rings of a user count as locked
/// memory, whose limit applies to their sum; only root has no limit.
pub fn is_out_of_locked_memory(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

/// Checks that this process may use io_uring with every feature that the engine needs.
pub fn probe() -> Result<(), RingUnavailable> {
    let Err(error) = Ring::new(1) else {
        return Ok(());
    };
    let problem = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is not permitted here, as in many containers".to_owned()
        }
        Some(libc::ENOSYS) => "this kernel has no io_uring".to_owned(),
        Some(libc::EINVAL) => {
            "this kernel's io_uring is too old (6.1 or newer is needed)".to_owned()
        }
        _ if is_out_of_locked_memory(&error) => return Err(RingUnavailable::out_of_locked_memory()),
        _ => format!("io_uring cannot be used: {error}"),
    };
    Err(RingUnavailable {
        problem,
        hint: None,
    })
}
