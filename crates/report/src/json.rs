//! The Run document as JSON, for programs.
//!
//! In: a Run. Out: its JSON, with a line break at the end; for [`write_shown`] with figures that are computed from
//! the document. Must never: omit a field.

use prony_judge::percentile_intervals::{PercentileInterval, percentile_intervals};
use prony_store::Run;
use serde::Serialize;
use std::io::{self, Write};

/// A document with the figures that are computed when it is shown.
#[derive(Serialize)]
struct ShownRun<'a> {
    #[serde(flatten)]
    run: &'a Run,
    /// 95 % intervals of the percentiles of the response time of committed transactions, over all kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    response_intervals: Vec<PercentileInterval>,
}

/// Writes the document with the confidence intervals of its percentiles, which are not stored.
pub fn write_shown(out: &mut dyn Write, run: &Run) -> io::Result<()> {
    let shown = ShownRun {
        run,
        response_intervals: percentile_intervals(run),
    };
    write_pretty(out, &shown)
}

pub fn write_pretty(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

/// Writes the document as one line of JSON, for a stream of documents.
pub fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use crate::sample_run;

    #[test]
    fn a_written_run_is_parsed_to_an_equal_run() {
        let run = sample_run::closed();
        let mut out = Vec::new();
        super::write_pretty(&mut out, &run).unwrap();
        let parsed: prony_store::Run = serde_json::from_slice(&out).unwrap();
        assert_eq!(parsed, run);
        assert_eq!(out.last(), Some(&b'\n'));
        out.clear();
        super::write_line(&mut out, &run).unwrap();
        assert_eq!(out.iter().filter(|&&byte| byte == b'\n').count(), 1);
        assert_eq!(
            serde_json::from_slice::<prony_store::Run>(&out).unwrap(),
            run
        );
    }
}
