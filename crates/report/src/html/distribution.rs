//! The distribution of response times.
//!
//! In: the stored histogram of all kinds. Out: bars over a logarithmic time axis, and the stored percentiles
//! in the chart and in a table. Must never: recompute a percentile.

use super::drawing::Drawing;
use super::figure::{Figure, Plot};
use super::scale::Scale;
use super::table::write_table;
use super::write_absent;
use crate::html::markup::{Html, writeln_markup};
use crate::text::latency::{
    FROM_SCHEDULE, FROM_START, RESPONSE, SPLIT, intervals_text, latency_table, names_and_latencies,
};
use crate::text::plain;
use crate::units;
use prony_store::{KindFigures, Latency, Run};
use std::fmt;

/// The plot has room for the names of the percentiles above it.
const PLOT: Plot = Plot {
    top: 40.0,
    bottom: 196.0,
    ..Plot::STANDARD
};
/// Number of bars over the whole width.
const BAR_COUNT: usize = 56;

/// Writes the table of percentiles, and a bar chart of the response times of all kinds.
pub fn write(out: &mut Html, run: &Run, number: usize) -> fmt::Result {
    write_tables(out, run)?;
    let Some(all_kinds) = run.measured.kinds.first() else {
        return Ok(());
    };
    match histogram_bars(&all_kinds.response) {
        Ok(bars) => draw_histogram(out, number, &bars, &all_kinds.response),
        Err(error) => write_absent(out, "No distribution", &error),
    }
}

/// All kinds together, and each of them if there are several: the figures of a single kind equal the total.
pub fn kinds(run: &Run) -> &[KindFigures] {
    match run.measured.kinds.as_slice() {
        [all, _] => std::slice::from_ref(all),
        kinds => kinds,
    }
}

/// Writes the tables of percentiles.
pub fn write_tables(out: &mut Html, run: &Run) -> fmt::Result {
    let kinds = kinds(run);
    let is_open_loop = run.drive.open_loop;
    let caption = if is_open_loop { FROM_SCHEDULE } else { RESPONSE };
    write_percentiles(out, caption, kinds, |kind| &kind.response)?;
    if let Some(text) = intervals_text(run) {
        writeln_markup!(out, "<p class=\"small\">{}</p>", text)?;
    }
    if is_open_loop {
        write_percentiles(out, FROM_START, kinds, |kind| &kind.service)?;
    }
    let Some(all_kinds) = kinds.first() else {
        return Ok(());
    };
    if let Some(parts) = &all_kinds.parts {
        write_table(
            out,
            SPLIT,
            &latency_table("part", names_and_latencies(parts)),
        )?;
    }
    Ok(())
}

/// Writes the table of percentiles of one type of time.
fn write_percentiles(
    out: &mut Html,
    caption: &str,
    kinds: &[KindFigures],
    latency: fn(&KindFigures) -> &Latency,
) -> fmt::Result {
    let named = kinds.iter().map(|kind| (plain(kind.name()), latency(kind)));
    write_table(out, caption, &latency_table("kind", named))?;
    if kinds.iter().any(|kind| latency(kind).p999_ns.is_none()) {
        let reason = "too few transactions for this percentile, or not reported";
        writeln_markup!(out, "<p class=\"small\">– {}.</p>", reason)?;
    }
    Ok(())
}

/// Bars over the times from `low_ns` to `high_ns`, equally wide on a logarithmic axis.
#[derive(Clone, Debug, PartialEq)]
struct HistogramBars {
    low_ns: f64,
    high_ns: f64,
    counts: Vec<u64>,
}

/// Groups the histogram of a latency into bars. Fails if there is no histogram, or if it is empty or
/// malformed.
fn histogram_bars(latency: &Latency) -> Result<HistogramBars, String> {
    if latency.histogram.is_empty() {
        return Err("the document contains no histogram".to_owned());
    }
    let times = latency.recorded_times()?;
    // The axis is logarithmic, and has no zero.
    let values_with_counts = || times.counts().map(|(value, count)| (value.max(1), count));
    let low_ns = values_with_counts().next().map(|(value, _)| value as f64);
    let low_ns = low_ns.ok_or("the histogram is empty")?;
    let high_ns = times.max_ns().max(1) as f64;
    // Leave a margin around a single value.
    let (low_ns, high_ns) = (low_ns / 1.05, high_ns * 1.05);
    let mut counts = vec![0_u64; BAR_COUNT];
    let width = (high_ns / low_ns).ln();
    for (value, count) in values_with_counts() {
        let share = (value as f64 / low_ns).ln() / width;
        let bar = ((share * BAR_COUNT as f64) as usize).min(BAR_COUNT - 1);
        counts[bar] = counts[bar].saturating_add(count);
    }
    Ok(HistogramBars {
        low_ns,
        high_ns,
        counts,
    })
}

fn draw_histogram(
    out: &mut Html,
    number: usize,
    bars: &HistogramBars,
    latency: &Latency,
) -> fmt::Result {
    let max = bars.counts.iter().copied().max().unwrap_or(0) as f64;
    let total: f64 = bars.counts.iter().map(|count| *count as f64).sum();
    let total = total.max(1.0);
    // The axis ends at the bars, not at round values.
    let x = Scale::between(bars.low_ns, bars.high_ns, PLOT.left, PLOT.right);
    let y = Scale::from_zero(max / total, PLOT.bottom, PLOT.top);
    let mut drawing = Drawing::default();
    PLOT.draw_grid(&mut drawing, &y, units::percent)?;
    let width = (PLOT.right - PLOT.left) / BAR_COUNT as f64;
    for (bar, count) in bars.counts.iter().enumerate() {
        if *count == 0 {
            continue;
        }
        // Keep a bar of few transactions visible.
        let top = y.position(*count as f64 / total).min(PLOT.bottom - 1.0);
        let left = PLOT.left + bar as f64 * width;
        drawing.rectangle("bar", [left, top, width - 1.0, PLOT.bottom - top])?;
    }
    for ns in &x.ticks {
        PLOT.draw_tick(&mut drawing, x.position(*ns), &units::time(*ns))?;
    }
    let percentiles = [
        ("p50", latency.p50_ns),
        ("p95", latency.p95_ns),
        ("p99", latency.p99_ns),
    ];
    for (row, (name, ns)) in percentiles.into_iter().enumerate() {
        let Some(ns) = ns else { continue };
        let at = x.position(ns as f64);
        PLOT.draw_vertical_line(&mut drawing, "percentile", at)?;
        // The names are in rows above the plot, that of the lowest percentile at the top.
        let baseline = PLOT.top - 4.0 - 11.0 * (2 - row) as f64;
        drawing.text("x", at, baseline, name)?;
    }
    let [min, max] = [latency.min_ns, latency.max_ns].map(|ns| units::time(ns as f64));
    let figure = Figure {
        id: &format!("bars-{number}"),
        title: "Distribution of the response time, all kinds",
        axis_note: ", logarithmic axis",
        description: format!(
            "From {min} to {max}, in {BAR_COUNT} bars; the percentiles are in the table."
        ),
        height: Plot::STANDARD_HEIGHT,
        ..Figure::default()
    };
    figure.write(out, &drawing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{closed, latency_of};
    use prony_assertions::TextAssertions;

    #[test]
    fn a_latency_without_a_histogram_has_no_bars() {
        let error = histogram_bars(&Latency::default()).unwrap_err();
        error.assert_contains("no histogram");
    }

    #[test]
    fn every_sample_is_in_the_right_bar() {
        let counts = |times_ns: &[u64]| {
            let latency = latency_of(times_ns.iter().map(|time_ns| (*time_ns, 1)));
            histogram_bars(&latency).unwrap().counts
        };
        let three_values = counts(&[1_000, 1_000, 30_000, 1_000_000]);
        assert_eq!(three_values.iter().sum::<u64>(), 4);
        assert_eq!((three_values[0], three_values[BAR_COUNT - 1]), (2, 1));
        let middle = BAR_COUNT / 2;
        assert_eq!(three_values[middle - 3..middle + 3].iter().sum::<u64>(), 1);
        assert_eq!(counts(&[0]).iter().sum::<u64>(), 1);
    }

    #[test]
    fn an_invalid_histogram_is_reported_and_the_table_is_written() {
        let mut run = closed();
        run.measured.kinds[0].response.histogram = "<script>".into();
        let mut out = Html::default();
        write(&mut out, &run, 1).unwrap();
        out.assert_contains("No distribution: a histogram is not base64");
        out.assert_contains("<th scope=\"row\">client wait</th>");
        out.assert_lacks("<script>");
    }
}
