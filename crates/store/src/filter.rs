//! Selects the stored runs to list.
//!
//! Listing decides by summaries and never opens a document.

use crate::index::RunSummary;
use crate::run::Run;
use prony_document::{RunState, Severity};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this workload, or of the plan of this name whose own transactions they ran.
    pub workload: Option<String>,
    pub label: Option<String>,
    /// Only servers whose engine and version contain this text, ignoring case.
    pub server: Option<String>,
    /// Only runs that started at this time or later, nanoseconds since 1970.
    pub since_ns: Option<i64>,
    pub verdict: Option<RunVerdict>,
    /// Only this many of the newest matching runs.
    pub last: Option<usize>,
}

impl RunFilter {
    /// Whether a run matches everything but `last`.
    pub fn matches(&self, run: &RunSummary) -> bool {
        let is_workload = self
            .workload
            .as_ref()
            .is_none_or(|name| run.workload == *name || run.own_name.as_ref() == Some(name));
        let label = self.label.as_ref();
        let has_label = label.is_none_or(|label| run.annotation.label.as_ref() == Some(label));
        let text = self.server.as_deref().unwrap_or_default().to_lowercase();
        let is_server = run.server.to_lowercase().contains(&text);
        let is_recent = self
            .since_ns
            .is_none_or(|since_ns| run.epoch_ns() >= since_ns);
        let verdict = self.verdict;
        let has_verdict = verdict.is_none_or(|verdict| verdict == RunVerdict::of(run));
        is_workload && has_label && is_server && is_recent && has_verdict
    }
}

/// Whether a document has findings, or the version of the rules that found none.
pub(crate) fn is_judged(run: &Run) -> bool {
    run.rules_version.is_some() || !run.checks.is_empty()
}

/// How far a run's figures can be used; [`RunVerdict::meaning`] says what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunVerdict {
    Valid,
    Doubts,
    Invalid,
    NotJudged,
    Partial,
    Running,
}

impl RunVerdict {
    /// Each verdict with its name and its meaning, in the order of their declaration.
    #[rustfmt::skip]
    const TABLE: [(RunVerdict, &str, &str); 6] = [
        (Self::Valid, "valid", "Complete, without doubts"),
        (Self::Doubts, "doubts", "Complete, with findings that cast doubt on the figures"),
        (Self::Invalid, "invalid", "Complete, but the figures must not be used"),
        (Self::NotJudged, "not-judged", "Complete, but without a verdict"),
        (Self::Partial, "partial", "Ended early"),
        (Self::Running, "running", "Still running"),
    ];

    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    pub fn meaning(self) -> &'static str {
        Self::TABLE[self as usize].2
    }

    pub fn from_name(name: &str) -> Option<RunVerdict> {
        Self::all().find(|verdict| verdict.name() == name)
    }

    pub fn all() -> impl Iterator<Item = RunVerdict> {
        Self::TABLE.into_iter().map(|(verdict, ..)| verdict)
    }

    pub fn of(run: &RunSummary) -> RunVerdict {
        match (run.state, run.worst_doubt) {
            (RunState::Running, _) => RunVerdict::Running,
            (RunState::Partial, _) => RunVerdict::Partial,
            (RunState::Complete, Some(Severity::Invalid)) => RunVerdict::Invalid,
            (RunState::Complete, _) if !run.is_judged => RunVerdict::NotJudged,
            (RunState::Complete, Some(Severity::Caveat)) => RunVerdict::Doubts,
            (RunState::Complete, Some(Severity::Note) | None) => RunVerdict::Valid,
        }
    }
}
