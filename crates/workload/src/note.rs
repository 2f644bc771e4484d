//! The note that a load leaves on a table: a table comment that records the parameters of the data, and
//! whether the load has finished.
//!
//! Formats and parses the comment's text. Must never mistake a user's comment for a note.

use crate::findings::LOAD_UNFINISHED;
use crate::names::named_enum;
use crate::remedy::{LoadSpec, Remedy};
use crate::{Error, Finding};

named_enum! {
    /// How far the load of a table has got, as a note says it.
    pub enum TableStage {
        /// Some rows of the table are missing.
        Filling = "rows are being loaded",
        /// All rows of the table are stored; the load is still running.
        Filled = "rows are there, the load goes on",
        /// The load has finished.
        Loaded = "loaded",
    }
}

/// How many characters of a load's options fit into an error on one line.
pub const UNFINISHED_OPTIONS_CHARS: usize = 48;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadNote {
    /// Description of the data; identical for identical data.
    pub description: String,
    pub stage: TableStage,
}

impl LoadNote {
    const PREFIX: &'static str = "prony: ";

    pub fn text(&self) -> String {
        format!(
            "{}{}; {}",
            Self::PREFIX,
            self.description,
            self.stage.name()
        )
    }

    /// Parses a table's comment; `None` if it is not a note.
    pub fn parse(comment: &str) -> Option<LoadNote> {
        let (description, stage_text) = comment.strip_prefix(Self::PREFIX)?.rsplit_once("; ")?;
        let mut stages = TableStage::ALL.into_iter();
        Some(LoadNote {
            description: description.to_owned(),
            stage: stages.find(|stage| stage.name() == stage_text)?,
        })
    }

    /// A value in the description, such as `rows` or `seed`.
    pub fn value(&self, name: &str) -> Option<&str> {
        let mut items = self.description.split(", ");
        items.find_map(|item| item.strip_prefix(name)?.strip_prefix(' '))
    }

    /// A value in the description as a number; `None` if it is not a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// Whether the load has not finished.
    pub fn is_unfinished(&self) -> bool {
        self.stage != TableStage::Loaded
    }

    /// A message that the load of this note has not finished, with at most this many characters of its options.
    pub fn unfinished_message(&self, max_chars: usize) -> String {
        let mut options = String::new();
        let items = self.description.split(", ");
        // The loader chooses the size of the parts.
        let items = items.filter(|item| !item.starts_with("part_rows ") && *item != "options ()");
        for item in items {
            let separator = if options.is_empty() { "" } else { ", " };
            if !options.is_empty() && options.len() + separator.len() + item.len() > max_chars {
                options += ", …";
                break;
            }
            options += separator;
            options += item;
        }
        format!("a load ({options}) is under way or was interrupted")
    }

    /// The error of a run on the tables of an unfinished load, which fits on a line or two: `prony check` names all
    /// options of the load.
    pub fn unfinished_error(&self, load: LoadSpec) -> Error {
        Error::Data {
            problem: self.unfinished_message(UNFINISHED_OPTIONS_CHARS),
            remedy: Remedy::Continue(load, "with the options of that load"),
        }
    }

    pub fn unfinished_finding(&self, load: LoadSpec) -> Finding {
        let remedy = Remedy::Continue(load, "with the options of that load");
        Finding::wrong(LOAD_UNFINISHED, self.unfinished_message(usize::MAX)).with(remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn notes_of_every_stage_are_parsed_back() {
        for stage in TableStage::ALL {
            let note = LoadNote {
                description: "rows 3, seed 7; old".to_owned(),
                stage,
            };
            note.text().assert_ends_with(stage.name());
            assert_eq!(LoadNote::parse(&note.text()), Some(note));
        }
        assert_eq!(LoadNote::parse("a user's comment; loaded"), None);
    }

    #[test]
    fn an_unfinished_load_names_the_options_that_a_user_chose() {
        let note = |description: &str| LoadNote {
            description: description.to_owned(),
            stage: TableStage::Filling,
        };
        let long = note("part_rows 40000, tables 4, table_size 200000, seed 0, options ()");
        let options = "tables 4, table_size 200000, seed 0";
        let message = |options: &str| format!("a load ({options}) is under way or was interrupted");
        assert_eq!(long.unfinished_message(usize::MAX), message(options));
        assert_eq!(long.unfinished_message(options.len()), message(options));
        let shorter = message("tables 4, table_size 200000, …");
        assert_eq!(long.unfinished_message(options.len() - 1), shorter);
        assert_eq!(
            note("branches 100").unfinished_message(1),
            message("branches 100")
        );
    }
}
