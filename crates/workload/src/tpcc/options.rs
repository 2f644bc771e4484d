//! The options of the workload: how it runs.
//!
//! In: a plan's options. Out: what was asked, or every problem with it. Must never: ask a server.

use super::layout::PARTITIONS_MAX;
use super::profile::{PROFILES, Profile};
use super::way::Mode;
use crate::Error;
use prony_plan::{QueryMode, WorkloadPlan};
use std::ops::RangeInclusive;

/// Their keys.
pub const KEYS: &[&str] = &[
    "home",
    "max_tries",
    "mode",
    "pacing",
    "partitions",
    "profile",
];

/// Tries of one transaction where none are asked for.
const MAX_TRIES: u32 = 10;

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// How it draws, keys and counts.
    pub profile: &'static Profile,
    /// How transactions are carried out.
    pub mode: Mode,
    /// Users take all warehouses, not one each.
    pub all_warehouses: bool,
    /// Users key and think.
    pub paced: bool,
    /// Tries of a transaction that meets serialization failures or deadlocks, at least 1.
    pub max_tries: u32,
    /// Hash partitions of order_line, 0 for none; a load that is not told makes none, a run takes
    /// what is there.
    pub partitions: Option<u32>,
}

impl Default for Asked {
    fn default() -> Self {
        Asked {
            profile: &PROFILES[0],
            mode: Mode::ALL[0],
            all_warehouses: false,
            paced: false,
            max_tries: MAX_TRIES,
            partitions: None,
        }
    }
}

impl Asked {
    /// Every option of a run with its value, those that were not given included: what a result has
    /// to name, since figures of different modes or profiles do not compare.
    pub fn named(&self) -> [(&'static str, String); 5] {
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

    /// Whether deliveries are deferred.
    pub fn defers(&self) -> bool {
        self.paced && self.profile.defers
    }
}

/// Reads them all.
pub fn read(plan: &WorkloadPlan) -> Result<Asked, Vec<Error>> {
    let mut problems = Vec::new();
    let profiles = PROFILES.each_ref().map(|profile| profile.name);
    let modes = Mode::ALL.map(Mode::name);
    let mut word = |key: &str, known: &[&str]| {
        choice(plan, key, known).unwrap_or_else(|problem| {
            problems.push(problem);
            0
        })
    };
    let asked = Asked {
        profile: &PROFILES[word("profile", &profiles)],
        mode: Mode::ALL[word("mode", &modes)],
        all_warehouses: word("home", &["user", "all"]) == 1,
        paced: word("pacing", &["none", "spec"]) == 1,
        ..Asked::default()
    };
    let mut whole = |key: &str, range: RangeInclusive<u32>, what: &str| {
        number(plan, key, range, what).unwrap_or_else(|problem| {
            problems.push(problem);
            None
        })
    };
    let tries = "a number of tries: 1 tries nothing again";
    let max_tries = whole("max_tries", 1..=u32::MAX, tries).unwrap_or(MAX_TRIES);
    let parts = "a number of partitions of order_line: 0 is a plain table";
    let partitions = whole("partitions", 0..=PARTITIONS_MAX, parts);
    if problems.is_empty() {
        Ok(Asked {
            max_tries,
            partitions,
            ..asked
        })
    } else {
        Err(problems)
    }
}

/// What is wrong with them, as far as that shows without a server.
pub fn problems(plan: &WorkloadPlan, protocol: QueryMode) -> Vec<Error> {
    match read(plan) {
        Err(problems) => problems,
        Ok(asked) if asked.mode == Mode::Pipelined && protocol == QueryMode::Simple => {
            vec![Error::Asked {
                problem: "the simple protocol has no requests of several statements, and the mode \
                     pipelined is made of them"
                    .to_owned(),
                hint: "--protocol prepared, or mode = \"statements\"".to_owned(),
            }]
        }
        Ok(_) => Vec::new(),
    }
}

/// The place of an option's value among those known; the first where it is not given.
fn choice(plan: &WorkloadPlan, key: &str, known: &[&str]) -> Result<usize, Error> {
    let Some(value) = plan.options.get(key) else {
        return Ok(0);
    };
    let place = value
        .as_str()
        .and_then(|text| known.iter().position(|known| *known == text));
    place.ok_or_else(|| Error::Asked {
        problem: format!("{key} = {value} is not known to the workload tpcc"),
        hint: format!("one of {}", known.join(", ")),
    })
}

/// A whole number; `what` says what it counts, and what its least means.
fn number(
    plan: &WorkloadPlan,
    key: &str,
    range: RangeInclusive<u32>,
    what: &str,
) -> Result<Option<u32>, Error> {
    let Some(value) = plan.options.get(key) else {
        return Ok(None);
    };
    // From the command line options may come as text.
    let text = value.as_str().and_then(|text| text.parse().ok());
    let number = value
        .as_integer()
        .or(text)
        .and_then(|number| u32::try_from(number).ok());
    let (least, most) = (*range.start(), *range.end());
    let (is, means) = what.split_once(": ").unwrap_or((what, ""));
    number
        .filter(|number| range.contains(number))
        .map(Some)
        .ok_or_else(|| Error::Asked {
            problem: format!("{key} = {value} is not {is}"),
            hint: match most {
                u32::MAX => format!("{least} or more; {means}"),
                _ => format!("{least} to {most}; {means}"),
            },
        })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_is_not_given_is_the_specification_s_way_in_procedures() {
        let asked = read(&plan(&[])).expect("nothing wrong");
        assert_eq!(asked.profile.name, Profile::DEFAULT);
        assert_eq!(asked.mode, Mode::Procedures);
        assert!(!asked.all_warehouses && !asked.paced);
        assert_eq!(asked.max_tries, 10);
    }

    #[test]
    fn every_value_is_taken_and_every_wrong_one_told() {
        let asked = read(&plan(&[
            ("profile", "hammerdb-4.6"),
            ("mode", "pipelined"),
            ("home", "all"),
            ("pacing", "spec"),
            ("max_tries", "3"),
            ("partitions", "8"),
        ]));
        let asked = asked.expect("all known");
        assert_eq!(asked.partitions, Some(8));
        assert_eq!(asked.profile.name, "hammerdb-4.6");
        assert_eq!(asked.mode, Mode::Pipelined);
        assert!(asked.all_warehouses && asked.paced);
        assert_eq!(asked.max_tries, 3);
        let named = asked.named();
        let run_keys = KEYS.iter().filter(|key| **key != "partitions");
        assert!(named.iter().map(|(key, _)| key).eq(run_keys));
        let again = named.each_ref().map(|(key, value)| (*key, value.as_str()));
        assert_eq!(read(&plan(&again)).expect("its own words").named(), named);
        let wrong = plan(&[
            ("profile", "x"),
            ("mode", "y"),
            ("home", "z"),
            ("max_tries", "0"),
            ("partitions", "2000"),
        ]);
        let problems = read(&wrong).expect_err("five of them");
        assert_eq!(problems.len(), 5);
        assert!(
            problems[3]
                .to_string()
                .contains("1 or more; 1 tries nothing again")
        );
        assert!(
            problems[4]
                .to_string()
                .contains("0 to 1024; 0 is a plain table")
        );
        assert!(
            problems[1]
                .to_string()
                .contains("procedures, statements, pipelined")
        );
    }

    #[test]
    fn a_pipeline_needs_the_extended_protocol() {
        let pipelined = plan(&[("mode", "pipelined")]);
        assert_eq!(problems(&pipelined, QueryMode::Simple).len(), 1);
        assert!(problems(&pipelined, QueryMode::Extended).is_empty());
        assert!(problems(&plan(&[]), QueryMode::Simple).is_empty());
    }
}
