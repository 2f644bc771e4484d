//! The page of the rules of comparisons, from the tables that `compare` applies.

use super::fairness::{FAIRNESS_CONDITIONS, FAIRNESS_SOURCE};
use super::{code, page_head, table};
use prony_judge::compare::rule_table::{
    intended_differences, relevant_server_settings, rules, tolerances,
};
use prony_plan::settings::{Compared, SETTINGS};
use prony_store::Severity;

fn effect(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "not comparable",
        Severity::Caveat => "caveat",
        Severity::Note => "note",
    }
}

/// The conditions of a published guide, each with the rules that apply it.
fn fairness_section() -> String {
    let (source, place) = FAIRNESS_SOURCE;
    let rows = FAIRNESS_CONDITIONS.iter().map(|condition| {
        let rules = condition.rules().into_iter();
        let rules = rules.map(|rule| format!("{} ({})", rule.property, effect(rule.severity)));
        [
            condition.condition.to_owned(),
            rules.collect::<Vec<_>>().join("; "),
            condition.remark.to_owned(),
        ]
    });
    format!(
        "\n## The conditions of a fair comparison in a published guide\n\n\
         {} ({place})\n\
         names conditions under which two databases may be compared. Each of them in our words, with the rules above that apply it:\n\n{}",
        source.title(),
        table(["condition", "rules (a difference is)", "remark"], rows)
    )
}

pub fn page() -> String {
    let mut text = page_head(
        "Comparability",
        "`prony compare` gives ratios only if two runs measured the same thing. This is what a difference in each property means:\n\
         *not comparable* (exit code 7, no ratios), a *caveat* (ratios, and the difference is named), or a *note*.\n\
         [Compare two servers](../how-to/compare.md) shows the command.\n",
    );
    text += &table(
        ["property", "a difference is", "because"],
        rules().into_iter().map(|rule| {
            [
                rule.property,
                effect(rule.severity).to_owned(),
                rule.why.to_owned(),
            ]
        }),
    );
    text += "\nA setting that only the newer of two documents records is a note. MySQL and MariaDB are two engines, compared with a caveat;\n\
             `--across-engines` also compares other engines with a caveat, if the workload is the same.\n\n## Tolerances\n\n";
    text += &table(
        ["property", "difference"],
        tolerances()
            .into_iter()
            .map(|(property, tolerance)| [property.to_owned(), tolerance]),
    );
    text += &fairness_section();
    text += "\n## Differences that an experiment makes on purpose\n\n\
             Between two variants of one experiment, a difference that their plans request is at most a caveat; so are settings of the\n\
             workload. Different workloads stay incomparable.\n\n";
    text += &table(
        ["property", "keys of the plan"],
        intended_differences().into_iter().map(|(property, keys)| {
            let keys: Vec<String> = keys.iter().map(|key| code(key)).collect();
            [property.to_owned(), keys.join(", ")]
        }),
    );
    text += "\n## Keys of a plan that comparisons ignore\n\n";
    let ignored = SETTINGS
        .iter()
        .filter_map(|setting| match setting.compared {
            Compared::Free(why) => Some([code(setting.path), why.to_owned()]),
            Compared::Varies(_) => None,
        });
    text += &table(["key", "because"], ignored);
    let settings: Vec<String> = relevant_server_settings()
        .iter()
        .map(|name| code(name))
        .collect();
    text + &format!(
        "\n## Relevant settings of the server\n\n{}.\n",
        settings.join(", ")
    )
}
