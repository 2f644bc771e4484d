//! Scripts in Lua: for now the answer that they are not supported yet.
//!
//! In: a command of a script. Out: an exit status. Must never: pretend to have run one.
//!
//! What is to come here makes a [`super::bench::Bench`] of the script's program and hands it to
//! [`super::bench::run`], which knows no workload; its hooks for reports are a
//! [`super::bench::Texts`].

use super::call::{Call, Ended};
use prony_dialect::sysbench::{NO_SCRIPTS, Script};

/// Does what is asked of a script.
pub fn obey(call: &Call, _asked: &Script) -> Result<(), Ended> {
    Err(call.fails_with(NO_SCRIPTS))
}
