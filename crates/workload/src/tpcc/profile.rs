//! What sets the profiles apart, in one table.
//!
//! In: a name. Out: a [`Profile`]: each difference from the others is one field. Must never: be
//! decided anywhere else; code asks a field, not a name.

use super::layout::Population;
use super::pacing::{HAMMERDB, LIMITS_S, SPECIFICATION, Times};
use crate::oltp::engine::Engine;

/// How a profile draws, keys and counts.
#[derive(Debug)]
pub struct Profile {
    /// As the option takes it.
    pub name: &'static str,
    /// The same within the name of a function.
    pub routine: &'static str,
    /// Transactions are dealt from a shuffled deck of 23 [5.2.4.2]; else each is drawn for itself
    /// with the same shares, so that they scatter.
    pub deck: bool,
    /// Customers and items are non-uniform [2.1.6]; else uniform.
    pub non_uniform: bool,
    /// Last names have a constant away from the load's [2.1.6.1]; else the load's own.
    pub own_last_names: bool,
    /// Users are spread evenly over the warehouses; else each draws its own.
    pub spread_homes: bool,
    /// With `home = "all"`, a user takes any warehouse; else those of its own share.
    pub any_warehouse: bool,
    /// Payments have cents [2.5.1.3]; else whole amounts.
    pub cents: bool,
    /// Stock's year-to-date and order counts, a customer's payments and deliveries are counted.
    pub counters: bool,
    /// All that a terminal shows is computed and handed over: totals, brand or generic, lines.
    pub outputs: bool,
    /// An order with an unused item is rolled back [2.4.1.4]; else its line is kept without amount.
    pub rolls_back: bool,
    /// A search by last name finds customers; else it finds none and the customer's number counts.
    pub finds_names: bool,
    /// A terminal is answered at once when it asks for a delivery, which is carried out while it
    /// thinks [2.7.2]; else it waits. Without think times nobody has the time.
    pub defers: bool,
    /// Whose rules the rows follow that it is meant for.
    pub population: Population,
    /// Keying and think times.
    pub times: Times,
    /// Within what times 90 % of each kind are to end, seconds, in the order of `Kind::ALL`.
    pub p90_s: Option<[u32; 5]>,
}

/// The profiles. That of HammerDB is its behaviour with the transactions made correct: what
/// version 4.6 gets wrong at no gain in speed (order numbers, amounts, balances) is not repeated by
/// its profile either.
pub static PROFILES: [Profile; 3] = [
    Profile {
        name: "standard",
        routine: "standard",
        deck: true,
        non_uniform: true,
        own_last_names: true,
        spread_homes: true,
        any_warehouse: true,
        cents: true,
        counters: true,
        outputs: true,
        rolls_back: true,
        finds_names: true,
        defers: true,
        population: Population::Standard,
        times: SPECIFICATION,
        p90_s: Some(LIMITS_S),
    },
    Profile {
        name: "hammerdb",
        routine: "hammerdb",
        deck: false,
        non_uniform: false,
        own_last_names: false,
        spread_homes: false,
        any_warehouse: false,
        cents: false,
        counters: false,
        outputs: false,
        rolls_back: true,
        finds_names: true,
        defers: false,
        population: Population::HammerDb,
        times: HAMMERDB,
        p90_s: None,
    },
    Profile {
        name: "hammerdb-4.6",
        routine: "hammerdb_46",
        deck: false,
        non_uniform: false,
        own_last_names: false,
        spread_homes: false,
        any_warehouse: false,
        cents: false,
        counters: false,
        outputs: false,
        rolls_back: false,
        finds_names: false,
        defers: false,
        population: Population::HammerDb,
        times: HAMMERDB,
        p90_s: None,
    },
];

/// `hammerdb-4.6` on MySQL and MariaDB, where that version finds customers by their names and rolls
/// back: the same as `hammerdb` there, under the name that was asked for.
static HAMMERDB_46_MYSQL: Profile = Profile {
    name: "hammerdb-4.6",
    routine: "hammerdb_46",
    rolls_back: true,
    finds_names: true,
    ..PROFILES[2]
};

impl Profile {
    /// The same on an engine.
    pub fn on(&'static self, engine: Engine) -> &'static Profile {
        match engine {
            Engine::MySql if !self.rolls_back => &HAMMERDB_46_MYSQL,
            Engine::MySql | Engine::Postgres => self,
        }
    }

    /// The one that is taken where none is asked for.
    pub const DEFAULT: &'static str = "standard";

    /// The profile of this name.
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
            assert_eq!(profile.on(Engine::Postgres).name, profile.name);
            let elsewhere = profile.on(Engine::MySql);
            assert_eq!(
                (elsewhere.name, elsewhere.routine),
                (profile.name, profile.routine)
            );
            assert!(elsewhere.rolls_back && elsewhere.finds_names);
        }
        assert!(Profile::find(Profile::DEFAULT).is_some());
        assert!(Profile::find("hammerdb-9").is_none());
    }
}
