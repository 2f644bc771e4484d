//! Removes passwords from the process title.
//!
//! Overwrites each password in the memory of the arguments with `*`, so that `ps` and /proc/PID/cmdline do not
//! show it. Bytes outside the arguments are never changed. The password is visible from the start of the process to
//! this call; to avoid that, use PGPASSWORD, a password file or a service file.

use prony_server::secrets;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Overwrites the passwords in the memory that the kernel shows as this process's arguments.
///
/// Call this before any other thread exists and after the arguments have been copied: the standard library reads them
/// from the same memory each time.
pub fn hide_passwords(arguments: &[OsString]) {
    let mut offset = 0;
    let mut ranges = Vec::new();
    for argument in arguments {
        for range in secrets::password_ranges(argument.as_bytes()) {
            ranges.push(offset + range.start..offset + range.end);
        }
        // Each argument ends in a NUL byte.
        offset += argument.len() + 1;
    }
    if ranges.is_empty() {
        return;
    }
    let Some((start, end)) = argument_memory_range() else {
        return;
    };
    // Overwrite only memory that holds exactly these arguments.
    if end - start != offset || !matches_cmdline(arguments) {
        return;
    }
    for range in ranges {
        for index in range {
            // SAFETY: `start..end` is this process's own argument area on its stack, mapped
            // readable and writable for its whole life (proc(5), arg_start and arg_end), and
            // `index < end - start`. No other thread runs yet, and no Rust reference points there:
            // std hands out copies.
            unsafe { std::ptr::write_volatile((start + index) as *mut u8, b'*') };
        }
    }
}

/// Whether /proc/self/cmdline shows exactly these arguments, so that the layout of the area is as expected.
fn matches_cmdline(arguments: &[OsString]) -> bool {
    let mut expected = Vec::new();
    for argument in arguments {
        expected.extend_from_slice(argument.as_bytes());
        expected.push(0);
    }
    std::fs::read("/proc/self/cmdline").is_ok_and(|cmdline| cmdline == expected)
}

/// Start and end address of the argument area: fields 48 and 49 of /proc/self/stat (proc(5)).
fn argument_memory_range() -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the command in parentheses, which may contain spaces: split only what follows it,
    // from field 3 on.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let start: usize = fields.nth(48 - 3)?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start != 0 && start < end).then_some((start, end))
}
