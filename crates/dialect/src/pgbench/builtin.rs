//! The texts that pgbench prints about its builtin scripts.
//!
//! Must never: change a byte of the scripts.

use prony_workload::script::{BUILTINS, Builtin};

/// The output of `-b list`, for standard error.
pub fn list_text() -> String {
    let mut text = String::from("Available builtin scripts:\n");
    for builtin in &BUILTINS {
        text += &format!("  {:>13}: {}\n", builtin.name, builtin.description);
    }
    text + "\n"
}

/// The output of `--show-script`, for standard error.
pub fn show_text(builtin: &Builtin) -> String {
    format!(
        "-- {}: {}\n{}\n",
        builtin.name, builtin.description, builtin.text
    )
}
