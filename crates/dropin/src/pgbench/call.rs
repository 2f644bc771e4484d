//! The data of one call of pgbench.

use prony_dialect::pgbench::{Level, Messages};

pub struct PgbenchCall {
    /// The version of pgbench to emulate.
    pub level: Level,
    /// Whether the user named the level; otherwise it is the default one.
    pub names_level: bool,
    pub messages: Messages,
    /// The arguments without passwords, for the store.
    pub redacted_arguments: Vec<String>,
}
