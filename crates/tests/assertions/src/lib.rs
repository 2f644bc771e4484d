//! What the tests of all crates need: assertions on texts, which show the text and what was expected of it, and folders.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Each assertion returns the text, so that assertions can be chained.
pub trait TextAssertions {
    fn assert_equals(&self, expected: &str) -> &Self;
    fn assert_contains(&self, part: &str) -> &Self;
    fn assert_lacks(&self, part: &str) -> &Self;
    fn assert_contains_all(&self, parts: impl IntoIterator<Item = impl AsRef<str>>) -> &Self;
    fn assert_lacks_all(&self, parts: impl IntoIterator<Item = impl AsRef<str>>) -> &Self;
    fn assert_starts_with(&self, start: &str) -> &Self;
    fn assert_ends_with(&self, end: &str) -> &Self;
    /// The words of the text with single spaces: lines are wrapped at the width of the terminal.
    fn unwrapped(&self) -> String;
}

impl TextAssertions for str {
    #[track_caller]
    fn assert_equals(&self, expected: &str) -> &str {
        assert_eq!(self, expected);
        self
    }

    #[track_caller]
    fn assert_contains(&self, part: &str) -> &str {
        assert!(self.contains(part), "no {part:?} in the text:\n{self}");
        self
    }

    #[track_caller]
    fn assert_lacks(&self, part: &str) -> &str {
        assert!(!self.contains(part), "{part:?} is in the text:\n{self}");
        self
    }

    #[track_caller]
    fn assert_contains_all(&self, parts: impl IntoIterator<Item = impl AsRef<str>>) -> &str {
        for part in parts {
            self.assert_contains(part.as_ref());
        }
        self
    }

    #[track_caller]
    fn assert_lacks_all(&self, parts: impl IntoIterator<Item = impl AsRef<str>>) -> &str {
        for part in parts {
            self.assert_lacks(part.as_ref());
        }
        self
    }

    #[track_caller]
    fn assert_starts_with(&self, start: &str) -> &str {
        assert!(
            self.starts_with(start),
            "no {start:?} at the start of:\n{self}"
        );
        self
    }

    #[track_caller]
    fn assert_ends_with(&self, end: &str) -> &str {
        assert!(self.ends_with(end), "no {end:?} at the end of:\n{self}");
        self
    }

    fn unwrapped(&self) -> String {
        self.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The cases of a test, one a line: parts with `=>` between them, in which `\n` is the end of a line. A line continues the one
/// before it if that ends with `\`, or if it begins with `=>`. Lines that begin with `//` are comments.
///
/// # Panics
/// If a case has another number of parts.
#[track_caller]
pub fn cases<const PARTS: usize>(text: &str) -> Vec<[&'static str; PARTS]> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        match lines.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push_str(line);
            }
            Some(last) if line.starts_with("=>") => last.push_str(line),
            _ if line.is_empty() || line.starts_with("//") => {}
            _ => lines.push(line.to_owned()),
        }
    }
    let case = |line: String| {
        // Leaked, so that a part is a text like any other; a test has few.
        let line = line.replace("\\n", "\n").leak();
        let parts: Vec<&str> = line
            .split("=>")
            .map(|part| part.trim_matches(' '))
            .collect();
        parts.try_into().expect("all parts of a case")
    };
    lines.into_iter().map(case).collect()
}

/// A folder of one test, removed at its end.
#[derive(Debug)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    pub fn create() -> TestFolder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("prony-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A killed process with the same id may have left one.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder");
        TestFolder(path)
    }

    /// Writes a file, and creates the folders in its name.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        std::fs::create_dir_all(path.parent().expect("this folder")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path
    }
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for TestFolder
where
    PathBuf: AsRef<T>,
{
    fn as_ref(&self) -> &T {
        self.0.as_ref()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::TextAssertions;
    use std::panic::catch_unwind;

    #[test]
    fn assertions_hold_or_panic() {
        let text = String::from("a text of words");
        text.assert_contains("of").assert_lacks("no");
        text.assert_starts_with("a text").assert_ends_with("words");
        let wrong: [fn(&str); 4] = [
            |text| {
                text.assert_contains("no");
            },
            |text| {
                text.assert_lacks("of");
            },
            |text| {
                text.assert_starts_with("words");
            },
            |text| {
                text.assert_ends_with("a");
            },
        ];
        for assert_wrongly in wrong {
            assert!(catch_unwind(|| assert_wrongly("a text of words")).is_err());
        }
    }
}
