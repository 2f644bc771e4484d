//! The profiles. Each difference between them is a field of [`Profile`]: other code reads the fields and
//! never compares names.

use super::layout::Population;
use super::pacing::{HAMMERDB, P90_LIMITS_S, PacingTimes, SPECIFICATION};
use prony_document::SqlDialect;

#[derive(Debug)]
pub struct Profile {
    pub name: &'static str,
    /// The name as part of a function name.
    pub routine: &'static str,
    /// Transactions are dealt from a shuffled deck of 23 [5.2.4.2]; otherwise each is drawn
    /// independently with the same shares, so that the actual shares scatter.
    pub uses_deck: bool,
    /// Customers and items are drawn non-uniformly [2.1.6]; otherwise uniformly.
    pub non_uniform: bool,
    /// The constant for last names differs from the load's [2.1.6.1]; otherwise it is the load's own.
    pub own_last_name_constant: bool,
    /// Users are spread evenly over the warehouses; otherwise each draws its home at random.
    pub spread_homes: bool,
    /// With `home = "all"`, a user uses any warehouse; otherwise only its share of them.
    pub any_warehouse: bool,
    /// Payment amounts have cents [2.5.1.3]; otherwise they are whole.
    pub amounts_have_cents: bool,
    /// Maintains stock's year-to-date and order counts, and a customer's payment and delivery counts.
    pub counters: bool,
    /// Computes and returns everything that a terminal displays, such as totals and lines.
    pub outputs: bool,
    /// An order with an unused item is rolled back [2.4.1.4]; otherwise its line is inserted without an
    /// amount.
    pub rolls_back: bool,
    /// A search by last name finds customers; otherwise it finds none, and the customer's number is
    /// used.
    pub finds_names: bool,
    /// The mode `procedures` calls routines with the statements of HammerDB 4.6, so that a call costs
    /// the server the same. These routines generate the lines of an order themselves.
    pub calls_hammerdb_routines: bool,
    /// The profile that takes its place on MySQL, MariaDB and SQL Server; `None` if it is the same on all engines.
    pub on_other_engines: Option<&'static Profile>,
    /// The terminal gets its answer as soon as it enters a delivery, which runs during the think time
    /// [2.7.2]; otherwise it waits. Needs think times.
    pub defers_deliveries: bool,
    /// The population that the profile is intended for.
    pub population: Population,
    pub times: PacingTimes,
    /// Limits for the 90th percentile of the response times, in seconds, in the order of
    /// `TpccTransaction::ALL`; `None` if the profile sets none.
    pub p90_s: Option<[u32; 5]>,
}

/// HammerDB's behaviour with the transactions made correct.
const HAMMERDB_PROFILE: Profile = Profile {
    name: "hammerdb",
    routine: "hammerdb",
    uses_deck: false,
    non_uniform: false,
    own_last_name_constant: false,
    spread_homes: false,
    any_warehouse: false,
    amounts_have_cents: false,
    counters: false,
    outputs: false,
    rolls_back: true,
    finds_names: true,
    calls_hammerdb_routines: false,
    on_other_engines: None,
    defers_deliveries: false,
    population: Population::HammerDb,
    times: HAMMERDB,
    p90_s: None,
};

/// The behaviour of HammerDB 4.6 on PostgreSQL.
pub(super) const HAMMERDB_46_PROFILE: Profile = Profile {
    name: "hammerdb-4.6",
    routine: "hammerdb_46",
    rolls_back: false,
    finds_names: false,
    calls_hammerdb_routines: true,
    on_other_engines: Some(&HAMMERDB_46_CORRECT),
    ..HAMMERDB_PROFILE
};

/// The profiles. `hammerdb-4.6` is for comparison with figures from version 4.6. Faults of that version that
/// do not make it faster (order numbers, amounts, balances) are not repeated.
pub static PROFILES: [Profile; 3] = [
    Profile {
        name: "standard",
        routine: "standard",
        uses_deck: true,
        non_uniform: true,
        own_last_name_constant: true,
        spread_homes: true,
        any_warehouse: true,
        amounts_have_cents: true,
        counters: true,
        outputs: true,
        rolls_back: true,
        finds_names: true,
        calls_hammerdb_routines: false,
        on_other_engines: None,
        defers_deliveries: true,
        population: Population::Standard,
        times: SPECIFICATION,
        p90_s: Some(P90_LIMITS_S),
    },
    HAMMERDB_PROFILE,
    HAMMERDB_46_PROFILE,
];

/// `hammerdb-4.6` on MySQL, MariaDB and SQL Server, where version 4.6 finds customers by name and does roll
/// back: the same as `hammerdb`, under the requested name.
static HAMMERDB_46_CORRECT: Profile = Profile {
    name: "hammerdb-4.6",
    routine: "hammerdb_46",
    ..HAMMERDB_PROFILE
};

impl Profile {
    /// The name of the default profile.
    pub const DEFAULT: &'static str = "standard";

    /// The profile to use for this one on an engine.
    pub fn on(&'static self, dialect: SqlDialect) -> &'static Profile {
        match dialect {
            SqlDialect::PostgreSql => self,
            SqlDialect::MySql | SqlDialect::TransactSql => self.on_other_engines.unwrap_or(self),
        }
    }

    pub fn find(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_their_names_only() {
        for profile in &PROFILES {
            assert_eq!(
                Profile::find(profile.name).map(|p| p.name),
                Some(profile.name)
            );
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(profile.routine.chars().all(plain));
            assert_eq!(profile.on(SqlDialect::PostgreSql).name, profile.name);
            let on_mysql = profile.on(SqlDialect::MySql);
            let expected = (profile.name, profile.routine);
            assert_eq!((on_mysql.name, on_mysql.routine), expected);
            assert!(on_mysql.rolls_back && on_mysql.finds_names);
        }
        assert!(Profile::find(Profile::DEFAULT).is_some());
        assert!(Profile::find("hammerdb-9").is_none());
    }
}
