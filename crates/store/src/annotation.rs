//! A user's annotation of a run: a label and a note.
//!
//! It is stored in a small file next to the document, `<id>.about`. The document itself never changes,
//! because HTML reports contain its hash.

use crate::error::{StoreError, io_error};
use crate::files;
use crate::id::is_id;
use crate::store::RunStore;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// A label and a note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// A word or two by which to find the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A sentence or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Annotation {
    /// Whether it has neither label nor note.
    pub fn is_empty(&self) -> bool {
        self.label.is_none() && self.note.is_none()
    }
}

/// The most characters of a label, which tables and commands contain.
const LABEL_MAX_CHARS: usize = 100;

/// # Errors
/// If the text cannot be a label; the error is the rule that it breaks.
pub fn check_label(label: &str) -> Result<(), String> {
    let problem = match label {
        "" => "a label has at least one character",
        "last" => "`last` means the newest run",
        _ if label.trim() != label => "a label neither begins nor ends with a space",
        _ if label.chars().any(char::is_control) => "a label is one line of text",
        _ if label.chars().count() > LABEL_MAX_CHARS => {
            return Err(format!("a label has at most {LABEL_MAX_CHARS} characters"));
        }
        _ => return Ok(()),
    };
    Err(problem.to_owned())
}

pub(crate) const EXTENSION: &str = "about";

impl RunStore {
    /// The annotation of a run, by its full id. Empty if there is no readable file.
    pub fn annotation(&self, id: &str) -> Annotation {
        // The id of a foreign document may not be a valid file name.
        if !is_id(id) {
            return Annotation::default();
        }
        let bytes = fs::read(self.annotation_path(id)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub fn annotate(&self, id: &str, annotation: &Annotation) -> Result<(), StoreError> {
        if !self.has_id(id) {
            return Err(self.not_found(id));
        }
        let path = self.annotation_path(id);
        if annotation.is_empty() {
            return self.remove_annotation(id);
        }
        let hidden = path.with_file_name(format!(".{id}.{EXTENSION}.tmp"));
        let bytes = serde_json::to_vec(annotation).map_err(|e| StoreError::not_a_run(&path, e))?;
        let written = files::create_replacing(&hidden)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&hidden, &path));
        if written.is_err() {
            let _ = fs::remove_file(&hidden);
        }
        written.map_err(io_error("write", &path))
    }

    pub(crate) fn remove_annotation(&self, id: &str) -> Result<(), StoreError> {
        let path = self.annotation_path(id);
        files::remove_if_exists(&path).map_err(io_error("delete", &path))
    }

    fn annotation_path(&self, id: &str) -> PathBuf {
        self.runs_folder().join(format!("{id}.{EXTENSION}"))
    }
}
