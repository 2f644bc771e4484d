//! Looks at the servers of an experiment before its first run.
//!
//! In: a checked experiment. Out: the failure of a URL that a later variant could not use. Must never: connect, or ask for a
//! host that the command of `between` may start.

use crate::command::server;
use crate::exit::{Exit, Failure};
use prony_plan::experiment::{DIRECT_VARIANT, POOLED_VARIANT};
use prony_plan::{Experiment, ServerPlan};
use std::mem::discriminant;

/// Checks the URLs of all variants.
///
/// # Errors
/// If one is wrong, or the pooler does not speak the protocol of its server.
pub fn check_urls(experiment: &Experiment) -> Result<(), Failure> {
    let mut direct = None;
    for variant in &experiment.variants {
        let ServerPlan::Url(url) = &variant.plan.server else {
            continue;
        };
        let target = match server::resolve_target(Some(url)) {
            Ok(target) => target,
            Err(failure) if failure.exit == Exit::Connect && experiment.between.is_some() => {
                continue;
            }
            Err(failure) => return Err(failure),
        };
        let protocol = discriminant(&target.protocol);
        match variant.name.as_str() {
            DIRECT_VARIANT => direct = Some(protocol),
            POOLED_VARIANT if direct.is_some_and(|direct| direct != protocol) => {
                let message = "the pooler of --via speaks another protocol than the server";
                let hint = "give the URL of a pooler in front of this server";
                return Err(Failure::new(Exit::Usage, message, hint));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_plan::{PlanInput, value_from_flag};

    #[test]
    fn a_pooler_has_a_url_of_the_protocol_of_its_server() {
        let refusal = |via: &str| {
            let text = |flag: &str, text: &str| value_from_flag(flag, Some(text.to_owned()));
            let input = PlanInput {
                workload: text("w", "tpcb"),
                url: text("--url", "postgres://127.0.0.1/d"),
                via: text("--via", via),
                ..PlanInput::default()
            };
            let experiment = input
                .check_experiment()
                .map_err(|problems| problems.to_string())?;
            check_urls(&experiment).map_err(|failure| failure.problems[0].message.clone())
        };
        assert_eq!(refusal("postgres://127.0.0.1:6432/d"), Ok(()));
        let other = refusal("mysql://127.0.0.1/d").unwrap_err();
        other.assert_contains("another protocol");
        let empty = refusal("").unwrap_err();
        empty.assert_contains("is empty");
        assert!(refusal("postgres://127.0.0.1:port/d").is_err());
    }
}
