//! The remark on a run whose profile and data do not belong together.

use super::profile::Profile;
use crate::describe::Remark;

/// A remark if the profile is intended for a different population than the loaded one, which `load_settings`
/// name. Half of HammerDB's customers and a tenth of the standard ones have bad credit, and payments of such
/// customers write far more.
pub fn population_remark(
    profile: &Profile,
    load_settings: &[(&'static str, String)],
) -> Vec<Remark> {
    let mut settings = load_settings.iter();
    let Some((_, population)) = settings.find(|(name, _)| *name == "population") else {
        return Vec::new();
    };
    let intended = profile.population.name();
    if population == intended {
        return Vec::new();
    }
    let share = match population.as_str() {
        "hammerdb" => "half of all customers instead of a tenth",
        _ => "a tenth of all customers instead of half",
    };
    vec![Remark {
        id: "population".into(),
        finding: format!(
            "The profile {} ran on customers of the population {population}: payments of customers with \
             bad credit ({share}) cost more than others.",
            profile.name
        ),
        advice: format!(
            "Compare only with runs that have the same settings, or load again with --profile {intended}."
        ),
    }]
}
