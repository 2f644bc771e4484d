//! Tests that [`RULES_VERSION`](crate::RULES_VERSION) was raised when the rules changed.
//!
//! The rules are the checks in `CHECKS`, the names and severities in the tables of `thresholds`, and its
//! constants; not the sentences and comments about them.

use crate::RULES_VERSION;

/// Each version of the rules with their digest. If the rules change, add a line. If constants or check
/// functions were only renamed, replace the last digest: names are in it too. If a check computes differently, raise
/// the version and repeat the digest.
const DIGESTS: [(u32, u64); 5] = [
    (1, 0x1f2d_4851_ce0f_640b),
    (2, 0x8bca_84ba_2b61_6e44),
    (3, 0xe290_1b6b_542f_6061),
    // Little's law counts the time of transactions in flight at the end of the window.
    (4, 0xe290_1b6b_542f_6061),
    (5, 0xba3c_c8e9_c16d_9a0e),
];

const THRESHOLDS: &str = include_str!("thresholds.rs");
const LIB: &str = include_str!("lib.rs");

/// The rules in these sources: one text for each check, table row and constant.
fn rules(lib: &str, thresholds: &str) -> Vec<String> {
    let checks = lib.split("const CHECKS").nth(1).unwrap();
    let checks = checks.split("];").next().unwrap().lines().skip(1);
    let mut rules: Vec<String> = checks.map(|line| line.trim().to_owned()).collect();
    for row in thresholds
        .lines()
        .filter_map(|line| line.strip_prefix("//! |"))
    {
        let cells: Vec<&str> = row.split('|').map(str::trim).take(2).collect();
        rules.push(cells.join(" "));
    }
    // rustfmt may break a declaration after its `=`.
    for constant in thresholds.split("\npub const ").skip(1) {
        let declaration = constant.split(';').next().unwrap();
        rules.push(declaration.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    rules
}

/// FNV-1a: unlike the standard hasher it does not change with a release of Rust.
fn digest(rules: &[String]) -> u64 {
    let bytes = rules.iter().flat_map(|rule| rule.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn changed_rules_have_a_new_version() {
    let digest = digest(&rules(LIB, THRESHOLDS));
    assert_eq!(
        DIGESTS.last(),
        Some(&(RULES_VERSION, digest)),
        "the rules have changed: raise RULES_VERSION and add ({}, {digest:#x}) to DIGESTS",
        RULES_VERSION + 1
    );
    assert!(DIGESTS.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn thresholds_names_severities_and_checks_are_rules_and_comments_are_not() {
    let original = digest(&rules(LIB, THRESHOLDS));
    let digest_with = |from: &str, to: &str| {
        assert!(THRESHOLDS.contains(from), "{from}");
        digest(&rules(LIB, &THRESHOLDS.replacen(from, to, 1)))
    };
    assert_ne!(
        digest_with(
            "ERRORS_INVALID_SHARE: f64 = 0.01",
            "ERRORS_INVALID_SHARE: f64 = 0.02"
        ),
        original
    );
    assert_ne!(
        digest_with("| `drift` | invalid", "| `trend` | invalid"),
        original
    );
    assert_ne!(
        digest_with("| `drift` | invalid", "| `drift` | caution"),
        original
    );
    assert_eq!(
        digest_with("/// Largest gap", "/// The largest gap"),
        original
    );
    let one_check_less = LIB.replacen("    steady::check_drift,\n", "", 1);
    assert_ne!(digest(&rules(&one_check_less, THRESHOLDS)), original);
}
