//! Files of `/proc` and `/sys`, below a folder that tests replace.
//!
//! In: paths. Out: texts, numbers, lists of numbers. Must never: fail because a file does not exist.

use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A list or mask with this number or a greater one is not believed: no CPU and no port has it.
const NUMBERS_MAX: u32 = 1 << 16;

/// The kernel's files below a folder, `/` unless a test has its own.
pub(crate) struct SystemFiles {
    root: PathBuf,
}

impl SystemFiles {
    pub fn new(root: &Path) -> SystemFiles {
        SystemFiles {
            root: root.to_owned(),
        }
    }

    /// The path of a file whose name has no slash at its start.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The text of a file; `None` if it is empty or cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = read_to_string(self.path(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number in a file; `None` if the file has none of this type.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The names in a folder, sorted; empty if it cannot be read.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = read_dir(self.path(folder)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

/// The numbers of a list such as `0-3,8`, of CPUs or ports.
pub(super) fn parse_number_list(text: &str) -> Vec<u32> {
    let parts = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        (last < NUMBERS_MAX).then_some(first..=last)
    });
    parts.flatten().collect()
}

/// The CPUs of a mask such as `ff,ffffffff`: hexadecimal groups of 32 bits, the highest first.
pub(super) fn parse_cpu_mask(text: &str) -> Vec<u32> {
    let groups = text.trim().split(',').rev();
    let mut cpus = Vec::new();
    for (group, start) in groups.zip((0..NUMBERS_MAX).step_by(32)) {
        let bits = u32::from_str_radix(group, 16).unwrap_or(0);
        cpus.extend(
            (0..32)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| start + bit),
        );
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_masks_of_cpus_are_parsed() {
        assert_eq!(parse_number_list("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(parse_number_list(""), [] as [u32; 0]);
        assert_eq!(parse_number_list("0-4294967295"), [] as [u32; 0]);
        assert_eq!(parse_cpu_mask("3,00000005\n"), [0, 2, 32, 33]);
        assert_eq!(parse_cpu_mask("0"), [] as [u32; 0]);
    }
}
