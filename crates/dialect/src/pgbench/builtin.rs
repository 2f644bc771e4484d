//! What pgbench prints of its builtin scripts.
//!
//! In: the scripts of the workload. Out: text for standard error. Must never: change a byte of them.

use prony_workload::script::{BUILTINS, Builtin};

/// What `-b list` prints on standard error.
pub fn list_text() -> String {
    let mut text = String::from("Available builtin scripts:\n");
    for builtin in &BUILTINS {
        text += &format!("  {:>13}: {}\n", builtin.name, builtin.description);
    }
    text + "\n"
}

/// What `--show-script` prints on standard error.
pub fn show_text(builtin: &Builtin) -> String {
    format!(
        "-- {}: {}\n{}\n",
        builtin.name, builtin.description, builtin.text
    )
}
