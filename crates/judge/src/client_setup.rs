//! Whether the client's machine was set up to drive a load: the frequency of its CPUs, and its network.
//!
//! In: a Run. Out: `cpu-frequency`, `network`. Must never: take an unknown speed for a fast one.

use crate::checks::{Finding, caveat, note};
use crate::formatting::percent;
use crate::observations;
use crate::thresholds::{CPU_FREQUENCY_MIN_LIMIT_SHARE, NETWORK_MAX_SHARE};
use prony_store::{CpuFrequency, Run};

/// Drivers whose `powersave` raises the frequency with the load, as `schedutil` does elsewhere
/// (Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst). With other drivers it is the lowest frequency.
const DRIVERS_WITH_DYNAMIC_POWERSAVE: [&str; 3] = ["intel_pstate", "amd-pstate", "amd-pstate-epp"];

pub(crate) fn check_cpu_frequency(run: &Run) -> Option<Finding> {
    let frequency = run.machine().host.cpu_frequency.as_ref()?;
    let advice =
        "Set the governor `performance` and no limit (cpupower frequency-set -g performance).";
    if let Some(slow) = slow_cpus(frequency) {
        return caveat(
            format!(
                "The client's CPUs {slow}: its waits, and with them the latency, are overstated."
            ),
            advice,
        );
    }
    if frequency.governor == "performance" {
        return None;
    }
    note(
        format!(
            "The frequency of the client's CPUs follows the load (governor {}, driver {}): a client that is \
             not busy reacts more slowly.",
            frequency.governor, frequency.driver
        ),
        advice,
    )
}

/// How the CPUs are kept slow; `None` if they are not.
pub(crate) fn slow_cpus(frequency: &CpuFrequency) -> Option<String> {
    let has_powersave = frequency
        .governor
        .split(" and ")
        .any(|governor| governor == "powersave");
    if has_powersave && !DRIVERS_WITH_DYNAMIC_POWERSAVE.contains(&&*frequency.driver) {
        return Some(format!(
            "run at their lowest frequency (governor {}, driver {})",
            frequency.governor, frequency.driver
        ));
    }
    let (limit, max) = (frequency.limit_mhz?, frequency.max_mhz?);
    let is_limited = (limit as f64) < CPU_FREQUENCY_MIN_LIMIT_SHARE * max as f64;
    is_limited.then(|| format!("are limited to {limit} MHz of {max} MHz"))
}

/// Checks whether the client's network was nearly full, in its busiest direction.
pub(crate) fn check_network(run: &Run) -> Option<Finding> {
    let share = observations::client_machine_mean(run, |machine| machine.link_busy_share)
        .filter(|share| *share > NETWORK_MAX_SHARE)?;
    caveat(
        format!(
            "The busiest network link of the client's machine was used for {} of its speed: requests or replies \
             may have waited for it.",
            percent(share)
        ),
        "Use a faster link, fetch fewer or smaller rows, or compare only with runs over the same link.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, observed_run};
    use Severity::{Caveat, Note};
    use prony_assertions::TextAssertions;
    use prony_store::Severity;

    fn check_of(governor: &str, driver: &str, limit_mhz: u64) -> Option<Severity> {
        let mut run = healthy();
        run.machine_mut().host.cpu_frequency = Some(CpuFrequency {
            driver: driver.to_owned(),
            governor: governor.to_owned(),
            limit_mhz: Some(limit_mhz),
            max_mhz: Some(3000),
        });
        check_cpu_frequency(&run).map(|check| check.severity)
    }

    #[test]
    fn slow_cpus_are_a_caveat_and_changing_ones_a_note() {
        assert_eq!(check_cpu_frequency(&healthy()), None, "unknown");
        assert_eq!(check_of("performance", "acpi-cpufreq", 3000), None);
        assert_eq!(check_of("powersave", "intel_pstate", 3000), Some(Note));
        assert_eq!(check_of("schedutil", "acpi-cpufreq", 3000), Some(Note));
        let caveat = Some(Caveat);
        assert_eq!(check_of("powersave", "acpi-cpufreq", 3000), caveat);
        assert_eq!(
            check_of("performance and powersave", "acpi-cpufreq", 3000),
            caveat
        );
        assert_eq!(check_of("performance", "intel_pstate", 2600), caveat);
        assert_eq!(check_of("performance", "intel_pstate", 2800), None);
    }

    #[test]
    fn a_full_link_of_the_client_is_a_caveat() {
        let mut run = observed_run();
        assert_eq!(check_network(&run), None, "unknown");
        let mut set = |share| {
            for row in &mut observed_mut(&mut run).series {
                row.client.get_or_insert_default().link_busy_share = Some(share);
            }
            check_network(&run)
        };
        assert_eq!(set(0.69), None);
        let check = set(0.85).unwrap();
        assert_eq!(check.severity, Caveat);
        check.finding.assert_contains("85 %");
    }
}
