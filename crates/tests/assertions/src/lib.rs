//! Assertions on texts, for tests: a failure shows the text and what was expected of it.

/// Each assertion returns the text, so that assertions can be chained.
pub trait TextAssertions {
    fn assert_contains(&self, part: &str) -> &Self;
    fn assert_lacks(&self, part: &str) -> &Self;
    fn assert_starts_with(&self, start: &str) -> &Self;
    fn assert_ends_with(&self, end: &str) -> &Self;
}

impl TextAssertions for str {
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
