//! A command of `--at` that begins too soon after the warm-up for what comes of it to be judged.
//!
//! In: a checked plan. Out: a sentence before the load. Must never: refuse the plan, because an outage is measured all the
//! same.

use super::describe_warmup;
use prony_judge::thresholds::OUTAGE_SECONDS_BEFORE_MIN;
use prony_plan::{Plan, format_duration};
use prony_store::RequiredFigure;
use std::time::Duration;

/// That the first command of a drill may leave too few measured seconds before it to say when the throughput is back.
pub(super) fn early_command_warning(plan: &Plan) -> Option<String> {
    let mut required = plan.require.0.iter().map(|requirement| &requirement.figure);
    let is_judged =
        plan.expect_outage || required.any(|figure| matches!(figure, RequiredFigure::Recovery));
    let at = plan.at.iter().map(|mark| mark.at).min()?;
    let warmup = plan.drive.warmup_max.unwrap_or(plan.drive.warmup);
    let earliest = warmup + Duration::from_secs(OUTAGE_SECONDS_BEFORE_MIN as u64);
    (is_judged && at < earliest).then(|| {
        format!(
            "the command at {} (--at) may come too early to say when the throughput is back: that needs \
             {OUTAGE_SECONDS_BEFORE_MIN} s measured before it, after {} of warm-up; start it at {} or later, or give a shorter --warmup",
            format_duration(at),
            describe_warmup(&plan.drive),
            format_duration(earliest),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_plan::PlanInput;

    fn warning(lines: &str) -> Option<String> {
        let text = format!("[workload]\nname = \"tpcb\"\n[run]\nduration = \"60s\"\n{lines}");
        let plan = PlanInput::from_toml("p.toml", &text).unwrap().check();
        early_command_warning(&plan.unwrap_or_else(|problems| panic!("{problems}")))
    }

    #[test]
    fn a_command_needs_measured_seconds_before_it() {
        let drill = "expect_outage = true\n";
        let soon = warning(&format!("{drill}at = [\"50s b\", \"10s a\"]\n"));
        let soon = soon.expect("the warm-up may last for 30 s");
        soon.assert_contains("the command at 10s (--at)")
            .assert_contains("needs 5 s measured before it, after 5s to 30s of warm-up");
        soon.assert_contains("start it at 35s or later");
        for in_time in [
            "at = [\"35s a\"]\n",
            "at = [\"10s a\"]\nwarmup = \"5s\"\n",
            "",
        ] {
            assert_eq!(warning(&format!("{drill}{in_time}")), None, "{in_time}");
        }
        assert_eq!(warning("at = [\"10s a\"]\n"), None, "it is no drill");
    }
}
