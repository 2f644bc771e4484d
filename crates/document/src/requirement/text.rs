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
    pub fn parse(text: &str) -> Result<Requirement, String> {
        let text = text.trim();
        if text.contains(char::is_control) {
            return Err("must be one line of text".to_owned());
        }
        if let Some(requirement) = not_slower(text) {
            return requirement;
        }
        let comparators = Comparator::ALL.iter().copied();
        let start = text.find(['<', '>', '=']);
        let (start, comparator) = start
            .and_then(|start| {
                let mut comparators = comparators;
                let comparator =
                    comparators.find(|comparator| text[start..].starts_with(comparator.name()))?;
                Some((start, comparator))
            })
            .ok_or_else(|| format!("must be {FORM}"))?;
        let figure = parse_figure(text[..start].trim())?;
        let limit = parse_limit(&figure, text[start + comparator.name().len()..].trim())?;
        let requirement = Requirement {
            figure,
            comparator,
            limit,
        };
        requirement.check_relation()?;
        Ok(requirement)
    }

    /// Refuses a relation that is the wrong way around for its figure, and one that always holds or never.
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

/// `not slower than LABEL by 3%`; `None` if the text is of another form.
fn not_slower(text: &str) -> Option<Result<Requirement, String>> {
    let rest = text.strip_prefix("not slower than ")?;
    let parsed = rest.rsplit_once(" by ").and_then(|(label, share)| {
        let share = percentage(share.trim()).filter(|share| (0.0..1.0).contains(share))?;
        Some((label.trim(), share))
    });
    let Some((label, share)) = parsed.filter(|(label, _)| !label.is_empty()) else {
        return Some(Err("must be `not slower than LABEL by 3%`".to_owned()));
    };
    Some(Ok(Requirement {
        figure: RequiredFigure::Primary,
        comparator: Comparator::AtLeast,
        limit: RequiredLimit::Of {
            share: 1.0 - share,
            label: label.to_owned(),
        },
    }))
}

fn parse_figure(text: &str) -> Result<RequiredFigure, String> {
    let lower = text.to_ascii_lowercase();
    let unknown = || {
        let shown: String = text.chars().take(40).collect();
        format!("has no figure that is known ({shown}): write {FIGURES}")
    };
    Ok(match lower.as_str() {
        "throughput" | "tps" => RequiredFigure::Throughput,
        "nopm" | "tpm" => RequiredFigure::Metric(text.to_ascii_uppercase()),
        "errors" => RequiredFigure::Errors,
        "outage" => RequiredFigure::Outage,
        "recovery" => RequiredFigure::Recovery,
        "lost" => RequiredFigure::Lost,
        _ => {
            // p99.9 ends as no other does.
            let mut statistics = Statistic::ALL.iter().rev().copied();
            let (statistic, path) = statistics
                .find_map(|statistic| Some((statistic, lower.strip_suffix(statistic.name())?)))
                .ok_or_else(unknown)?;
            let path = &text[..path.len()];
            let path = match path.strip_suffix('.') {
                Some(path) if !path.is_empty() => path,
                None if path.is_empty() => path,
                _ => return Err(unknown()),
            };
            let (kind, is_server) = match path.strip_suffix("server") {
                Some("") => ("", true),
                Some(kind) if kind.ends_with('.') => (kind.trim_end_matches('.'), true),
                _ => (path, false),
            };
            RequiredFigure::Time {
                kind: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
                is_server,
                statistic,
            }
        }
    })
}

fn parse_limit(figure: &RequiredFigure, text: &str) -> Result<RequiredLimit, String> {
    let (parsed, expected) = match figure {
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
        _ => {
            if let Some((share, label)) = text.split_once(" of ") {
                let label = label.trim();
                let share =
                    percentage(share.trim()).filter(|share| *share > 0.0 && !label.is_empty());
                let share = share.ok_or("must compare in the form `97% of LABEL`")?;
                return Ok(RequiredLimit::Of {
                    share,
                    label: label.to_owned(),
                });
            }
            if let RequiredFigure::Time { .. } = figure {
                (
                    nanoseconds(text).map(RequiredLimit::Time),
                    "a time such as 20ms, or `110% of LABEL`",
                )
            } else {
                let expected = match figure {
                    RequiredFigure::Metric(_) => {
                        "a number such as 300000 or 300000/min, or `97% of LABEL`,"
                    }
                    _ => "a number such as 5000 or 5000/s, or `97% of LABEL`,",
                };
                (rate(figure, text), expected)
            }
        }
    };
    parsed.ok_or_else(|| format!("must have {expected} as the limit of {figure}"))
}

/// A rate in the unit of its figure.
fn rate(figure: &RequiredFigure, text: &str) -> Option<RequiredLimit> {
    let is_metric = matches!(figure, RequiredFigure::Metric(_));
    // tps are transactions of all kinds, of which a metric counts some.
    let units = if is_metric {
        &[("/s", 60.0, 1.0), ("/min", 1.0, 1.0), ("", 1.0, 1.0)][..]
    } else {
        &[
            ("/s", 1.0, 1.0),
            ("/min", 1.0, 60.0),
            ("tps", 1.0, 1.0),
            ("", 1.0, 1.0),
        ]
    };
    let mut units = units.iter();
    let (unit, times, per) = units.find(|(unit, ..)| text.ends_with(unit))?;
    let number = finite(text.strip_suffix(unit)?.trim_end())? * times / per;
    Some(if is_metric {
        RequiredLimit::PerMinute(number)
    } else {
        RequiredLimit::PerSecond(number)
    })
}

/// A number that is not negative.
fn finite(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && !number.is_sign_negative()).then_some(number)
}

/// The share in `3%` or `3 %`.
fn percentage(text: &str) -> Option<f64> {
    finite(text.strip_suffix('%')?.trim_end()).map(|percent| percent / 100.0)
}

/// A time such as `1.5ms` or `1h30m`.
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
    let (mut rest, mut total, mut last) = (text, 0.0, f64::INFINITY);
    loop {
        let unit_start = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(unit_start);
        let unit_end = after.find(|c: char| c.is_ascii_digit());
        let (unit, after) = after.split_at(unit_end.unwrap_or(after.len()));
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        if *length >= last {
            return None;
        }
        total += finite(number)? * length;
        if after.is_empty() {
            // Whole nanoseconds, so that the text of a time reads as the same time.
            return Some(total.round());
        }
        (rest, last) = (after, *length);
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
