//! The input of an experiment, and its check.
//!
//! A [`PlanInput`] with repeats and variants becomes an [`Experiment`], or every problem of all variants at
//! once. A problem that several variants have is reported once.

use super::{DEFAULT_REPEATS, Experiment, MAX_NAME, MAX_REPEATS, MAX_VARIANTS, Order, Variant};
use crate::check::value_or;
use crate::duration::shorten;
use crate::input::{Located, PlanInput};
use crate::problem::{InputLocation, Problem, Problems};
use std::time::Duration;

/// A variant of a plan.
#[derive(Clone, PartialEq)]
pub struct VariantInput {
    /// Its name, with its place.
    pub name: Located<String>,
    /// The settings that it changes.
    pub input: PlanInput,
    /// Whether a flag has overridden one of those settings.
    pub(crate) overridden: bool,
}

impl VariantInput {
    /// Applies flags, which override every variant.
    pub(crate) fn replace(&mut self, over: &PlanInput) {
        let own = std::mem::take(&mut self.input);
        let before = own.to_json("");
        self.input = own.overlay(over.clone());
        let after = self.input.to_json("");
        let mut keys = before.as_object().into_iter().flatten();
        self.overridden |= keys.any(|(key, given)| after.get(key) != Some(given));
    }
}

impl PlanInput {
    fn experiment_problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if let Some(given) = &self.order
            && self.repeats.is_none()
            && !self.file.has_experiment
        {
            let problem = Problem::new(
                given.place.clone(),
                "orders several runs, but there is only one",
            );
            found.push(problem.hint("give --repeats, or a plan with [variants.NAME]"));
        }
        // The command is not quoted: it may contain a password.
        if let Some(given) = &self.between
            && given.value.trim().is_empty()
        {
            let problem = Problem::new(given.place.clone(), "is empty");
            found.push(problem.hint("remove it if nothing should run between the runs"));
        }
        found.extend(
            self.variants
                .iter()
                .filter_map(|one| name_problem(&one.name)),
        );
        if let [alone] = &self.variants[..] {
            let problem = Problem::new(alone.name.place.clone(), "is the only variant");
            found.push(problem.hint(
                "an experiment compares at least two; write one that changes nothing as an empty table, such \
                 as [variants.base]",
            ));
        }
        if let Some(beyond) = self.variants.get(MAX_VARIANTS) {
            let message = format!("exceeds the limit of {MAX_VARIANTS} variants");
            found.push(Problem::new(beyond.name.place.clone(), message));
        }
        found
    }
}

/// The problem of a variant's name, if it has one: names are used in tables, command lines and file names.
fn name_problem(name: &Located<String>) -> Option<Problem> {
    let text = &name.value;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let well = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(allowed);
    if well && text.len() <= MAX_NAME {
        return None;
    }
    let message = format!("\"{}\" cannot be the name of a variant", shorten(text));
    let hint = format!(
        "a name consists of at most {MAX_NAME} letters, digits, -, _ and ., and begins with a letter or digit"
    );
    Some(Problem::new(name.place.clone(), message).hint(hint))
}

impl PlanInput {
    /// Whether `[experiment]`, `[variants]` or their flags are given.
    pub fn is_experiment(&self) -> bool {
        let mut given = self.given();
        self.file.has_experiment || given.any(|(setting, ..)| setting.table() == "experiment")
    }

    /// The input of each variant, merged with the common settings; for a plan without variants one input,
    /// named after its workload.
    pub fn variants(&self) -> Vec<(String, PlanInput)> {
        let mut base = self.clone();
        let variants = std::mem::take(&mut base.variants);
        if variants.is_empty() {
            let name = base.workload.as_ref().map(|name| name.value.clone());
            return vec![(name.unwrap_or_default(), base)];
        }
        let merge = |one: VariantInput| (one.name.value, base.clone().overlay(one.input));
        variants.into_iter().map(merge).collect()
    }

    /// Checks all variants, each as [`PlanInput::check`] checks a plan, and the settings of the experiment.
    ///
    /// # Errors
    /// Every problem at once, each only once, in the order of their places.
    pub fn check_experiment(self) -> Result<Experiment, Problems> {
        let mut found = self.experiment_problems();
        let mut checked = Vec::new();
        let mut each = Vec::new();
        for (name, input) in self.variants() {
            match input.check() {
                Ok(plan) => {
                    each.push((name.clone(), Vec::new()));
                    checked.push(Variant { name, plan });
                }
                Err(problems) => each.push((name, problems.0)),
            }
        }
        found.extend(merge_findings(&each, |problem, names| {
            // A place in the variant's own table already names the variant.
            let own =
                matches!(&problem.place, InputLocation::File { key, .. } if key.starts_with("variants."));
            if !own {
                problem.message += &format!(" (variant {names})");
            }
        }));
        found.extend(identical_variant_problems(&self.variants, &checked));
        if !found.is_empty() {
            return Err(Problems::sorted(found));
        }
        let default = if self.file.has_experiment {
            DEFAULT_REPEATS
        } else {
            1
        };
        let repeats = value_or(&self.repeats, default.into());
        Ok(Experiment {
            repeats: repeats.min(u64::from(MAX_REPEATS)) as u32,
            order: value_or(&self.order, Order::default()),
            pause: value_or(&self.pause, Duration::ZERO),
            between: self.between.map(|given| given.value),
            variants: checked,
        })
    }
}

/// Problems of variants that a flag has made equal, which leaves nothing to compare. Two variants that are
/// equal in the plan file are intended, and show how much repeats of the same plan differ.
fn identical_variant_problems(variants: &[VariantInput], checked: &[Variant]) -> Vec<Problem> {
    let mut found = Vec::new();
    for (place, one) in checked.iter().enumerate() {
        let earlier = checked[..place].iter().find(|other| other.plan == one.plan);
        let named = variants.iter().find(|input| input.name.value == one.name);
        if let (Some(earlier), Some(named)) = (earlier, named) {
            let both = [&earlier.name, &one.name];
            let mut both = variants.iter().filter(|v| both.contains(&&v.name.value));
            if !both.any(|variant| variant.overridden) {
                continue;
            }
            let message = format!("is the same as variant {}", earlier.name);
            let problem = Problem::new(named.name.place.clone(), message);
            found.push(problem.hint(
                "a flag overrides every variant, and here it overrides what makes them differ: leave it out",
            ));
        }
    }
    found
}

/// Merges the findings of several variants: each finding appears once, in the order of first occurrence. If
/// not all variants have it, `mark` adds the names of those that do.
pub fn merge_findings<T: Clone + PartialEq>(
    each: &[(String, Vec<T>)],
    mark: impl Fn(&mut T, &str),
) -> Vec<T> {
    let mut known: Vec<&T> = Vec::new();
    for one in each.iter().flat_map(|(_, found)| found) {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    let marked = known.into_iter().map(|one| {
        let with = each.iter().filter(|(_, found)| found.contains(one));
        let names: Vec<&str> = with.map(|(name, _)| name.as_str()).collect();
        let mut one = one.clone();
        if names.len() < each.len() {
            mark(&mut one, &names.join(", "));
        }
        one
    });
    marked.collect()
}
