//! Whether what another tool printed can be right.
//!
//! In: what its output says, and the Run made of it. Out: an [`Audit`]: what stands against its
//! figures, and what was looked at. Must never: take what was not printed for wrong; change a figure.

mod mix;
mod relations;

use crate::thresholds::{
    AUDIT_EDGE_S, AUDIT_LITTLE_INVALID, ERRORS_INVALID, LITTLE_GAP, NOPM_PACED, NOPM_SHARE_GAP,
    NOPM_SHARE_INVALID,
};
use crate::words::{count, percent};
use crate::{Checker, errors, found, length, shares, workload};
use prony_store::{Check, Reported, Run, Severity};
use serde::Serialize;

/// What an output is worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Audit {
    /// What stands against its figures, the worst first.
    pub checks: Vec<Check>,
    /// What was looked at and is in order, or why it could not be looked at.
    pub looked_at: Vec<String>,
}

/// Checks of a Run that need no more than an output tells.
const OF_THE_RUN: [Checker; 5] = [
    errors::errors,
    length::short,
    workload::branch_contention,
    workload::warehouse_contention,
    shares::check,
];

/// Of 23 transactions of TPROC-C, ten are new orders.
const NEW_ORDERS: f64 = 10.0 / 23.0;

/// Audits one run of another tool. `run` is the Run made of it.
pub fn audit(reported: &Reported, run: &Run) -> Audit {
    let mut audit = Audit::default();
    audit.checks.extend(truncated(reported));
    littles_law(reported, &mut audit);
    mix::check(reported, &mut audit);
    relations::check(&reported.relations, &mut audit);
    orders(reported, &mut audit);
    audit.checks.extend(trouble(reported));
    if reported.transactions.is_some() {
        audit.checks.extend(errors::nothing_committed(run));
    }
    for check in OF_THE_RUN.iter().filter_map(|check| check(run)) {
        // A run of unknown length is not short.
        if check.id != "short-run" || run.measured.seconds > 0.0 {
            audit.checks.push(of_another_tool(check));
        }
    }
    audit
        .checks
        .sort_by_key(|check| std::cmp::Reverse(check.severity));
    audit
}

/// Prony's own advice where the tool is another.
fn of_another_tool(check: Check) -> Check {
    let advice = match check.id.as_str() {
        "shares" => {
            "See whether transactions of one kind failed; otherwise another mix was run than the one named."
        }
        _ => return check,
    };
    Check {
        advice: advice.to_owned(),
        ..check
    }
}

fn truncated(reported: &Reported) -> Option<Check> {
    if reported.lacks.is_empty() {
        return None;
    }
    let severity = match reported.tps {
        Some(_) => Severity::Caveat,
        None => Severity::Invalid,
    };
    found(
        "truncated",
        severity,
        format!("The output lacks {}.", reported.lacks.join(", ")),
        "Give all of it, from the first line to the last; where the tool was ended early, run it again.",
    )
}

fn trouble(reported: &Reported) -> Option<Check> {
    if reported.troubles.is_empty() {
        return None;
    }
    found(
        "trouble",
        Severity::Caveat,
        format!("In the output: {}.", reported.troubles.join("; ")),
        "See whether the figures are still those that were meant.",
    )
}

/// Little's law: clients that are always inside a transaction number throughput times mean latency.
fn littles_law(reported: &Reported, audit: &mut Audit) {
    let (Some(clients), Some(tps), Some(mean_ms)) =
        (reported.clients, reported.tps, reported.mean_ms)
    else {
        return;
    };
    let not = |why: &str| format!("Little's law: not checked, because {why}");
    let skip = match reported {
        _ if clients == 0 || tps <= 0.0 || mean_ms <= 0.0 => return,
        _ if reported.mean_derived => {
            "the mean latency was reckoned from clients and throughput, not measured (pgbench measures \
             it with --progress, --rate or --latency-limit)"
        }
        _ if reported.scheduled => "clients waited for a schedule",
        _ if reported.connecting_counts => "connecting is in the throughput and not in the latency",
        _ => "",
    };
    if !skip.is_empty() {
        audit.looked_at.push(not(skip));
        return;
    }
    let ended = reported
        .transactions
        .unwrap_or(0)
        .saturating_add(reported.failed);
    if ended > 0 && reported.failed as f64 / ended as f64 > ERRORS_INVALID {
        audit
            .looked_at
            .push(not("the times of the failed transactions are in no figure"));
        return;
    }
    let at_work = tps * mean_ms / 1e3;
    let gap = at_work / f64::from(clients) - 1.0;
    let clients_text = count(clients.into(), "client");
    let text =
        format!("{tps:.2} a second x {mean_ms:.3} ms keeps {at_work:.2} of {clients_text} at work");
    let rounding = reported.mean_slack_ms / mean_ms;
    let edge_s = AUDIT_EDGE_S + reported.max_ms.unwrap_or(0.0) / 1e3;
    let at_edges = reported
        .ran_s
        .is_some_and(|ran_s| gap.abs() * ran_s <= edge_s);
    if gap.abs() <= LITTLE_GAP + rounding || at_edges {
        let off = format!("Little's law: {text} ({} off)", percent(gap.abs()));
        audit.looked_at.push(off);
        return;
    }
    audit.checks.extend(broken_law(&text, gap));
}

/// What a broken law means: time that is missing in part is the client's own fault, by a little.
fn broken_law(text: &str, gap: f64) -> Option<Check> {
    let off = percent(gap.abs());
    if gap < 0.0 && gap.abs() <= AUDIT_LITTLE_INVALID {
        return found(
            "littles-law",
            Severity::Caveat,
            format!("{text}: {off} too few."),
            "The latencies leave time out. pgbench reads its clock before it takes the replies of many \
             clients, and clients that are done before the others are idle: fewer clients a thread (-j), and \
             -T in place of -t.",
        );
    }
    let which = if gap < 0.0 { "few" } else { "many" };
    found(
        "littles-law",
        Severity::Invalid,
        format!("{text}: {off} too {which}."),
        "Throughput, latency and clients are not of one run, or the client lost or invented time. See \
         whether the number of clients is the one that ran.",
    )
}

/// NOPM and TPM of TPROC-C.
fn orders(reported: &Reported, audit: &mut Audit) {
    let (Some(nopm), Some(tpm)) = (reported.nopm, reported.tpm) else {
        return;
    };
    audit.checks.extend(found(
        "server-count",
        Severity::Note,
        "TPM is the server's count of commits and rollbacks, and so are the transactions a second that \
         are made of it.",
        "Lead with NOPM.",
    ));
    if nopm <= 0.0 || tpm <= 0.0 {
        audit.checks.extend(found(
            "nothing-committed",
            Severity::Invalid,
            format!("{nopm} NOPM and {tpm} TPM are no result."),
            "See the errors of the virtual users.",
        ));
        return;
    }
    let share = nopm / tpm;
    let gap = share / NEW_ORDERS - 1.0;
    let text = format!(
        "NOPM is {} of TPM, where ten of 23 transactions are new orders ({})",
        percent_exact(share),
        percent_exact(NEW_ORDERS)
    );
    if gap.abs() > NOPM_SHARE_GAP {
        audit.checks.extend(share_off(&text, gap));
    } else {
        audit.looked_at.push(text);
    }
    let warehouses = f64::from(reported.scale.unwrap_or(0));
    let paced = reported
        .settings
        .iter()
        .any(|one| one == "keyandthink true");
    if warehouses > 0.0 && nopm / warehouses > NOPM_PACED && !paced {
        audit.checks.extend(found(
            "unpaced",
            Severity::Note,
            format!(
                "{:.1} NOPM a warehouse, above the {NOPM_PACED} of users who key and think: an unpaced \
                 stress test, and never tpmC.",
                nopm / warehouses
            ),
            "Compare with unpaced runs only.",
        ));
    }
}

/// What a share off by this gap means: what else commits makes it smaller, and nothing makes it larger.
fn share_off(text: &str, gap: f64) -> Option<Check> {
    let off = percent(gap.abs());
    let severity = if gap > NOPM_SHARE_INVALID {
        Severity::Invalid
    } else {
        Severity::Caveat
    };
    let (way, advice) = if gap < 0.0 {
        (
            "off",
            "Something else committed on this server meanwhile, many transactions failed, or the figures \
             are not of one run.",
        )
    } else {
        (
            "too large",
            "Each new order is a commit, and other commits only make the share smaller: the figures are \
             not of one run, one is mistyped, something else put orders into these tables, or the server's \
             count lags behind.",
        )
    };
    found(
        "nopm-share",
        severity,
        format!("{text}: {off} {way}."),
        advice,
    )
}

fn percent_exact(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests;
