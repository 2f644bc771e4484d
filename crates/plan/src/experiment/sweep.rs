//! Sweeps: the points of an experiment that varies settings over a range, or runs on several machines.
//!
//! A [`SweepInput`] becomes one [`VariantInput`] for each combination of its values, so that repeats, order, checks
//! and comparisons are those of any experiment. A machine's URL appears in no name and in no message.

use super::{MAX_NAME_CHARS, MAX_VARIANTS, VariantInput};
use crate::duration::shorten;
use crate::input::{InputValue, Located, PlanInput, plain_text};
use crate::problem::{InputLocation, Problem};
use crate::settings::{SETTINGS, Setting, SettingType, VARIANT_SETTINGS};
use prony_document::Setting as PointSetting;

/// What a value of `[sweep]` looks like.
pub const SWEEP_VALUES_HELP: &str =
    "write a list such as 1,2,4,8, or a range such as 1..64 step 8 or 1..64 times 2";
/// The tables whose settings can be swept.
const SWEPT_TABLES: [&str; 2] = ["workload", "run"];
/// Name of the axis of machines in the points of a sweep.
pub const MACHINE_AXIS: &str = "machine";

/// `[sweep]` and the flags `--sweep`.
#[derive(Clone, Default, PartialEq)]
pub struct SweepInput {
    /// The swept settings, in the order of the file or of the flags; the last one varies fastest.
    pub axes: Vec<SweepAxis>,
    /// Whether the points are compared as variants (`--vary`); otherwise they are points of a curve.
    pub is_compared: bool,
    /// `[sweep.machine.NAME]`, in the order of the file.
    pub machines: Vec<SweepMachine>,
    /// File of a price sheet.
    pub prices: InputValue<String>,
    /// The configuration of that sheet, for a sweep on one machine.
    pub configuration: InputValue<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SweepAxis {
    /// Key of a setting (`clients`, `run.clients`) or of an option of the workload.
    pub key: Located<String>,
    /// The values, in order.
    pub values: Vec<toml::Value>,
}

#[derive(Clone, PartialEq)]
pub struct SweepMachine {
    pub name: Located<String>,
    /// Its URL, and what is declared of it.
    pub input: PlanInput,
    /// Its configuration in the price sheet; the one of its name by default.
    pub configuration: InputValue<String>,
}

/// What an axis varies.
enum Target<'a> {
    Setting(&'static Setting),
    /// The server's setting of this name.
    ServerSetting(&'a str),
    /// The workload's option of this name.
    Option(&'a str),
}

impl SweepInput {
    /// Replaces the axes of `self` that `flags` has too, and adds the others.
    pub(crate) fn overlay(&mut self, flags: SweepInput) {
        self.is_compared |= flags.is_compared;
        for axis in flags.axes {
            let mut same = self.axes.iter_mut();
            match same.find(|own| own.target_name() == axis.target_name()) {
                Some(own) => *own = axis,
                None => self.axes.push(axis),
            }
        }
    }

    /// The points as variants, and the problems of the values: a value that has one gives no points. `base` has the
    /// settings that all points share.
    pub(super) fn points(&self, base: &PlanInput) -> (Vec<VariantInput>, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut points: Vec<VariantInput> = match &self.machines[..] {
            [] => vec![VariantInput {
                configuration: self.configuration.as_ref().map(|name| name.value.clone()),
                ..VariantInput::default()
            }],
            machines => machines
                .iter()
                .map(|machine| machine.variant(base))
                .collect(),
        };
        for (index, axis) in self.axes.iter().enumerate() {
            let mut earlier_axes = self.axes[..index].iter();
            if earlier_axes.any(|earlier| earlier.target_name() == axis.target_name()) {
                let message = format!("sweeps {} twice", shorten(axis.target_name()));
                problems.push(Problem::new(axis.key.location.clone(), message));
                continue;
            }
            problems.extend(axis.problem(base));
            if axis.misspelt_setting().is_some() {
                // No workload has the option, and each point would say so again.
                continue;
            }
            // The check reports what exceeds the limit; more points would take long for nothing.
            points = points
                .iter()
                .flat_map(|point| axis.values.iter().map(move |value| (point, value)))
                .take(MAX_VARIANTS + 1)
                .filter_map(|(point, value)| axis.extended_point(point, value, &mut problems))
                .collect();
        }
        // A value is read once for each point that it extends, and its problem is reported as often.
        let mut distinct: Vec<Problem> = Vec::new();
        for problem in problems {
            if !distinct.contains(&problem) {
                distinct.push(problem);
            }
        }
        for (index, point) in points.iter_mut().enumerate() {
            point.name.value = point_name(&point.point, index);
            if self.is_compared {
                // Without its place on a curve, it is a variant like any other.
                point.point.clear();
            }
        }
        (points, distinct)
    }
}

impl SweepMachine {
    fn variant(&self, base: &PlanInput) -> VariantInput {
        let mut input = self.input.clone();
        if base.observe.as_ref().is_some_and(|observe| !observe.value) {
            input.server_metrics = None;
        }
        let configuration = self.configuration.as_ref().unwrap_or(&self.name);
        VariantInput {
            name: self.name.clone(),
            input,
            point: vec![PointSetting::new(MACHINE_AXIS, self.name.value.clone())],
            configuration: Some(configuration.value.clone()),
            ..VariantInput::default()
        }
    }
}

impl SweepAxis {
    /// Reads the `KEY=VALUES` of `--sweep`.
    pub fn from_flag(text: &str) -> Result<SweepAxis, String> {
        Self::parse("--sweep", "clients=1,2,4,8", text)
    }

    /// Reads the `KEY=VALUES` of `--vary`.
    pub fn from_vary(text: &str) -> Result<SweepAxis, String> {
        Self::parse("--vary", "settings.synchronous_commit=on,off", text)
    }

    fn parse(flag: &str, example: &str, text: &str) -> Result<SweepAxis, String> {
        let (key, values) = text
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty())
            .ok_or_else(|| format!("is given as KEY=VALUES, such as {example}"))?;
        let key = key.trim().to_owned();
        Ok(SweepAxis {
            values: parse_values(values)?,
            key: Located {
                location: InputLocation::Flag(format!("{flag} {}", shorten(&key))),
                value: key,
            },
        })
    }

    fn target(&self) -> Target<'_> {
        let key = self.key.value.as_str();
        if let Some((VARIANT_SETTINGS, name)) = key.split_once('.') {
            return Target::ServerSetting(name);
        }
        // A key without a table is one of these tables, except the name of the workload.
        let is_target = |setting: &&Setting| {
            let is_short_form = SWEPT_TABLES.contains(&setting.table()) && key != "name";
            setting.path == key || (is_short_form && setting.key() == key)
        };
        match SETTINGS.iter().find(is_target) {
            Some(setting) => Target::Setting(setting),
            None => Target::Option(key.strip_prefix("workload.").unwrap_or(key)),
        }
    }

    /// The name of the axis in points and in the tables of results: the key without its table.
    fn target_name(&self) -> &str {
        match self.target() {
            Target::Setting(setting) => setting.key(),
            Target::ServerSetting(name) | Target::Option(name) => name,
        }
    }

    /// The setting that an unknown key probably means.
    fn misspelt_setting(&self) -> Option<&'static str> {
        let Target::Option(name) = self.target() else {
            return None;
        };
        let mut keys = SETTINGS.iter().map(Setting::key);
        keys.find(|key| strsim::osa_distance(key, name) == 1)
    }

    /// The problem of the axis, if any; `base` has the settings that all points share.
    fn problem(&self, base: &PlanInput) -> Option<Problem> {
        if self.values.is_empty() {
            return Some(self.key.problem("has no value", SWEEP_VALUES_HELP));
        }
        for (index, value) in self.values.iter().enumerate() {
            if self.values[..index].contains(value) {
                let message = format!("has the value {} twice", shorten(&plain_text(value)));
                return Some(self.key.problem(message, "repeats are set by --repeats"));
            }
        }
        let given_at = match self.target() {
            Target::Setting(setting) => {
                if !SWEPT_TABLES.contains(&setting.table()) {
                    let message = format!("{} cannot be swept", setting.path);
                    let hint = "sweep settings of [workload] and [run], or of the server: settings.NAME; \
                                several servers are [sweep.machine.NAME]";
                    return Some(self.key.problem(message, hint));
                }
                let mut given = base.given_settings();
                let given = given.find(|(other, ..)| other.path == setting.path);
                given.map(|(_, _, location)| location.clone())
            }
            Target::ServerSetting(name) => {
                let settings = base.settings.as_ref();
                let given = settings.filter(|settings| settings.value.get(name).is_some());
                given.map(|settings| settings.location.clone())
            }
            Target::Option(name) => {
                if let Some(similar) = self.misspelt_setting() {
                    let message = format!("{} is not a setting", shorten(name));
                    let hint = format!("did you mean {similar}?");
                    return Some(self.key.problem(message, hint));
                }
                base.options.get(name).map(|option| option.location.clone())
            }
        };
        // The points replace a value of the file; a flag contradicts them.
        let Some(InputLocation::Flag(name)) = given_at else {
            return None;
        };
        let message = format!("sweeps what {name} sets");
        Some(self.key.problem(message, "leave one of the two out"))
    }

    /// The point with a value of this axis; `None` if the value has a problem, which is added to `problems`.
    fn extended_point(
        &self,
        point: &VariantInput,
        value: &toml::Value,
        problems: &mut Vec<Problem>,
    ) -> Option<VariantInput> {
        let mut extended = point.clone();
        let input = &mut extended.input;
        let location = self.key.location.clone();
        let text = plain_text(value);
        let outcome = match self.target() {
            Target::ServerSetting(name) => {
                let settings = input.settings.get_or_insert_default();
                settings.location.clone_from(&location);
                let set = settings.value.set(name, &text);
                set.map_err(|reason| format!("{} {reason}", shorten(name)))
            }
            // It cannot be swept, which is the axis's problem.
            Target::Setting(setting) if matches!(setting.value_type, SettingType::Facts) => {
                return None;
            }
            Target::Setting(setting) => {
                let set = input.set_texts(setting, &[&text], location.clone());
                set.map_err(|reason| format!("{} {reason}", shorten(&text)))
            }
            Target::Option(name) => {
                let option = Located {
                    value: value.clone(),
                    location: location.clone(),
                };
                input.options.insert(name.to_owned(), option);
                Ok(())
            }
        };
        if let Err(message) = outcome {
            problems.push(Problem::new(location, message));
            return None;
        }
        let setting = PointSetting::new(self.target_name(), text);
        extended.point.push(setting);
        extended.name.location = location;
        Some(extended)
    }
}

/// The name of a point: `clients-8`, `small.clients-8`; a number if that cannot be the name of a variant.
fn point_name(point: &[PointSetting], index: usize) -> String {
    let parts = point.iter().map(|setting| match setting.name.as_str() {
        MACHINE_AXIS => setting.value.clone(),
        name => format!("{name}-{}", setting.value),
    });
    let name = parts.collect::<Vec<_>>().join(".");
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.len() <= MAX_NAME_CHARS && name.chars().all(is_allowed) {
        name
    } else {
        format!("point-{}", index + 1)
    }
}

/// Parses a list `1,2,4` or a range `1..64`, `1..64 step 8`, `1..64 times 2`.
pub fn parse_values(text: &str) -> Result<Vec<toml::Value>, String> {
    let Some((start, rest)) = text.split_once("..") else {
        let values = text.split(',').map(str::trim);
        let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
        return if values.is_empty() {
            Err(format!("has no value: {SWEEP_VALUES_HELP}"))
        } else {
            Ok(values.into_iter().map(option_from_text).collect())
        };
    };
    let error = || format!("is not a range of whole numbers: {SWEEP_VALUES_HELP}");
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| error());
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (end, step) = match words[..] {
        [end] => (end, RangeStep::Add(1)),
        [end, "step", by] => (end, RangeStep::Add(number(by)?)),
        [end, "times", by] => (end, RangeStep::Multiply(number(by)?)),
        _ => return Err(error()),
    };
    let (start, end) = (number(start)?, number(end)?);
    let grows = match step {
        RangeStep::Add(by) => by >= 1,
        RangeStep::Multiply(by) => by >= 2 && start >= 1,
    };
    if !grows || start > end {
        return Err(error());
    }
    let mut values = Vec::new();
    let mut next = Some(start);
    // One more than the limit of variants, which is then reported.
    while let Some(value) = next.filter(|value| *value <= end && values.len() <= MAX_VARIANTS) {
        let value_of_toml = i64::try_from(value).map_err(|_| error())?;
        values.push(value_of_toml.into());
        next = match step {
            RangeStep::Add(by) => value.checked_add(by),
            RangeStep::Multiply(by) => value.checked_mul(by),
        };
    }
    Ok(values)
}

/// How a range goes from one value to the next.
enum RangeStep {
    Add(u64),
    Multiply(u64),
}

/// The value of an option from its text: a number, a boolean, or else a string.
pub fn option_from_text(text: &str) -> toml::Value {
    if let Ok(integer) = text.parse::<i64>() {
        return integer.into();
    }
    // Rust reads "nan" and "infinity" as numbers; here they are strings.
    if let Some(float) = text.parse().ok().filter(|float: &f64| float.is_finite()) {
        return float.into();
    }
    match text.parse::<bool>() {
        Ok(boolean) => boolean.into(),
        Err(_) => text.into(),
    }
}

#[cfg(test)]
mod tests;
