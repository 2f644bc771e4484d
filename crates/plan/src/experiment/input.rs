//! The input of an experiment, and its check.
//!
//! A [`PlanInput`] with repeats and variants becomes an [`Experiment`], or every problem of all variants at
//! once. A problem that several variants have is reported once.

use super::{
    DEFAULT_REPEATS, DIRECT_VARIANT, Experiment, LEDGER_VARIANTS, MAX_NAME_CHARS, MAX_REPEATS,
    MAX_VARIANTS, POOLED_VARIANT, RunOrder, SweepInput, VERSUS_VARIANTS, Variant,
};
use crate::check::value_or;
use crate::duration::shorten;
use crate::input::{Located, PlanInput};
use crate::problem::{InputLocation, Problem, Problems};
use prony_document::Setting;
use std::time::Duration;

/// The unchecked input of a variant.
#[derive(Clone, Default, PartialEq)]
pub struct VariantInput {
    pub name: Located<String>,
    /// What it changes in the plan.
    pub input: PlanInput,
    /// The settings that it has as a point of a sweep; empty if it is none.
    pub point: Vec<Setting>,
    /// What it costs: the name of a configuration in the price sheet, if there is a sheet.
    pub configuration: Option<String>,
    /// Whether a flag has overridden one of the values of `input`.
    pub(crate) is_overridden: bool,
}

impl VariantInput {
    pub(crate) fn apply_flags(&mut self, flags: &PlanInput) {
        let own = std::mem::take(&mut self.input);
        let own_values = own.to_json("");
        self.input = own.overlay(flags.clone());
        let values = self.input.to_json("");
        let mut own_values = own_values.as_object().into_iter().flatten();
        self.is_overridden |= own_values.any(|(key, value)| values.get(key) != Some(value));
    }
}

impl PlanInput {
    /// The problems of the experiment's own settings, and of the names and the number of its variants.
    fn experiment_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(order) = &self.order
            && self.repeats.is_none()
            && !self.has_several_runs()
        {
            problems.push(order.problem(
                "orders several runs, but there is only one",
                "give --repeats, or a plan with [variants.NAME] or [sweep]",
            ));
        }
        // The command is not quoted: it may contain a password.
        for command in [&self.between, &self.restart].into_iter().flatten() {
            if command.value.trim().is_empty() {
                problems.push(command.problem("is empty", "remove it if no command should run"));
            }
        }
        problems.extend(self.second_url_problems());
        problems.extend(self.ledger_cost_problems());
        let names = self.variants.iter().map(|variant| &variant.name);
        problems.extend(names.filter_map(name_problem));
        let points = self.sweep.as_ref().map(|sweep| {
            let (points, point_problems) = self.check_sweep(sweep);
            problems.extend(point_problems);
            points
        });
        let variants = points.as_ref().unwrap_or(&self.variants);
        if let [variant] = &self.variants[..]
            && self.sweep.is_none()
        {
            problems.push(variant.name.problem(
                "is the only variant",
                "an experiment compares at least two; write one that changes nothing as an empty table, such \
                 as [variants.base]",
            ));
        }
        if let Some(excess) = variants.get(MAX_VARIANTS) {
            let is_curve = self.sweep.as_ref().is_some_and(|sweep| !sweep.is_compared);
            let what = if is_curve { "points" } else { "variants" };
            let message = format!("exceeds the limit of {MAX_VARIANTS} {what}");
            problems.push(Problem::new(excess.name.location.clone(), message));
        }
        problems
    }

    /// The problems of `via` and `versus`, each a second URL that makes two variants of one plan.
    fn second_url_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let via_hint =
            "with via, the variants are the server itself, and the server through the pooler";
        let versus_hint =
            "with versus, the variants are the server of the URL, and the one of versus";
        for (setting, url, hint) in [
            ("via", &self.via, via_hint),
            ("versus", &self.versus, versus_hint),
        ] {
            let Some(url) = url else { continue };
            if url.value.is_empty() {
                problems.push(url.problem("is empty", "give a URL"));
            }
            let excluded = if let Some(variant) = self.variants.first() {
                format!("variants ({})", variant.name.location)
            } else if let Some(embedded) = self.embedded.as_ref().filter(|given| given.value) {
                format!("embedded ({})", embedded.location)
            } else if self.sweep.is_some() {
                "sweep".to_owned()
            } else if self.read_from.is_some() {
                "read_from".to_owned()
            } else if setting == "versus" && self.via.is_some() {
                "via".to_owned()
            } else {
                continue;
            };
            let message = format!("{setting} and {excluded} exclude each other");
            problems.push(url.problem(message, hint));
        }
        problems
    }

    /// The problems of `ledger_cost`, beside which nothing else can be varied.
    fn ledger_cost_problems(&self) -> Vec<Problem> {
        let Some(cost) = self.ledger_cost.as_ref().filter(|cost| cost.value) else {
            return Vec::new();
        };
        let others = [
            (!self.variants.is_empty(), "variants"),
            (self.sweep.is_some(), "sweep"),
            (self.via.is_some(), "via"),
            (self.versus.is_some(), "versus"),
        ];
        let hint = "with ledger_cost, the variants are the load without the ledger, and with it";
        let mut problems = Vec::new();
        for (is_given, other) in others {
            if is_given {
                let message = format!("ledger_cost and {other} exclude each other");
                problems.push(cost.problem(message, hint));
            }
        }
        problems
    }

    /// The points of a sweep and its problems; no points if there is only one, which is a problem.
    fn check_sweep(&self, sweep: &SweepInput) -> (Vec<VariantInput>, Vec<Problem>) {
        let mut problems = Vec::new();
        if let Some(variant) = self.variants.first() {
            problems.push(variant.name.problem(
                "variants and a sweep exclude each other",
                "the points of a sweep are its variants",
            ));
        }
        let names = sweep.machines.iter().map(|machine| &machine.name);
        problems.extend(names.filter_map(name_problem));
        if sweep.prices.is_none()
            && let Some(configuration) = &sweep.configuration
        {
            problems.push(configuration.problem(
                "has no effect without a price sheet",
                "name the sheet: prices = \"FILE.toml\" under [sweep]",
            ));
        }
        let (points, point_problems) = sweep.points(self);
        // Points that have a problem are left out, and are not counted as missing.
        let is_single = point_problems.is_empty() && points.len() < 2;
        problems.extend(point_problems);
        if !is_single {
            return (points, problems);
        }
        let mut locations = points.into_iter().map(|point| point.name.location);
        let location = locations
            .find(|location| *location != InputLocation::default())
            .unwrap_or_else(|| InputLocation::Key("sweep".to_owned()));
        let (message, hint) = if sweep.is_compared {
            ("has one value", "give at least two, which are compared")
        } else {
            (
                "is a sweep of one point",
                "a sweep has at least two values, or two machines",
            )
        };
        problems.push(Problem::new(location, message).with_hint(hint));
        (Vec::new(), problems)
    }
}

/// The problem of a variant's name, if any. Names are restricted because they are used in tables, command
/// lines and file names.
fn name_problem(name: &Located<String>) -> Option<Problem> {
    let text = &name.value;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_valid =
        text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_allowed);
    if is_valid && text.len() <= MAX_NAME_CHARS {
        return None;
    }
    let message = format!("\"{}\" cannot be the name of a variant", shorten(text));
    let hint = format!(
        "a name consists of at most {MAX_NAME_CHARS} letters, digits, -, _ and ., and begins with a letter or \
         digit"
    );
    Some(name.problem(message, hint))
}

impl PlanInput {
    /// Whether several runs are requested by default: by `[experiment]`, `[variants]` or a sweep.
    fn has_several_runs(&self) -> bool {
        self.file.has_experiment
            || self.sweep.is_some()
            || self.via.is_some()
            || self.versus.is_some()
            || self.ledger_cost.as_ref().is_some_and(|cost| cost.value)
    }

    /// Whether `[experiment]`, `[variants]`, `[sweep]` or their flags are given.
    pub fn is_experiment(&self) -> bool {
        let mut settings = self.given_settings();
        self.has_several_runs() || settings.any(|(setting, ..)| setting.table() == "experiment")
    }

    /// The input of each variant, merged with the common settings. A plan without variants has one input,
    /// named after its workload, or two: without and with the pooler or the ledger, or one for each of two servers.
    pub fn variants(&self) -> Vec<(String, PlanInput)> {
        let mut base = self.clone();
        (base.variants, base.sweep) = (Vec::new(), None);
        let (via, versus) = (base.via.take(), base.versus.take());
        let ledger_cost = base.ledger_cost.take().filter(|cost| cost.value);
        let variants = self.variant_inputs();
        if !variants.is_empty() {
            let merge =
                |variant: VariantInput| (variant.name.value, base.clone().overlay(variant.input));
            return variants.into_iter().map(merge).collect();
        }
        let base_and_other = |other_url| {
            let other = PlanInput {
                url: Some(other_url),
                ..base.clone()
            };
            [base.clone(), other]
        };
        let (names, inputs) = if let Some(via) = via {
            ([DIRECT_VARIANT, POOLED_VARIANT], base_and_other(via))
        } else if let Some(versus) = versus {
            (VERSUS_VARIANTS, base_and_other(versus))
        } else if let Some(cost) = ledger_cost {
            let with_ledger = |value| PlanInput {
                ledger: Some(Located {
                    value,
                    location: cost.location.clone(),
                }),
                ..base.clone()
            };
            (LEDGER_VARIANTS, [false, true].map(with_ledger))
        } else {
            let name = base.workload.as_ref().map(|name| name.value.clone());
            return vec![(name.unwrap_or_default(), base)];
        };
        names.map(str::to_owned).into_iter().zip(inputs).collect()
    }

    /// The variants, or the points of the sweep without those that have a problem: what each changes.
    pub fn variant_inputs(&self) -> Vec<VariantInput> {
        match &self.sweep {
            Some(sweep) => sweep.points(self).0,
            None => self.variants.clone(),
        }
    }

    /// Checks all variants, each as [`PlanInput::check`] checks a plan, and the settings of the experiment.
    ///
    /// # Errors
    /// Every problem at once, each only once, in the order of their locations.
    pub fn check_experiment(self) -> Result<Experiment, Problems> {
        let mut problems = self.experiment_problems();
        let mut checked = Vec::new();
        let mut problems_by_variant = Vec::new();
        // In the order of `variants`; empty if the plan names none.
        let mut inputs = self.variant_inputs().into_iter();
        for (name, input) in self.variants() {
            let VariantInput {
                point,
                configuration,
                ..
            } = inputs.next().unwrap_or_default();
            match input.check() {
                Ok(plan) => {
                    problems_by_variant.push((name.clone(), Vec::new()));
                    checked.push(Variant {
                        name,
                        plan,
                        point,
                        configuration,
                    });
                }
                Err(input_problems) => problems_by_variant.push((name, input_problems.0)),
            }
        }
        // A sweep excludes variants, but what is wrong in them is reported all the same.
        if self.sweep.is_some() && !self.variants.is_empty() {
            let without_sweep = PlanInput {
                sweep: None,
                ..self.clone()
            };
            for (_, input) in without_sweep.variants() {
                let found = input.check().err().into_iter().flat_map(|found| found.0);
                problems.extend(found.filter(|problem| is_in_table(problem, "variants.")));
            }
        }
        problems.extend(merge_findings(&problems_by_variant, |problem, names| {
            // The location of a key in the variant's own table already names the variant.
            if !is_in_table(problem, "variants.") && !is_in_table(problem, "sweep.") {
                problem.message += &format!(" (variant {names})");
            }
        }));
        problems.extend(identical_variant_problems(&self.variants, &checked));
        if !problems.is_empty() {
            return Err(Problems::sorted(problems));
        }
        let default_repeats = if self.has_several_runs() { DEFAULT_REPEATS } else { 1 };
        let repeats = value_or(&self.repeats, default_repeats.into());
        Ok(Experiment {
            repeats: repeats.min(u64::from(MAX_REPEATS)) as u32,
            order: value_or(&self.order, RunOrder::default()),
            pause: value_or(&self.pause, Duration::ZERO),
            keep_going: value_or(&self.keep_going, false),
            between: self.between.map(|command| command.value),
            variants: checked,
            prices: self.sweep.and_then(|sweep| Some(sweep.prices?.value)),
        })
    }
}

/// Whether a problem is in a table of a file, `variants.` or `sweep.`.
fn is_in_table(problem: &Problem, table: &str) -> bool {
    matches!(&problem.location, InputLocation::File { key, .. } if key.starts_with(table))
}

/// Problems of variants that a flag has made equal, so that nothing is left to compare. Variants that are
/// equal in the plan file are allowed: they show how much repeats of the same plan differ.
fn identical_variant_problems(variants: &[VariantInput], checked: &[Variant]) -> Vec<Problem> {
    let input_of = |variant: &Variant| {
        let mut inputs = variants.iter();
        inputs.find(|input| input.name.value == variant.name)
    };
    let hint = "a flag overrides every variant, and here it overrides what makes them differ: leave it out";
    let mut problems = Vec::new();
    for (index, variant) in checked.iter().enumerate() {
        let mut earlier_variants = checked[..index].iter();
        let same = earlier_variants.find(|earlier| earlier.plan == variant.plan);
        let Some((same, input)) = same.zip(input_of(variant)) else {
            continue;
        };
        if input.is_overridden || input_of(same).is_some_and(|input| input.is_overridden) {
            let message = format!("is the same as variant {}", same.name);
            problems.push(input.name.problem(message, hint));
        }
    }
    problems
}

/// Merges the findings of several variants, by name: each finding appears once, in the order of first occurrence. If
/// not all variants have a finding, `add_names` adds the names of those that have it.
pub fn merge_findings<T: Clone + PartialEq>(
    findings_by_variant: &[(String, Vec<T>)],
    add_names: impl Fn(&mut T, &str),
) -> Vec<T> {
    let mut distinct: Vec<&T> = Vec::new();
    for finding in findings_by_variant
        .iter()
        .flat_map(|(_, findings)| findings)
    {
        if !distinct.contains(&finding) {
            distinct.push(finding);
        }
    }
    let mut merged = Vec::new();
    for finding in distinct {
        let with_finding = findings_by_variant
            .iter()
            .filter(|(_, findings)| findings.contains(finding));
        let names: Vec<&str> = with_finding.map(|(name, _)| name.as_str()).collect();
        let mut finding = finding.clone();
        if names.len() < findings_by_variant.len() {
            add_names(&mut finding, &names.join(", "));
        }
        merged.push(finding);
    }
    merged
}
