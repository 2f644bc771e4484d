//! The limits of a comparison, in sentences.
//!
//! In: `judge`'s comparison, and the limits. Out: for each side and limit, a sentence and whether it passes.
//! Must never: let a limit that is undecided look like one that is kept.

use crate::text::plain;
use crate::units;
use prony_judge::compare::sides::{Gate, GateFinding, GateResult, SideComparison, SidesComparison};

/// The limits that each side except the first must keep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The limits; none by default.
    pub gates: Vec<Gate>,
    /// Whether a side passes a limit that its runs do not decide.
    pub pass_undecided: bool,
}

/// One limit with its result for one side.
pub(super) struct LimitResult {
    /// `judge`'s finding.
    pub finding: GateFinding,
    /// Whether the side passes.
    pub passed: bool,
    /// The result in a sentence.
    pub text: String,
}

impl Limits {
    /// The results of one side, in the order of the limits.
    pub(super) fn results<'a>(
        &'a self,
        comparison: &'a SidesComparison,
        side: &'a SideComparison,
    ) -> impl Iterator<Item = LimitResult> + 'a {
        // A side that is not comparable has no figures: it fails by its verdict, not by a limit.
        let gates = self.gates.iter().filter(|_| !side.figures.is_empty());
        gates.map(move |gate| {
            let finding = comparison.evaluate_gate(side, *gate);
            let passed = self.passes(finding.result);
            let text = self.result_sentence(side.letter, &finding);
            LimitResult {
                finding,
                passed,
                text,
            }
        })
    }

    /// Whether a side with this result passes.
    pub fn passes(&self, result: GateResult) -> bool {
        match result {
            GateResult::Kept => true,
            GateResult::Exceeded => false,
            GateResult::Undecided => self.pass_undecided,
        }
    }

    fn result_sentence(&self, letter: char, finding: &GateFinding) -> String {
        let figure_note = match finding.figure.as_str() {
            "" => String::new(),
            name => format!(" ({})", plain(name)),
        };
        let [exceeded_text, kept_text] = match finding.gate {
            Gate::Slower(allowed) | Gate::P99Slower(allowed) => ["", "not "].map(|not| {
                let allowed = units::percent_with_tenths(allowed);
                format!("{letter} is {not}slower than A by more than {allowed}{figure_note}")
            }),
            Gate::P99Above(limit_ns) => ["", "not "].map(|not| {
                let limit = units::time(limit_ns);
                format!("the 99th percentile of {letter}'s response times is {not}above {limit}")
            }),
        };
        let with_capital = |text: &str| text[..1].to_uppercase() + &text[1..];
        match finding.result {
            GateResult::Exceeded => {
                format!("{}: the limit is exceeded.", with_capital(&exceeded_text))
            }
            GateResult::Kept => format!("{}: the limit is kept.", with_capital(&kept_text)),
            GateResult::Undecided => format!(
                "These runs do not show whether {exceeded_text}: {}; undecided limits {}.",
                undecided_reason(finding),
                if self.pass_undecided { "pass" } else { "fail" }
            ),
        }
    }
}

fn undecided_reason(finding: &GateFinding) -> &'static str {
    match (finding.gate, finding.runs) {
        _ if finding.is_rate_given => "at a rate, the throughput is that of the load",
        (_, [0, _] | [_, 0]) => "the sides have no such figure",
        (Gate::P99Above(_), [_, 1]) => "1 run says nothing about other runs",
        (Gate::Slower(_) | Gate::P99Slower(_), [1, _] | [_, 1]) => {
            "a side has 1 run, which says nothing about other runs"
        }
        _ => "run both more often, alternately",
    }
}
