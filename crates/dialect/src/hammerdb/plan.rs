//! Translates a script's requests into plans of Prony's core.
//!
//! In: requests. Out: drive plans; workloads with their options. Must never: omit a setting that changes what
//! a server executes.

use super::request::{BuildRequest, Driver, RunRequest};
use prony_plan::{DrivePlan, QueryMode, Stop, WorkloadPlan, default_threads};
use std::collections::BTreeMap;
use std::time::Duration;

/// The workload that implements TPROC-C.
pub const WORKLOAD_NAME: &str = "tpcc";

/// The workload's option that partitions `order_line`.
const PARTITIONS_OPTION: &str = "partitions";

/// Time limit for the transactions in flight at the end of the window.
pub const GRACE: Duration = Duration::from_secs(30);

/// The drive plan of a run. `minute`: the length of a minute of the script; `processors`: the number of
/// processors of this machine.
pub fn drive_plan(request: &RunRequest, minute: Duration, processors: usize) -> DrivePlan {
    let minutes = |count: u64| minute.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    let (stop, warmup) = match request.driver {
        Driver::Timed {
            rampup_min,
            duration_min,
            ..
        } => (Stop::After(minutes(duration_min)), minutes(rampup_min)),
        Driver::Test => (Stop::Transactions(request.iterations), Duration::ZERO),
    };
    DrivePlan {
        clients: request.vusers,
        threads: default_threads(request.vusers, processors),
        stop,
        warmup,
        grace: GRACE,
        // HammerDB prepares its calls once per connection.
        protocol: QueryMode::Prepared,
        connect_time_counts: false,
        ..DrivePlan::default()
    }
}

/// The workload of a run with a TPC-C profile, on existing tables.
pub fn run_workload_plan(request: &RunRequest, profile: &str) -> WorkloadPlan {
    let home = if request.all_warehouses { "all" } else { "user" };
    let pacing = if request.key_and_think { "spec" } else { "none" };
    let options = [
        ("home", home),
        // HammerDB does not retry transactions.
        ("max_tries", "1"),
        ("mode", "procedures"),
        ("pacing", pacing),
        ("profile", profile),
    ];
    let options = options.map(|(key, value)| (key.to_owned(), value.into()));
    workload_plan(None, options.into())
}

/// The workload whose tables a build loads.
///
/// # Errors
/// There are more warehouses than the workload can number.
pub fn build_workload_plan(request: &BuildRequest) -> Result<WorkloadPlan, String> {
    let Ok(scale) = u32::try_from(request.warehouses) else {
        return Err(format!(
            "{} warehouses are too many: the maximum is {}",
            request.warehouses,
            u32::MAX
        ));
    };
    // The rows follow HammerDB's rules: half of the customers have bad credit.
    let profile = ("profile".to_owned(), super::PROFILES[0].into());
    let mut options = BTreeMap::from([profile]);
    if let Some(parts) = partition_count(request) {
        options.insert(PARTITIONS_OPTION.to_owned(), parts.into());
    }
    if request.has_history_key {
        options.insert("history_key".to_owned(), "always".into());
    }
    Ok(workload_plan(Some(scale), options))
}

/// The number of partitions of `order_line`: one per hundred warehouses; `None` below 200 warehouses.
fn partition_count(request: &BuildRequest) -> Option<i64> {
    let parts = i64::try_from(request.warehouses / 100).ok()?;
    (request.partitions_order_line && request.warehouses >= 200).then_some(parts)
}

fn workload_plan(scale: Option<u32>, options: BTreeMap<String, toml::Value>) -> WorkloadPlan {
    WorkloadPlan {
        name: WORKLOAD_NAME.to_owned(),
        scale,
        options,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::request::{OutputOptions, RequestBuilder};
    use super::super::settings::Settings;
    use super::*;

    fn output_options() -> OutputOptions {
        OutputOptions {
            show_output: true,
            log_path: None,
            logs_timestamps: false,
        }
    }

    /// The request of a script that makes these settings.
    pub fn run_request(set: &[(&str, &str)]) -> RunRequest {
        let mut settings = Settings::default();
        for (key, value) in set {
            assert!(settings.set("pg", "tpcc", key, value), "{key}");
        }
        let mut builder = RequestBuilder::new(&settings);
        let request = builder.run_request(output_options(), String::new(), String::new());
        assert_eq!(builder.problems, [""; 0]);
        request
    }

    fn build_request(warehouses: u64, partition: bool) -> BuildRequest {
        let settings = Settings::default();
        let mut request =
            RequestBuilder::new(&settings).build_request(output_options(), String::new());
        (request.warehouses, request.partitions_order_line) = (warehouses, partition);
        request
    }

    #[test]
    fn a_timed_run_has_a_warmup_and_ends_by_time() {
        let mut request = run_request(&[("pg_rampup", "10"), ("pg_duration", "60")]);
        request.vusers = 256;
        let plan = drive_plan(&request, Duration::from_secs(60), 16);
        assert_eq!(plan.warmup, Duration::from_secs(600));
        assert_eq!(plan.stop, Stop::After(Duration::from_secs(3600)));
        assert_eq!((plan.clients, plan.threads), (256, 8));
        assert_eq!(drive_plan(&request, Duration::from_secs(1), 2).threads, 2);
        for vusers in [1, 4] {
            request.vusers = vusers;
            let plan = drive_plan(&request, Duration::from_secs(1), 16);
            assert_eq!(plan.threads, vusers);
        }
    }

    #[test]
    fn the_test_driver_ends_after_its_iterations() {
        let request = run_request(&[("pg_driver", "test"), ("pg_total_iterations", "20")]);
        let plan = drive_plan(&request, Duration::from_secs(60), 1);
        assert_eq!(
            (plan.stop, plan.warmup),
            (Stop::Transactions(20), Duration::ZERO)
        );
    }

    #[test]
    fn every_run_setting_becomes_a_known_workload_option() {
        let request = run_request(&[("pg_allwarehouse", "true"), ("pg_keyandthink", "true")]);
        let workload = prony_workload::find(WORKLOAD_NAME).expect("a registered workload");
        for profile in super::super::PROFILES {
            let plan = run_workload_plan(&request, profile);
            assert_eq!(plan.options["home"].as_str(), Some("all"));
            assert_eq!(plan.options["pacing"].as_str(), Some("spec"));
            assert_eq!(plan.options["profile"].as_str(), Some(profile));
            let problems = prony_workload::unknown_option_problems(workload, &plan);
            assert!(problems.is_empty(), "{problems:?}");
            let problems = workload.check_options(&plan, QueryMode::Prepared);
            assert!(problems.is_empty(), "{problems:?}");
        }
        let plan = run_workload_plan(&run_request(&[]), "hammerdb");
        assert_eq!(plan.options["home"].as_str(), Some("user"));
        assert_eq!(plan.options["pacing"].as_str(), Some("none"));
    }

    #[test]
    fn order_line_is_partitioned_from_200_warehouses() {
        assert!(build_workload_plan(&build_request(u64::MAX, false)).is_err());
        let parts = |warehouses, partition| {
            let plan = build_workload_plan(&build_request(warehouses, partition))
                .expect("a valid request");
            assert_eq!(plan.scale.map(u64::from), Some(warehouses));
            plan.options
                .get(PARTITIONS_OPTION)
                .and_then(toml::Value::as_integer)
        };
        assert_eq!(parts(199, true), None);
        assert_eq!(parts(200, true), Some(2));
        assert_eq!(parts(12_850, true), Some(128));
        assert_eq!(parts(12_850, false), None);
    }
}
