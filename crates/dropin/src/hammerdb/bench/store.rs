//! Describes and reports the run in Prony's store.
//!
//! In: a request and a finished run. Out: the request for the Run document; lines about failed checks and the
//! stored file. Must never: store a password.

use super::monitor::Figures;
use super::{EndedRun, RunContext};
use crate::hammerdb::warn;
use crate::tool_run::ToolRun;
use prony_store::{NOPM, Run, Severity};
use serde_json::{Map, Value, json};

/// The request, for the Run document. `dictionary`: the settings, without passwords.
pub fn request_json(context: &RunContext<'_>, dictionary: &Map<String, Value>) -> Value {
    json!({
        "hammerdbcli": dictionary,
        "virtual_users": context.request.vusers,
        "job": context.request.job_id,
        "minute_s": context.minute_length.as_secs_f64(),
    })
}

impl EndedRun {
    /// Prints why the figures must not be used and where the run is stored.
    pub fn report_checks(&self, tool_run: &ToolRun<'_>) {
        let run = &self.finished.run;
        if let Some(figures) = self.figures {
            report_other_clients(run, figures);
        }
        let checks = run.checks.iter();
        for check in checks.filter(|check| check.severity == Severity::Invalid) {
            let (finding, advice) = (&check.finding, &check.advice);
            warn(&format!(
                "these figures must not be used: {finding} {advice}"
            ));
        }
        tool_run.warn_unless_stored(&self.finished);
        if self.is_stored() {
            warn(&format!("run stored: prony show {}", run.id));
        }
    }
}

/// The share by which the server's count of orders may exceed the run's own count before other clients must be the
/// cause: transactions in flight at the start and end of the window explain as much.
const IN_FLIGHT_MAX_SHARE: f64 = 0.05;

/// Reports that other programs placed orders. NOPM includes their orders, because it is the growth of the
/// schema's order numbers, as in HammerDB.
fn report_other_clients(run: &Run, figures: Figures) {
    let Some(run_nopm) = run.rates.iter().find(|rate| rate.name == NOPM) else {
        return;
    };
    // One order of each client, which is all that matters in a short run.
    let in_flight_nopm = f64::from(run.drive.clients) / run.window.measured_s.max(1.0) * 60.0;
    let max_nopm = run_nopm.value * (1.0 + IN_FLIGHT_MAX_SHARE) + in_flight_nopm;
    if figures.nopm as f64 > max_nopm {
        warn(&format!(
            "the schema grew by {} new orders per minute, but these virtual users made only {:.0}: other \
             clients placed orders too",
            figures.nopm, run_nopm.value
        ));
    }
}
