//! The options of the workload. Reading them reports all problems at once, and needs no server.

use super::execution::Mode;
use super::layout::PARTITIONS_MAX;
use super::profile::{PROFILES, Profile};
use crate::Error;
use crate::describe::OptionKind::{Choice, Integer};
use crate::describe::OptionSpec;
use crate::option_reader::{OptionReader, option_specs};
use prony_plan::{QueryMode, WorkloadPlan};

pub const OPTIONS: &[OptionSpec] = option_specs! {
    history_key: Choice(&["if-required", "always"]), Some("if-required"),
        "An invisible primary key of history, on MySQL and MariaDB: only if the server requires one, or always";
    home: Choice(&["user", "all"]), Some("user"), "Warehouses of a client: its own (user), or all";
    max_tries: Integer(1, u32::MAX), Some("10"),
        "Maximum tries of a transaction after serialization failures or deadlocks; 1 disables retries";
    mode: Choice(&Mode::NAMES), Some("procedures"), "How a transaction is sent";
    pacing: Choice(&["none", "spec"]), Some("none"),
        "Keying and think times: none, or those of the specification";
    partitions: Integer(0, PARTITIONS_MAX), None,
        "Hash partitions of order_line; default: none (0) for a load, the existing ones for a run";
    profile: Choice(&PROFILE_NAMES), Some("standard"),
        "Transactions of the specification, of HammerDB, or of HammerDB 4.6 with its faults";
};
const PROFILE_NAMES: [&str; 3] = ["standard", "hammerdb", "hammerdb-4.6"];

#[derive(Clone, Copy, Debug)]
pub struct TpccOptions {
    pub profile: &'static Profile,
    pub mode: Mode,
    /// Users use all warehouses rather than one each.
    pub all_warehouses: bool,
    /// Users have keying and think times.
    pub paced: bool,
    /// Maximum number of tries of a transaction after serialization failures or deadlocks, at least 1.
    pub max_tries: u32,
    /// Whether a load gives history a primary key even if the server does not require it.
    pub adds_history_key: bool,
    /// Hash partitions of order_line, 0 for none. If absent, a load creates none, and a run accepts the
    /// existing ones.
    pub partitions: Option<u32>,
}

impl Default for TpccOptions {
    fn default() -> Self {
        read_values(&mut OptionReader::defaults(OPTIONS))
    }
}

impl TpccOptions {
    /// The options of a run with their values, defaults included. Results contain them, because figures
    /// of different modes or profiles are not comparable.
    pub fn as_settings(&self) -> [(&'static str, String); 5] {
        let home = if self.all_warehouses { "all" } else { "user" };
        let pacing = if self.paced { "spec" } else { "none" };
        [
            ("home", home.to_owned()),
            ("max_tries", self.max_tries.to_string()),
            ("mode", self.mode.name().to_owned()),
            ("pacing", pacing.to_owned()),
            ("profile", self.profile.name.to_owned()),
        ]
    }

    pub fn defers_deliveries(&self) -> bool {
        self.paced && self.profile.defers_deliveries
    }
}

/// Reads the options of a plan; the error contains all problems.
pub fn read(plan: &WorkloadPlan) -> Result<TpccOptions, Vec<Error>> {
    let mut reader = OptionReader::new(plan, OPTIONS);
    let options = read_values(&mut reader);
    reader.finish(options)
}

fn read_values(reader: &mut OptionReader<'_>) -> TpccOptions {
    TpccOptions {
        profile: &PROFILES[reader.choice("profile")],
        mode: Mode::ALL[reader.choice("mode")],
        all_warehouses: reader.choice("home") == 1,
        paced: reader.choice("pacing") == 1,
        max_tries: reader.integer("max_tries"),
        adds_history_key: reader.choice("history_key") == 1,
        partitions: reader.optional_integer("partitions"),
    }
}

/// All problems with the options that can be found without a server.
pub fn find_problems(plan: &WorkloadPlan, protocol: QueryMode) -> Vec<Error> {
    match read(plan) {
        Err(problems) => problems,
        Ok(options) if options.mode == Mode::Pipelined && protocol == QueryMode::Simple => {
            vec![Error::InvalidRequest {
                problem:
                    "the mode pipelined sends several statements in one request, which the simple \
                     protocol does not support"
                        .to_owned(),
                hint: "--protocol prepared, or mode = \"statements\"".to_owned(),
            }]
        }
        Ok(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn plan(options: &[(&str, &str)]) -> WorkloadPlan {
        let options = options.iter();
        WorkloadPlan {
            name: "tpcc".to_owned(),
            scale: None,
            options: options
                .map(|(key, value)| ((*key).to_owned(), (*value).into()))
                .collect(),
        }
    }

    #[test]
    fn the_default_is_profile_standard_with_procedures() {
        let options = read(&plan(&[])).expect("valid options");
        assert_eq!(options.profile.name, Profile::DEFAULT);
        assert_eq!(options.mode, Mode::Procedures);
        assert!(!options.all_warehouses && !options.paced);
        assert_eq!(options.max_tries, 10);
    }

    #[test]
    fn valid_values_are_accepted_and_invalid_ones_reported() {
        let options = read(&plan(&[
            ("profile", "hammerdb-4.6"),
            ("mode", "pipelined"),
            ("home", "all"),
            ("pacing", "spec"),
            ("max_tries", "3"),
            ("partitions", "8"),
        ]));
        let options = options.expect("all values are valid");
        assert_eq!(options.partitions, Some(8));
        assert_eq!(options.profile.name, "hammerdb-4.6");
        assert_eq!(options.mode, Mode::Pipelined);
        assert!(options.all_warehouses && options.paced);
        assert_eq!(options.max_tries, 3);
        let settings = options.as_settings();
        let names = OPTIONS.iter().map(|option| option.name);
        let run_options = names.filter(|name| !["partitions", "history_key"].contains(name));
        assert!(settings.iter().map(|(name, _)| *name).eq(run_options));
        let profiles = PROFILES.each_ref().map(|profile| profile.name);
        assert_eq!(profiles, PROFILE_NAMES);
        let as_options = settings
            .each_ref()
            .map(|(key, value)| (*key, value.as_str()));
        assert_eq!(
            read(&plan(&as_options))
                .expect("valid settings")
                .as_settings(),
            settings
        );
        let invalid = plan(&[
            ("profile", "x"),
            ("mode", "y"),
            ("home", "z"),
            ("max_tries", "0"),
            ("partitions", "2000"),
        ]);
        let problems = read(&invalid).expect_err("five problems");
        assert_eq!(problems.len(), 5);
        problems[3].to_string().assert_ends_with("hint: 1 or more");
        problems[4].to_string().assert_contains("0 to 1024");
        problems[1]
            .to_string()
            .assert_contains("procedures, statements, pipelined");
    }

    #[test]
    fn a_pipeline_needs_the_extended_protocol() {
        let pipelined = plan(&[("mode", "pipelined")]);
        assert_eq!(find_problems(&pipelined, QueryMode::Simple).len(), 1);
        assert!(find_problems(&pipelined, QueryMode::Extended).is_empty());
        assert!(find_problems(&plan(&[]), QueryMode::Simple).is_empty());
    }
}
