//! What was asked of an experiment, and its check.
//!
//! In: an [`Asked`] with repeats and variants. Out: an [`Experiment`], or every problem of all variants
//! at once. Must never: name a problem twice because two variants have it.

use super::{DEFAULT_REPEATS, Experiment, MAX_NAME, MAX_REPEATS, MAX_VARIANTS, Order, Variant};
use crate::asked::{Asked, Given, Placed};
use crate::check::MAX_TIME;
use crate::duration::{format_duration, shorten};
use crate::problem::{Place, Problem, Problems};
use std::time::Duration;

/// What was asked of an experiment, as far as it was. The first four are the keys of `[experiment]`.
#[derive(Clone, Default, PartialEq)]
pub struct AskedExperiment {
    /// `experiment.repeats`.
    pub repeats: Given<u64>,
    /// `experiment.order`.
    pub order: Given<Order>,
    /// `experiment.pause`.
    pub pause: Given<Duration>,
    /// `experiment.between`: may hold a password.
    pub between: Given<String>,
    /// `[variants.NAME]`, in the order of the file.
    pub variants: Vec<AskedVariant>,
    /// The file has a table `[experiment]` or `[variants]`, whatever is in it.
    pub(crate) table: bool,
}

/// A variant: what it asks beside what is asked of all.
#[derive(Clone, PartialEq)]
pub struct AskedVariant {
    /// Its name, with its place.
    pub name: Placed<String>,
    /// What it asks.
    pub asked: Asked,
    /// A flag has replaced something that it asks.
    pub(crate) replaced: bool,
}

impl AskedExperiment {
    /// Lays flags over it: over each variant too, since what a flag says holds for all of them.
    pub(crate) fn overlay(mut self, over: &Asked) -> Self {
        for variant in &mut self.variants {
            let own = std::mem::take(&mut variant.asked);
            let before = own.to_json("");
            variant.asked = own.overlay(over.clone());
            let after = variant.asked.to_json("");
            let mut keys = before.as_object().into_iter().flatten();
            variant.replaced |= keys.any(|(key, given)| after.get(key) != Some(given));
        }
        let flags = over.experiment.clone();
        Self {
            repeats: flags.repeats.or(self.repeats),
            order: flags.order.or(self.order),
            pause: flags.pause.or(self.pause),
            between: flags.between.or(self.between),
            variants: self.variants,
            table: self.table || flags.table,
        }
    }

    fn own_problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if let Some(given) = &self.repeats
            && !(1..=u64::from(MAX_REPEATS)).contains(&given.value)
        {
            let message = format!("must be from 1 to {MAX_REPEATS}, is {}", given.value);
            found.push(Problem::new(given.place.clone(), message));
        }
        if let Some(given) = &self.order
            && self.repeats.is_none()
            && !self.table
        {
            let problem = Problem::new(given.place.clone(), "orders several runs, and this is one");
            found.push(problem.hint("give --repeats, or a plan with [variants.NAME]"));
        }
        if let Some(given) = &self.pause
            && given.value > MAX_TIME
        {
            let message = format!("must be at most 366d, is {}", format_duration(given.value));
            found.push(Problem::new(given.place.clone(), message));
        }
        if let Some(given) = &self.between {
            // The command itself is not quoted: it may hold a password.
            if given.value.trim().is_empty() {
                let problem = Problem::new(given.place.clone(), "is empty");
                found.push(problem.hint("leave it out where nothing is to be done between runs"));
            } else if given.value.contains('\0') {
                found.push(Problem::new(given.place.clone(), "contains a zero byte"));
            }
        }
        found.extend(
            self.variants
                .iter()
                .filter_map(|one| name_problem(&one.name)),
        );
        if let [alone] = &self.variants[..] {
            let problem = Problem::new(alone.name.place.clone(), "is the only variant");
            found.push(problem.hint(
                "two at least are set beside each other; one that changes nothing is written as an \
                 empty table, such as [variants.base]",
            ));
        }
        if let Some(beyond) = self.variants.get(MAX_VARIANTS) {
            let message = format!("is beyond the {MAX_VARIANTS} variants of an experiment");
            found.push(Problem::new(beyond.name.place.clone(), message));
        }
        found
    }
}

/// A name is part of tables, command lines and file names.
fn name_problem(name: &Placed<String>) -> Option<Problem> {
    let text = &name.value;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let well = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(allowed);
    if well && text.len() <= MAX_NAME {
        return None;
    }
    let message = format!("\"{}\" cannot be the name of a variant", shorten(text));
    let hint = format!(
        "a name is letters, digits, -, _ and ., at most {MAX_NAME}, and begins with a letter or digit"
    );
    Some(Problem::new(name.place.clone(), message).hint(hint))
}

impl Asked {
    /// Whether more than a plain run is asked for: by `[experiment]`, `[variants]` or their flags.
    pub fn is_experiment(&self) -> bool {
        let of = &self.experiment;
        let flags = of.repeats.is_some() || of.order.is_some();
        flags || of.pause.is_some() || of.between.is_some() || of.table
    }

    /// What each variant asks, with what is asked of all under it; of a plan without variants the one
    /// thing that it asks, by the name of its workload.
    pub fn variants(&self) -> Vec<(String, Asked)> {
        let mut base = self.clone();
        let variants = std::mem::take(&mut base.experiment.variants);
        if variants.is_empty() {
            let name = base.workload.as_ref().map(|name| name.value.clone());
            return vec![(name.unwrap_or_default(), base)];
        }
        let whole = |one: AskedVariant| (one.name.value, base.clone().overlay(one.asked));
        variants.into_iter().map(whole).collect()
    }

    /// Checks all variants, as [`Asked::check`] does one plan, and what is asked of the whole.
    ///
    /// # Errors
    /// Every problem at once, each named once, in the order of their places.
    pub fn check_experiment(self) -> Result<Experiment, Problems> {
        let of = &self.experiment;
        let mut found = of.own_problems();
        let mut checked = Vec::new();
        let mut each = Vec::new();
        for (name, asked) in self.variants() {
            match asked.check() {
                Ok(plan) => {
                    each.push((name.clone(), Vec::new()));
                    checked.push(Variant { name, plan });
                }
                Err(problems) => each.push((name, problems.0)),
            }
        }
        found.extend(merged(&each, |problem, names| {
            // A place in the variant's own table says whose it is.
            let own =
                matches!(&problem.place, Place::File { key, .. } if key.starts_with("variants."));
            if !own {
                problem.message += &format!(" (variant {names})");
            }
        }));
        found.extend(same_problems(of, &checked));
        if !found.is_empty() {
            return Err(Problems::sorted(found));
        }
        let repeats = of.repeats.as_ref().map(|given| given.value);
        let default = if of.table { DEFAULT_REPEATS } else { 1 };
        Ok(Experiment {
            repeats: repeats.map_or(default, |given| given.min(u64::from(MAX_REPEATS)) as u32),
            order: of
                .order
                .as_ref()
                .map_or_else(Order::default, |given| given.value),
            pause: of
                .pause
                .as_ref()
                .map_or(Duration::ZERO, |given| given.value),
            between: of.between.as_ref().map(|given| given.value.clone()),
            variants: checked,
        })
    }
}

/// Variants that a flag has made the same: what the plan sets beside each other would not be. Two that
/// the plan itself has alike are meant so, and show how far the same differs from itself.
fn same_problems(of: &AskedExperiment, checked: &[Variant]) -> Vec<Problem> {
    let mut found = Vec::new();
    for (place, one) in checked.iter().enumerate() {
        let earlier = checked[..place].iter().find(|other| other.plan == one.plan);
        let named = of
            .variants
            .iter()
            .find(|asked| asked.name.value == one.name);
        if let (Some(earlier), Some(named)) = (earlier, named) {
            let both = [&earlier.name, &one.name];
            let mut both = of.variants.iter().filter(|v| both.contains(&&v.name.value));
            if !both.any(|variant| variant.replaced) {
                continue;
            }
            let message = format!("asks for the same as variant {}", earlier.name);
            let problem = Problem::new(named.name.place.clone(), message);
            found.push(problem.hint(
                "a flag is laid over every variant, and here over what makes them differ: leave it out",
            ));
        }
    }
    found
}

/// What was found in each of several variants, each finding once and in its first order. `mark` adds
/// the names of those that have it where not all of them do.
pub fn merged<T: Clone + PartialEq>(
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
