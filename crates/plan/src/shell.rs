//! Words of command lines that a user can copy into a shell.

/// A word of a command line: in quotes, unless it has only characters without a meaning for shells.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
