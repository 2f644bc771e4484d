//! Takes passwords out of the process title.
//!
//! In: the arguments as they were given. Out: the same memory with `*` over each password, so that
//! `ps` and /proc/PID/cmdline do not show it. Must never: touch a byte that is not part of the
//! arguments. Between the start of the process and this call the password can be seen; who cannot
//! accept that uses PGPASSWORD, a password file or a service file.

use crate::secrets;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Overwrites the passwords in the memory that the kernel shows as this process's arguments.
///
/// To be called before any other thread exists and after the arguments have been copied: the
/// standard library reads them from the same memory each time it is asked.
pub fn hide_passwords(arguments: &[OsString]) {
    let mut offset = 0;
    let mut places = Vec::new();
    for argument in arguments {
        for place in secrets::places(argument.as_bytes()) {
            places.push(offset + place.start..offset + place.end);
        }
        // Each argument ends in a NUL byte.
        offset += argument.len() + 1;
    }
    if places.is_empty() {
        return;
    }
    let Some((start, end)) = argument_memory() else {
        return;
    };
    // Only if the memory really holds these arguments, byte for byte.
    if end - start != offset || !holds(arguments) {
        return;
    }
    for place in places {
        for at in place {
            // SAFETY: `start..end` is this process's own argument area on its stack, mapped
            // readable and writable for its whole life (proc(5), arg_start and arg_end), and
            // `at < end - start`. No other thread runs yet, and no Rust reference points there:
            // std hands out copies.
            unsafe { std::ptr::write_volatile((start + at) as *mut u8, b'*') };
        }
    }
}

/// Whether /proc/self/cmdline shows exactly these arguments: then the area is laid out as we think.
fn holds(arguments: &[OsString]) -> bool {
    let mut expected = Vec::new();
    for argument in arguments {
        expected.extend_from_slice(argument.as_bytes());
        expected.push(0);
    }
    std::fs::read("/proc/self/cmdline").is_ok_and(|shown| shown == expected)
}

/// Start and end of the argument area: fields 48 and 49 of /proc/self/stat (proc(5)).
fn argument_memory() -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the command in parentheses and may hold anything; count from its end.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let start: usize = fields.nth(48 - 3)?.parse().ok()?;
    let end: usize = fields.next()?.parse().ok()?;
    (start != 0 && start < end).then_some((start, end))
}
