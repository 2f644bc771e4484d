//! The text of a requirement: reading it, and writing the same one.

use super::{Comparator, RequiredFigure, RequiredLimit, Requirement, Statistic};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

const FORM: &str = "a figure, a relation and a limit, such as p99<20ms, throughput>5000/s, errors<0.1%, outage<30s, \
                    lost=0, new_order.p99<50ms, server.p95<5ms or throughput>=97% of LABEL";

const FIGURES: &str =
    "throughput, NOPM, TPM, mean, p50, p90, p95, p99, p99.9, max, errors, outage, recovery or lost";

impl Requirement {
    /// Reads a requirement. Spaces do not matter.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence that begins with the text.
    pub fn parse(text: &str) -> Result<Requirement, String> {
        let text = text.trim();
        if text.contains(char::is_control) {
            return Err("must be one line of text".to_owned());
        }
        if let Some(rest) = text.strip_prefix("not slower than ") {
            let requirement = parse_not_slower(rest);
            return requirement.ok_or_else(|| "must be `not slower than LABEL by 3%`".to_owned());
        }
        let is_of_other_form = || format!("must be {FORM}");
        let figure_end = text.find(['<', '>', '=']).ok_or_else(is_of_other_form)?;
        let (figure_text, relation) = text.split_at(figure_end);
        let mut comparators = Comparator::ALL.iter().copied();
        let comparator = comparators
            .find(|comparator| relation.starts_with(comparator.name()))
            .ok_or_else(is_of_other_form)?;
        let figure = parse_figure(figure_text.trim())?;
        let limit = parse_limit(&figure, relation[comparator.name().len()..].trim())?;
        let requirement = Requirement {
            figure,
            comparator,
            limit,
        };
        requirement.check_relation()?;
        Ok(requirement)
    }

    /// Refuses a relation that is the wrong way around for its figure, that always holds, or that never holds.
    fn check_relation(&self) -> Result<(), String> {
        let figure = &self.figure;
        let is_rate = matches!(
            figure,
            RequiredFigure::Throughput | RequiredFigure::Metric(_)
        );
        let limit = self.limit.value();
        let is_zero = limit == Some(0.0);
        match self.comparator {
            Comparator::Equal if matches!(self.limit, RequiredLimit::Count(0)) => Ok(()),
            Comparator::Equal if is_rate => Err(format!("must have > or >= after {figure}")),
            Comparator::Equal => Err(format!(
                "must have < or <= after {figure}: only no transaction can be required exactly, as in errors=0"
            )),
            Comparator::Below | Comparator::AtMost if is_rate => Err(format!(
                "must have > or >=: {figure} is better if it is higher"
            )),
            Comparator::Above | Comparator::AtLeast if !is_rate => Err(format!(
                "must have < or <=: {figure} is better if it is lower"
            )),
            Comparator::Below if is_zero => Err(format!("is never met: no {figure} is below 0")),
            Comparator::AtMost if is_zero && matches!(figure, RequiredFigure::Time { .. }) => {
                Err(format!("is never met: no {figure} is 0"))
            }
            Comparator::AtLeast if is_zero => Err(format!("always holds: no {figure} is below 0")),
            _ if matches!(self.limit, RequiredLimit::Share(share) if share > 1.0) => {
                Err(format!("always holds: no share of {figure} is above 100%"))
            }
            _ => Ok(()),
        }
    }
}

/// `LABEL by 3%`, as after `not slower than`; `None` if the text is of another form.
fn parse_not_slower(text: &str) -> Option<Requirement> {
    let (label, loss) = text.rsplit_once(" by ")?;
    let label = label.trim();
    let loss = percentage(loss.trim())?;
    if label.is_empty() || loss >= 1.0 {
        return None;
    }
    Some(Requirement {
        figure: RequiredFigure::Primary,
        comparator: Comparator::AtLeast,
        limit: RequiredLimit::Of {
            share: 1.0 - loss,
            label: label.to_owned(),
        },
    })
}

fn parse_figure(text: &str) -> Result<RequiredFigure, String> {
    match text.to_ascii_lowercase().as_str() {
        "throughput" | "tps" => Ok(RequiredFigure::Throughput),
        "nopm" | "tpm" => Ok(RequiredFigure::Metric(text.to_ascii_uppercase())),
        "errors" => Ok(RequiredFigure::Errors),
        "outage" => Ok(RequiredFigure::Outage),
        "recovery" => Ok(RequiredFigure::Recovery),
        "lost" => Ok(RequiredFigure::Lost),
        _ => parse_time_figure(text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            format!("has no figure that is known ({shown}): write {FIGURES}")
        }),
    }
}

/// A statistic of times, such as `p99`, `server.p95` or `new_order.server.p99`; `None` if the text is something else.
fn parse_time_figure(text: &str) -> Option<RequiredFigure> {
    let lower = text.to_ascii_lowercase();
    // No statistic's name is the end of another's.
    let mut statistics = Statistic::ALL.iter().copied();
    let statistic = statistics.find(|statistic| lower.ends_with(statistic.name()))?;
    let before = &text[..text.len() - statistic.name().len()];
    let path = match before.strip_suffix('.') {
        Some("") => return None,
        Some(path) => path,
        None if before.is_empty() => "",
        None => return None,
    };
    let (kind, is_server) = match path.strip_suffix(".server") {
        Some(kind) => (kind.trim_end_matches('.'), true),
        None if path == "server" => ("", true),
        None => (path, false),
    };
    Some(RequiredFigure::Time {
        kind: (!kind.is_empty()).then(|| kind.to_owned()),
        is_server,
        statistic,
    })
}

fn parse_limit(figure: &RequiredFigure, text: &str) -> Result<RequiredLimit, String> {
    let may_compare = !matches!(
        figure,
        RequiredFigure::Errors
            | RequiredFigure::Outage
            | RequiredFigure::Recovery
            | RequiredFigure::Lost
    );
    if may_compare && let Some((share, label)) = text.split_once(" of ") {
        let limit = limit_of_runs(share.trim(), label.trim());
        return limit.ok_or_else(|| "must compare in the form `97% of LABEL`".to_owned());
    }
    let (limit, expected) = match figure {
        RequiredFigure::Errors => (
            percentage(text)
                .map(RequiredLimit::Share)
                .or_else(|| text.parse().ok().map(RequiredLimit::Count)),
            "a share such as 0.1%, or a number",
        ),
        RequiredFigure::Lost => (
            text.parse().ok().map(RequiredLimit::Count),
            "a whole number",
        ),
        RequiredFigure::Outage | RequiredFigure::Recovery => (
            nanoseconds(text).map(RequiredLimit::Time),
            "a time such as 30s",
        ),
        RequiredFigure::Time { .. } => (
            nanoseconds(text).map(RequiredLimit::Time),
            "a time such as 20ms, or `110% of LABEL`",
        ),
        RequiredFigure::Metric(_) => (
            per_minute(text).map(RequiredLimit::PerMinute),
            "a number such as 300000 or 300000/min, or `97% of LABEL`,",
        ),
        RequiredFigure::Primary | RequiredFigure::Throughput => (
            per_second(text).map(RequiredLimit::PerSecond),
            "a number such as 5000 or 5000/s, or `97% of LABEL`,",
        ),
    };
    limit.ok_or_else(|| format!("must have {expected} as the limit of {figure}"))
}

/// The limit of `97% of LABEL`.
fn limit_of_runs(share: &str, label: &str) -> Option<RequiredLimit> {
    let share = percentage(share)?;
    let is_limit = share > 0.0 && !label.is_empty();
    is_limit.then(|| RequiredLimit::Of {
        share,
        label: label.to_owned(),
    })
}

/// The rate of an industry metric. It has no `tps`: those are transactions of all kinds, of which a metric counts some.
fn per_minute(text: &str) -> Option<f64> {
    match text.strip_suffix("/s") {
        Some(number) => Some(non_negative(number)? * 60.0),
        None => non_negative(text.strip_suffix("/min").unwrap_or(text)),
    }
}

fn per_second(text: &str) -> Option<f64> {
    match text.strip_suffix("/min") {
        Some(number) => Some(non_negative(number)? / 60.0),
        None => {
            let number = text.strip_suffix("/s").or_else(|| text.strip_suffix("tps"));
            non_negative(number.unwrap_or(text))
        }
    }
}

/// A finite number that is not negative, perhaps with spaces after it.
fn non_negative(text: &str) -> Option<f64> {
    let number: f64 = text.trim_end().parse().ok()?;
    (number.is_finite() && !number.is_sign_negative()).then_some(number)
}

/// The share in `3%` or `3 %`.
fn percentage(text: &str) -> Option<f64> {
    non_negative(text.strip_suffix('%')?).map(|percent| percent / 100.0)
}

/// A time such as `1.5ms` or `1h30m`, each unit smaller than the one before it.
fn nanoseconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 9] = [
        ("d", 8.64e13),
        ("h", 3.6e12),
        ("min", 6e10),
        ("m", 6e10),
        ("s", 1e9),
        ("ms", 1e6),
        ("us", 1e3),
        ("µs", 1e3),
        ("ns", 1.0),
    ];
    let mut rest = text;
    let mut total_ns = 0.0;
    let mut last_unit_ns = f64::INFINITY;
    loop {
        let unit_start = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(unit_start);
        let unit_end = after.find(|c: char| c.is_ascii_digit());
        let (unit, after) = after.split_at(unit_end.unwrap_or(after.len()));
        let (_, unit_ns) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        if *unit_ns >= last_unit_ns {
            return None;
        }
        total_ns += non_negative(number)? * unit_ns;
        if after.is_empty() {
            // Whole nanoseconds, so that the text of a time reads as the same time.
            return Some(total_ns.round());
        }
        rest = after;
        last_unit_ns = *unit_ns;
    }
}

/// The shortest text of a number in percent.
fn write_percent(f: &mut fmt::Formatter<'_>, share: f64) -> fmt::Result {
    // A share came from a number of percent: what binary fractions add is rounded away.
    write!(f, "{}%", (share * 1e8).round() / 1e6)
}

impl fmt::Display for RequiredFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequiredFigure::Primary => f.write_str("primary figure"),
            RequiredFigure::Throughput => f.write_str("throughput"),
            RequiredFigure::Metric(name) => f.write_str(name),
            RequiredFigure::Errors => f.write_str("errors"),
            RequiredFigure::Outage => f.write_str("outage"),
            RequiredFigure::Recovery => f.write_str("recovery"),
            RequiredFigure::Lost => f.write_str("lost"),
            RequiredFigure::Time {
                kind,
                is_server,
                statistic,
            } => {
                if let Some(kind) = kind {
                    write!(f, "{kind}.")?;
                }
                let part = if *is_server { "server." } else { "" };
                write!(f, "{part}{}", statistic.name())
            }
        }
    }
}

impl fmt::Display for RequiredLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequiredLimit::PerSecond(rate) => write!(f, "{rate}/s"),
            RequiredLimit::PerMinute(rate) => write!(f, "{rate}/min"),
            RequiredLimit::Count(number) => write!(f, "{number}"),
            RequiredLimit::Share(share) => write_percent(f, *share),
            RequiredLimit::Time(ns) => {
                let (unit, length_ns) = match *ns {
                    ns if ns >= 1e9 => ("s", 1e9),
                    ns if ns >= 1e6 => ("ms", 1e6),
                    ns if ns >= 1e3 => ("us", 1e3),
                    _ => ("ns", 1.0),
                };
                write!(f, "{}{unit}", ns / length_ns)
            }
            RequiredLimit::Of { share, label } => {
                write_percent(f, *share)?;
                write!(f, " of {label}")
            }
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.figure, &self.limit) {
            (RequiredFigure::Primary, RequiredLimit::Of { share, label }) => {
                write!(f, "not slower than {label} by ")?;
                write_percent(f, 1.0 - share)
            }
            (figure, limit) => write!(f, "{figure}{}{limit}", self.comparator.name()),
        }
    }
}

impl Serialize for Requirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Requirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Requirement, D::Error> {
        let text = String::deserialize(deserializer)?;
        Requirement::parse(&text)
            .map_err(|expected| D::Error::custom(format!("`{text}` {expected}")))
    }
}

impl JsonSchema for Requirement {
    fn schema_name() -> Cow<'static, str> {
        "Requirement".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "A requirement, such as `p99<20ms`." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_have_one_form_each() {
        for (text, form) in [
            ("p99 < 20 ms", "p99<20ms"),
            ("p99.9<=1.5s", "p99.9<=1.5s"),
            ("server.p50<800us", "server.p50<800us"),
            ("new_order.server.p99 < 5ms", "new_order.server.p99<5ms"),
            ("new_order.p99.9 < 50000us", "new_order.p99.9<50ms"),
            ("max<2min", "max<120s"),
            ("max<1h", "max<3600s"),
            ("outage<1h30m", "outage<5400s"),
            ("outage<=0s", "outage<=0ns"),
            ("TPS > 5000", "throughput>5000/s"),
            ("throughput>5000 tps", "throughput>5000/s"),
            ("throughput>300000/min", "throughput>5000/s"),
            ("nopm>=1e5", "NOPM>=100000/min"),
            ("NOPM>1000 /s", "NOPM>60000/min"),
            ("errors<0.1%", "errors<0.1%"),
            ("errors = 0", "errors=0"),
            ("lost=0", "lost=0"),
            ("outage<30s", "outage<30s"),
            ("recovery<2m", "recovery<120s"),
            ("throughput >= 97 % of main", "throughput>=97% of main"),
            ("p99<=110% of release 1", "p99<=110% of release 1"),
            ("not slower than main by 3%", "not slower than main by 3%"),
        ] {
            let requirement =
                Requirement::parse(text).unwrap_or_else(|error| panic!("{text} {error}"));
            assert_eq!(requirement.to_string(), form);
            assert_eq!(Requirement::parse(form), Ok(requirement), "{form}");
        }
    }

    #[test]
    fn what_is_none_is_refused_with_what_is_expected() {
        for (text, part) in [
            ("", "a figure, a relation and a limit"),
            ("p99", "a figure, a relation and a limit"),
            ("p98<2ms", "p98"),
            (".p99<2ms", "known"),
            ("p99<20", "a time such as 20ms"),
            ("p99<-1ms", "a time such as 20ms"),
            ("p99=1ms", "only no transaction"),
            ("errors=5", "only no transaction"),
            ("throughput=5", "must have > or >="),
            ("p99>1ms", "p99 is better if it is lower"),
            ("errors>5", "errors is better if it is lower"),
            ("outage>=1s", "outage is better if it is lower"),
            ("p99>=110% of main", "p99 is better if it is lower"),
            ("throughput<5000", "throughput is better if it is higher"),
            (
                "throughput<=97% of main",
                "throughput is better if it is higher",
            ),
            ("p99<0ms", "is never met"),
            ("p99<=0ms", "is never met"),
            ("errors<0%", "is never met"),
            ("lost<0", "is never met"),
            ("NOPM>=0", "always holds"),
            ("errors<150%", "always holds"),
            ("nopm>1tps", "300000/min"),
            ("throughput>1/h", "a number such as 5000"),
            ("outage<30m1h", "a time such as 30s"),
            ("outage<s", "a time such as 30s"),
            ("p99<1%\nof main", "one line"),
            ("throughput>fast", "a number such as 5000"),
            ("throughput>=97% of ", "97% of LABEL"),
            ("errors<often", "0.1%"),
            ("lost<1%", "a whole number"),
            ("not slower than main", "not slower than LABEL by 3%"),
            (
                "not slower than main by 300%",
                "not slower than LABEL by 3%",
            ),
        ] {
            let error = Requirement::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn documents_store_the_text() {
        let requirement = Requirement::parse("p99<20ms").unwrap();
        let json = serde_json::to_string(&requirement).unwrap();
        assert_eq!(json, "\"p99<20ms\"");
        assert_eq!(
            serde_json::from_str::<Requirement>(&json).unwrap(),
            requirement
        );
        assert!(serde_json::from_str::<Requirement>("\"p99\"").is_err());
    }
}
