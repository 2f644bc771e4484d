//! Tests that [`RULES_VERSION`](crate::RULES_VERSION) was raised when the rules changed.
//!
//! The rules are the checks, their severities and scopes, and the constants of `thresholds`; not the sentences about
//! them.

use crate::checks::CHECKS;
use crate::{RULES_VERSION, thresholds};

/// The version of the rules and their digest. If the rules change, raise the version and replace the digest; if constants
/// were only renamed, only the digest.
const VERSION_AND_DIGEST: (u32, u64) = (7, 0xa191_efc5_dbb3_c1ea);

/// One text for each check, rule and constant.
fn rules() -> Vec<String> {
    let checks = CHECKS.iter().flat_map(|check| {
        let rules = check.rules.iter();
        let rules = rules.map(|rule| format!("{} {:?}", check.id, rule.severities));
        rules.chain(check.scope.map(|scope| format!("{} {scope}", check.id)))
    });
    let constants = thresholds::ALL.iter();
    let constants = constants.map(|(name, value)| format!("{name} = {value}"));
    checks.chain(constants).collect()
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
    let digest = digest(&rules());
    assert_eq!(
        VERSION_AND_DIGEST,
        (RULES_VERSION, digest),
        "the rules have changed: raise RULES_VERSION, and replace the digest by {digest:#x}"
    );
}
