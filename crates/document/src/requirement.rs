//! What a user requires of a result, such as `p99<20ms`, and whether a result meets it.
//!
//! In: texts. Out: requirements in one form, and the words for their results. Must never: decide one; `judge` does.

mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_values! {
    /// A statistic of a distribution of times.
    Statistic {
        /// The arithmetic mean.
        Mean = "mean",
        /// The median.
        P50 = "p50",
        /// The 90th percentile.
        P90 = "p90",
        /// The 95th percentile.
        P95 = "p95",
        /// The 99th percentile.
        P99 = "p99",
        /// The 99.9th percentile.
        P999 = "p99.9",
        /// The longest.
        Max = "max",
    }

    /// How a figure must relate to its limit. The longer names are first: `<=` also begins with `<`.
    Comparator {
        /// At most the limit.
        AtMost = "<=",
        /// At least the limit.
        AtLeast = ">=",
        /// Below the limit.
        Below = "<",
        /// Above the limit.
        Above = ">",
        /// The limit.
        Equal = "=",
    }

    /// Whether a result meets what is required.
    #[derive(Default)]
    AnswerVerdict {
        /// It does not.
        Fail = "FAIL",
        /// The figures do not decide it.
        #[default]
        Undecided = "UNDECIDED",
        /// It does.
        Pass = "PASS",
    }
}

impl Statistic {
    /// The share of the times that are not longer; `None` for the mean.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Statistic::Mean => None,
            Statistic::P50 => Some(0.5),
            Statistic::P90 => Some(0.9),
            Statistic::P95 => Some(0.95),
            Statistic::P99 => Some(0.99),
            Statistic::P999 => Some(0.999),
            Statistic::Max => Some(1.0),
        }
    }
}

impl Comparator {
    /// Whether a value has this relation to its limit.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Comparator::AtMost => value <= limit,
            Comparator::AtLeast => value >= limit,
            Comparator::Below => value < limit,
            Comparator::Above => value > limit,
            Comparator::Equal => value == limit,
        }
    }

    /// The words that stand before the limit in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Comparator::AtMost => "at most",
            Comparator::AtLeast => "at least",
            Comparator::Below => "below",
            Comparator::Above => "above",
            Comparator::Equal => "equal to",
        }
    }
}

/// The figure that a requirement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredFigure {
    /// Throughput, or with a rate the 99th percentile of the response time.
    Primary,
    /// Committed transactions per second.
    Throughput,
    /// An industry metric, such as NOPM, per minute.
    Metric(String),
    /// Response or server times of committed transactions.
    Time {
        /// Kind of transaction; `None` for all kinds together.
        kind: Option<String>,
        /// The server's part instead of the response time.
        is_server: bool,
        statistic: Statistic,
    },
    /// Failed transactions: their number, or their share of those that ended.
    Errors,
    /// The longest time in which nobody committed, or in which connections were lost.
    Outage,
    /// The time from the beginning of an outage until the throughput was back.
    Recovery,
    /// Acknowledged commits that the server lost.
    Lost,
}

/// What a figure is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum RequiredLimit {
    /// Transactions per second.
    PerSecond(f64),
    /// Transactions of an industry metric per minute.
    PerMinute(f64),
    /// Nanoseconds.
    Time(f64),
    /// A number of transactions.
    Count(u64),
    /// A share of the transactions that ended.
    Share(f64),
    /// A share of the same figure of the runs with this label.
    Of {
        /// The share, 0.97 in `97% of main`.
        share: f64,
        /// Label, or name of a run.
        label: String,
    },
}

impl RequiredLimit {
    /// The limit in the unit of its figure; `None` if it is a share of other runs.
    pub fn value(&self) -> Option<f64> {
        match self {
            RequiredLimit::PerSecond(limit)
            | RequiredLimit::PerMinute(limit)
            | RequiredLimit::Time(limit)
            | RequiredLimit::Share(limit) => Some(*limit),
            RequiredLimit::Count(limit) => Some(*limit as f64),
            RequiredLimit::Of { .. } => None,
        }
    }
}

/// A figure, and what is required of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub figure: RequiredFigure,
    pub comparator: Comparator,
    pub limit: RequiredLimit,
}

impl Requirement {
    /// The label of the runs with which it compares; `None` if its limit is a value.
    pub fn baseline(&self) -> Option<&str> {
        match &self.limit {
            RequiredLimit::Of { label, .. } => Some(label),
            _ => None,
        }
    }
}

/// A requirement with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementResult {
    pub requirement: Requirement,
    pub verdict: AnswerVerdict,
    /// The figure, in the unit of the limit: per second, per minute, nanoseconds, a number, a share. For a limit
    /// that is a share of other runs, the figure as a share of theirs. Absent if there is no such figure.
    pub value: Option<f64>,
    /// The interval at 95 % in which the figure lies; absent for what is counted, or if it cannot be estimated.
    pub interval: Option<[f64; 2]>,
    /// Name of the figure that was compared with that of other runs; absent for a limit that is a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<String>,
    /// Why it is undecided, or missed although the figure has no interval; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a result says to everything that was required of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The worst of the results; undecided at best if the figures must not be used.
    pub verdict: AnswerVerdict,
    /// Each requirement with its result, in the order given.
    pub results: Vec<RequirementResult>,
}

/// The requirements of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements(pub Vec<Requirement>);
