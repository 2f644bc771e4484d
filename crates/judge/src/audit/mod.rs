//! Checks whether another tool's output can be right.
//!
//! In: the parsed output, and its figures as a Run. Out: an [`Audit`]: problems with its figures, and what was
//! checked. Must never: treat a figure that the output lacks as wrong, or change a figure.

mod mix;
mod relations;

use crate::checks::{find_check, invalid_or_caveat, new_check};
use crate::formatting::{count, percent, share};
use crate::thresholds::{
    AUDIT_LITTLE_INVALID_SHARE, AUDIT_REQUESTED_TIME_TOLERANCE_S,
    AUDIT_REQUESTED_TIME_TOLERANCE_SHARE, AUDIT_TIME_TOLERANCE_S, AUDIT_TPS_ROUNDING_ERROR,
    ERRORS_INVALID_SHARE, LITTLE_GAP_MAX_SHARE, NOPM_SHARE_INVALID_DEVIATION,
    NOPM_SHARE_MAX_DEVIATION, PACED_NOPM_MAX_PER_WAREHOUSE,
};
use prony_store::{Check, ReportedRun, Run, Setting, Severity};
use serde::Serialize;

/// The result of checking an output.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Audit {
    /// Problems with the figures, the worst first.
    pub checks: Vec<Check>,
    /// Checks that found no problem, and checks that were not possible, with the reason.
    pub examined: Vec<String>,
}

/// The checks of a Run for which the output of another tool has enough data.
const RUN_CHECKS: [&str; 4] = ["errors", "short-run", "contention", "shares"];

/// Of 23 transactions of TPROC-C, ten are new orders on average.
const NEW_ORDER_SHARE: f64 = 10.0 / 23.0;

/// Audits one run of another tool. `run`: its figures ([`ReportedRun::to_run`]).
pub fn audit(reported: &ReportedRun, run: &Run) -> Audit {
    let mut audit = Audit::default();
    audit.checks.extend(check_truncated(reported));
    check_littles_law(reported, &mut audit);
    mix::check(reported, &mut audit);
    relations::check(&reported.relations, &mut audit);
    check_new_orders(reported, &mut audit);
    audit.checks.extend(check_trouble(reported));
    let check_run = |id: &str| find_check(id)?.check(run);
    if reported.transactions.is_some() {
        audit.checks.extend(check_run("nothing-committed"));
    }
    for check in RUN_CHECKS.into_iter().filter_map(check_run) {
        // If the output does not contain the length of the run, the run is not called short.
        if check.id != "short-run" || run.measured.length_s > 0.0 {
            audit.checks.push(with_advice_for_other_tool(check));
        }
    }
    audit
        .checks
        .sort_by_key(|check| std::cmp::Reverse(check.severity));
    audit
}

/// Replaces advice that applies to Prony by advice that applies to any tool.
fn with_advice_for_other_tool(check: Check) -> Check {
    let advice = match check.id.as_str() {
        "shares" => {
            "Check whether transactions of one kind failed; if not, the mix that ran is not the one named."
        }
        _ => return check,
    };
    Check {
        advice: advice.to_owned(),
        ..check
    }
}

fn check_truncated(reported: &ReportedRun) -> Option<Check> {
    if reported.missing_parts.is_empty() {
        return None;
    }
    new_check(
        "truncated",
        invalid_or_caveat(reported.tps.is_none()),
        format!("The output lacks {}.", reported.missing_parts.join(", ")),
        "Pass the whole output, from the first line to the last; if the tool was stopped early, run it again.",
    )
}

fn check_trouble(reported: &ReportedRun) -> Option<Check> {
    if reported.messages.is_empty() {
        return None;
    }
    new_check(
        "trouble",
        Severity::Caveat,
        format!("In the output: {}.", reported.messages.join("; ")),
        "Check whether the figures still show what you wanted to measure.",
    )
}

/// Checks Little's law: if clients are always inside a transaction, their number is throughput x mean
/// latency.
fn check_littles_law(reported: &ReportedRun, audit: &mut Audit) {
    let (Some(clients), Some(throughput), Some(mean_ms)) =
        (reported.clients, throughput(reported), reported.mean_ms)
    else {
        return;
    };
    let tps = throughput.tps;
    if clients == 0 || tps <= 0.0 || mean_ms <= 0.0 {
        return;
    }
    if reported.mean_derived {
        return check_derived_mean(reported, clients, &throughput, audit);
    }
    if let Some(reason) = why_littles_law_is_not_checked(reported) {
        let text = format!("Little's law: not checked, because {reason}");
        audit.examined.push(text);
        return;
    }
    let busy_clients = tps * mean_ms / 1e3;
    let gap = busy_clients / f64::from(clients) - 1.0;
    let clients_text = count(clients.into(), "client");
    let text = format!(
        "{tps:.2} per second x {mean_ms:.3} ms accounts for {busy_clients:.2} of {clients_text}"
    );
    let rounding = reported.mean_tolerance_ms / mean_ms;
    let tolerance_s = AUDIT_TIME_TOLERANCE_S + reported.max_ms.unwrap_or(0.0) / 1e3;
    let within_tolerance = reported
        .actual_s
        .is_some_and(|actual_s| gap.abs() * actual_s <= tolerance_s);
    if gap.abs() <= LITTLE_GAP_MAX_SHARE + rounding + throughput.relative_error || within_tolerance
    {
        let text = format!("Little's law: {text} ({} off)", percent(gap.abs()));
        audit.examined.push(text);
        return;
    }
    audit.checks.extend(littles_law_check(&text, gap));
}

/// `None` if Little's law can be checked.
fn why_littles_law_is_not_checked(reported: &ReportedRun) -> Option<&'static str> {
    let transactions = reported.transactions.unwrap_or(0);
    let ended = transactions.saturating_add(reported.failed);
    if reported.scheduled {
        Some("clients waited for a schedule")
    } else if reported.connecting_in_throughput {
        Some("the throughput includes connecting and the latency does not")
    } else if share(reported.failed, ended) > ERRORS_INVALID_SHARE {
        Some("no figure includes the times of the failed transactions")
    } else {
        None
    }
}

struct Throughput {
    tps: f64,
    /// The largest error of `tps`, as a share of it.
    relative_error: f64,
}

/// The throughput as printed, or computed from count and time; `None` if the output has neither.
fn throughput(reported: &ReportedRun) -> Option<Throughput> {
    let positive = |value: &f64| *value > 0.0;
    let transactions = reported.transactions.map(|count| count as f64);
    let (tps, relative_error) = if let Some(tps) = reported.tps.filter(positive) {
        // The tools print two or six decimals; the rounding error assumes two.
        (tps, AUDIT_TPS_ROUNDING_ERROR / tps)
    } else if let Some(actual_s) = reported.actual_s.filter(positive) {
        (transactions? / actual_s, AUDIT_TIME_TOLERANCE_S / actual_s)
    } else {
        let requested_s = reported.requested_s.filter(positive)?;
        let start_and_end_share = AUDIT_REQUESTED_TIME_TOLERANCE_S / requested_s;
        let error = AUDIT_REQUESTED_TIME_TOLERANCE_SHARE + start_and_end_share;
        (transactions? / requested_s, error)
    };
    Some(Throughput {
        tps,
        relative_error,
    })
}

/// Checks a mean latency that pgbench has not measured. If no option requires latencies, pgbench prints
/// time x clients / transactions, which includes failed ones.
fn check_derived_mean(
    reported: &ReportedRun,
    clients: u32,
    throughput: &Throughput,
    audit: &mut Audit,
) {
    let tps = throughput.tps;
    let transactions = reported.transactions.unwrap_or(0) as f64;
    let failed = reported.failed.saturating_add(reported.skipped) as f64;
    let ended_per_success = if transactions > 0.0 { 1.0 + failed / transactions } else { 1.0 };
    let mean_ms = reported.mean_ms.unwrap_or(0.0);
    let expected_ms = 1e3 * f64::from(clients) / (tps * ended_per_success);
    // Before 9.6 pgbench used the requested time, not the elapsed time.
    let time_error = match (reported.requested_s, reported.actual_s) {
        (Some(requested_s), Some(actual_s)) if actual_s > 0.0 => {
            (requested_s / actual_s - 1.0).abs()
        }
        _ => 0.0,
    };
    let gap = mean_ms / expected_ms - 1.0;
    let text = format!(
        "the mean latency is {mean_ms:.3} ms, and {} at {tps:.2} transactions per second imply \
         {expected_ms:.3} ms",
        count(clients.into(), "client"),
    );
    let tolerance = reported.mean_tolerance_ms / expected_ms
        + throughput.relative_error
        + time_error.min(AUDIT_REQUESTED_TIME_TOLERANCE_SHARE);
    if gap.abs() <= tolerance {
        audit.examined.push(format!(
            "Little's law: {text}; it was derived from them, not measured (pgbench measures it with \
             --progress, --rate or --latency-limit)"
        ));
        return;
    }
    let direction = if gap < 0.0 { "low" } else { "high" };
    audit.checks.extend(new_check(
        "littles-law",
        Severity::Invalid,
        format!("{text}: {} too {direction}.", percent(gap.abs())),
        "pgbench derives this mean from clients, time and transactions: the figures come from different \
         runs, or one was changed. Use the output as the tool wrote it.",
    ));
}

/// The finding for output that violates Little's law by a relative `gap`. If only a small part of the time is
/// missing, the client itself is the likely cause.
fn littles_law_check(text: &str, gap: f64) -> Option<Check> {
    let deviation = percent(gap.abs());
    if gap < 0.0 && gap.abs() <= AUDIT_LITTLE_INVALID_SHARE {
        return new_check(
            "littles-law",
            Severity::Caveat,
            format!("{text}: {deviation} too few."),
            "The latencies omit some time. pgbench reads its clock before it processes the replies of many \
             clients, and clients that finish before the others are idle. Use fewer clients per thread \
             (-j), and -T instead of -t.",
        );
    }
    let direction = if gap < 0.0 { "few" } else { "many" };
    new_check(
        "littles-law",
        Severity::Invalid,
        format!("{text}: {deviation} too {direction}."),
        "Throughput, latency and clients come from different runs, or the client lost or invented time. \
         Check how many clients actually ran.",
    )
}

/// Checks NOPM and TPM of TPROC-C.
fn check_new_orders(reported: &ReportedRun, audit: &mut Audit) {
    let (Some(nopm), Some(tpm)) = (reported.nopm, reported.tpm) else {
        return;
    };
    audit.checks.extend(new_check(
        "server-count",
        Severity::Note,
        "TPM is the server's count of commits and rollbacks, and the throughput is computed \
         from it.",
        "Quote NOPM first.",
    ));
    if nopm <= 0.0 || tpm <= 0.0 {
        audit.checks.extend(new_check(
            "nothing-committed",
            Severity::Invalid,
            format!("{nopm} NOPM and {tpm} TPM are not a result."),
            "Check the errors of the virtual users.",
        ));
        return;
    }
    let share = nopm / tpm;
    let gap = share / NEW_ORDER_SHARE - 1.0;
    let text = format!(
        "NOPM is {} of TPM; {} is expected, because ten of 23 transactions are new orders",
        percent_exact(share),
        percent_exact(NEW_ORDER_SHARE)
    );
    if gap.abs() > NOPM_SHARE_MAX_DEVIATION {
        audit.checks.extend(nopm_share_check(&text, gap));
    } else {
        audit.examined.push(text);
    }
    let warehouses = f64::from(reported.scale.unwrap_or(0));
    let paced = reported
        .settings
        .contains(&Setting::new("keyandthink", "true"));
    if warehouses > 0.0 && nopm / warehouses > PACED_NOPM_MAX_PER_WAREHOUSE && !paced {
        audit.checks.extend(new_check(
            "unpaced",
            Severity::Note,
            format!(
                "{:.1} NOPM per warehouse, above the {PACED_NOPM_MAX_PER_WAREHOUSE} possible with keying and \
                 think times: an unpaced stress test, never tpmC.",
                nopm / warehouses
            ),
            "Compare with unpaced runs only.",
        ));
    }
}

/// The finding for a relative deviation `gap` of NOPM / TPM: other commits lower NOPM / TPM, but nothing
/// raises it.
fn nopm_share_check(text: &str, gap: f64) -> Option<Check> {
    let size = percent(gap.abs());
    let severity = invalid_or_caveat(gap > NOPM_SHARE_INVALID_DEVIATION);
    let (deviation, advice) = if gap < 0.0 {
        (
            "off",
            "Something else committed on this server meanwhile, many transactions failed, or the figures \
             come from different runs.",
        )
    } else {
        (
            "too large",
            "Each new order is a commit, and other commits only make the share smaller: the figures \
             come from different runs, one is mistyped, something else inserted orders into these tables, \
             or the server's count lags.",
        )
    };
    new_check(
        "nopm-share",
        severity,
        format!("{text}: {size} {deviation}."),
        advice,
    )
}

fn percent_exact(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests;
