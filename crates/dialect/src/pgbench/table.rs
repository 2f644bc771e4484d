//! The options of each level.

use super::getopt::{Key, LongOption};
use super::level::Level;

/// Long options, in the order in which getopt lists candidates: the name, whether the option takes a value,
/// the short option with the same meaning, and the first and last major version that has the option, 0 and 99 without such
/// a limit.
#[rustfmt::skip]
const LONG_OPTIONS: &[(&str, bool, Option<char>, u16, u16)] = &[
    ("builtin", true, Some('b'), 0, 99),
    ("client", true, Some('c'), 0, 99),
    ("connect", false, Some('C'), 0, 99),
    ("debug", false, Some('d'), 0, 16),
    ("dbname", true, Some('d'), 17, 99),
    ("define", true, Some('D'), 0, 99),
    ("file", true, Some('f'), 0, 99),
    ("fillfactor", true, Some('F'), 0, 99),
    ("host", true, Some('h'), 0, 99),
    ("initialize", false, Some('i'), 0, 99),
    ("init-steps", true, Some('I'), 0, 99),
    ("jobs", true, Some('j'), 0, 99),
    ("log", false, Some('l'), 0, 99),
    ("latency-limit", true, Some('L'), 0, 99),
    ("no-vacuum", false, Some('n'), 0, 99),
    ("port", true, Some('p'), 0, 99),
    ("progress", true, Some('P'), 0, 99),
    ("protocol", true, Some('M'), 0, 99),
    ("quiet", false, Some('q'), 0, 99),
    ("report-latencies", false, Some('r'), 0, 14),
    ("report-per-command", false, Some('r'), 15, 99),
    ("rate", true, Some('R'), 0, 99),
    ("scale", true, Some('s'), 0, 99),
    ("select-only", false, Some('S'), 0, 99),
    ("skip-some-updates", false, Some('N'), 0, 99),
    ("time", true, Some('T'), 0, 99),
    ("transactions", true, Some('t'), 0, 99),
    ("username", true, Some('U'), 0, 99),
    ("vacuum-all", false, Some('v'), 0, 99),
    ("unlogged-tables", false, None, 0, 99),
    ("tablespace", true, None, 0, 99),
    ("index-tablespace", true, None, 0, 99),
    ("sampling-rate", true, None, 0, 99),
    ("aggregate-interval", true, None, 0, 99),
    ("progress-timestamp", false, None, 0, 99),
    ("log-prefix", true, None, 0, 99),
    ("foreign-keys", false, None, 0, 99),
    ("random-seed", true, None, 0, 99),
    ("show-script", true, None, 0, 99),
    ("partitions", true, None, 0, 99),
    ("partition-method", true, None, 0, 99),
    ("failures-detailed", false, None, 15, 99),
    ("max-tries", true, None, 15, 99),
    ("verbose-errors", false, None, 15, 99),
    ("exit-on-abort", false, None, 17, 99),
    ("debug", false, None, 17, 99),
    ("continue-on-error", false, None, 19, 99),
];

pub(crate) fn long_options(level: &Level) -> Vec<LongOption> {
    let level_options = LONG_OPTIONS
        .iter()
        .filter(|(.., first, last)| (*first..=*last).contains(&level.major()));
    let mut options: Vec<LongOption> = level_options
        .map(|(name, takes_value, letter, ..)| LongOption {
            name,
            takes_value: *takes_value,
            key: letter.map_or(Key::Long(name), Key::Short),
            exact_only: false,
        })
        .collect();
    options.push(LongOption {
        name: "percentiles",
        takes_value: true,
        key: Key::Long("percentiles"),
        exact_only: true,
    });
    options
}
