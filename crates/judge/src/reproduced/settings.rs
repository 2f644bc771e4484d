//! The server's settings against those of the published benchmark.
//!
//! In: a Run and the published settings. Out: each setting that differs, or that is unknown for this run. Must
//! never: call two spellings of one size a difference.

use super::differences::{Difference, MEMORY_TOLERANCE, UNKNOWN};
use crate::machine::server_memory_bytes;
use prony_store::Run;
use prony_store::scenario::OriginalSetup;
use serde_json::Value;

/// PostgreSQL's units of sizes, in bytes.
const SIZE_UNITS: [(&str, u64); 5] = [
    ("kB", 1 << 10),
    ("MB", 1 << 20),
    ("GB", 1 << 30),
    ("TB", 1 << 40),
    ("B", 1),
];

pub(super) fn setting_differences(run: &Run, original: &OriginalSetup) -> Vec<Difference> {
    let settings = original.setup.settings.iter();
    let differences = settings.filter_map(|(name, published)| {
        let value = run.server.settings.get(name).and_then(Value::as_str);
        let measured = describe_if_different(run, published, value)?;
        Some(Difference {
            what: "setting",
            published: format!("{name} {published}"),
            measured: format!("{name} {measured}"),
        })
    });
    differences.collect()
}

/// This run's `value` of a setting if it differs from the published one; [`UNKNOWN`] if it was not read.
fn describe_if_different(run: &Run, published: &str, value: Option<&str>) -> Option<String> {
    let Some(value) = value else {
        return Some(UNKNOWN.to_owned());
    };
    let Some(share) = memory_share(published) else {
        let is_same = match (size_bytes(published), size_bytes(value)) {
            (Some(published), Some(measured)) => published == measured,
            _ => published == value,
        };
        return (!is_same).then(|| value.to_owned());
    };
    let memory = server_memory_bytes(run).filter(|memory| *memory > 0);
    let (Some(bytes), Some(memory)) = (size_bytes(value), memory) else {
        return Some(format!("{value}, its share of the memory is unknown"));
    };
    let measured = bytes as f64 / memory as f64;
    let is_same = (measured / share - 1.0).abs() <= MEMORY_TOLERANCE;
    (!is_same).then(|| {
        format!(
            "{value}, {} of memory",
            crate::formatting::percent(measured)
        )
    })
}

/// The share in `20% of memory`.
fn memory_share(published: &str) -> Option<f64> {
    let percent = published.strip_suffix("% of memory")?;
    percent.parse().ok().map(|percent: f64| percent / 100.0)
}

/// The bytes of a size as PostgreSQL writes it, such as `32MB`.
fn size_bytes(text: &str) -> Option<u64> {
    let (unit, bytes) = SIZE_UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    number.checked_mul(*bytes)
}
