//! The page of checks, from the tables of `judge`.

use super::found_faults::FOUND_FAULTS;
use super::{page_head, table};
use prony_judge::RULES_VERSION;
use prony_judge::checks::{
    CAVEATS_OF_COMPARISONS, CHECKS, CHECKS_OF_OTHER_TOOLS, OTHERS_OF_RUNS, OtherFindings,
    REMARKS_ON_PRICES, Rule,
};

const SEVERITIES: &str = "\
Where a row says \"invalid, caveat, note\", the severity follows from the known effect on the figure: more than 10 % is
invalid, more than 3 % a caveat, more than 1 % a note. Other checks have their own limits because their effect on the
figure is not known, or because any such event makes the figure useless.

";

const KINDS: &str = "
Caveats are of two kinds ([explanation](../explanation/validity.md)): doubt (the measurement may be wrong) and scope (what
the figure does not cover).
";

const PROMISE: &str = "\
What the checks promise, on simulated runs of 60 to 600 s: of 100 healthy runs at most two are doubted, and of 100 runs
with one of these faults at least 95 are found.";

pub fn page() -> String {
    let introduction = format!(
        "Every check of a run, with the condition under which it appears. These are the rules of version {RULES_VERSION}; a run records the\n\
         version by which it was judged, and `prony judge RUN` judges it by the installed one. [Validity](../explanation/validity.md)\n\
         explains the verdicts.\n"
    );
    let head = |first| [first, "severity", "applies when"];
    let checks = CHECKS.iter();
    let checks = checks.flat_map(|check| rows(&[check.id], check.rules));
    let faults = FOUND_FAULTS.iter();
    let faults = faults.map(|(fault, found_by)| [(*fault).to_owned(), found_by.join(", ")]);
    let section = |title, text, table| format!("\n## {title}\n\n{text}\n\n{table}");
    [
        page_head("Checks and thresholds", &introduction),
        SEVERITIES.to_owned(),
        table(head("check"), checks.chain(rows_of(OTHERS_OF_RUNS))),
        KINDS.to_owned(),
        section(
            "What the checks find",
            PROMISE,
            table(["fault", "found by"], faults),
        ),
        section(
            "Caveats of comparisons",
            "For comparisons, in addition to the differences of `compare`:",
            table(head("caveat"), rows_of(CAVEATS_OF_COMPARISONS)),
        ),
        section(
            "Remarks on prices",
            "For prices:",
            table(head("remark"), rows_of(REMARKS_ON_PRICES)),
        ),
        section(
            "Checks of other tools' output",
            "For other tools' output:",
            table(head("check"), rows_of(CHECKS_OF_OTHER_TOOLS)),
        ),
    ]
    .concat()
}

fn rows_of(findings: &[OtherFindings]) -> impl Iterator<Item = [String; 3]> {
    let findings = findings.iter();
    findings.flat_map(|others| rows(others.ids, others.rules))
}

/// The rows of one check, of which only the first names it.
fn rows(ids: &[&str], rules: &[Rule]) -> Vec<[String; 3]> {
    let ids: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    let mut name = Some(ids.join(", "));
    let rows = rules.iter().map(|rule| {
        let severities = rule.severities.iter().map(|severity| severity.name());
        let severities: Vec<&str> = severities.collect();
        let name = name.take().unwrap_or_default();
        [name, severities.join(", "), rule.applies_when.to_owned()]
    });
    rows.collect()
}
