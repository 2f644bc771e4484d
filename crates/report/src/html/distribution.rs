//! The distribution of response times.
//!
//! In: the stored histogram of all kinds. Out: bars over a logarithmic time axis, and the stored percentiles
//! in the chart and in a table. Must never: recompute a percentile.

use super::chart::{PLOT_LEFT, PLOT_RIGHT, SCROLL_HINT, draw_grid, draw_tick};
use super::escape::EscapedName;
use super::scale::Scale;
use super::table::{end_table, start_table, write_row};
use crate::html::markup::{Html, write_markup, writeln_markup};
use crate::terminal::latency::{
    FROM_SCHEDULE, FROM_START, RESPONSE, SPLIT, cells, intervals_text, names_and_latencies,
    title_row,
};
use crate::units;
use prony_store::{KindFigures, Latency, Run, decode_histogram};
use std::fmt;

const PLOT_TOP: f64 = 40.0;
const PLOT_BOTTOM: f64 = 196.0;
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
        Err(error) => writeln_markup!(out, "<p class=\"absent\">No distribution: {}.</p>", error),
    }
}

/// Writes the tables of percentiles.
pub fn write_tables(out: &mut Html, run: &Run) -> fmt::Result {
    let kinds = &run.measured.kinds;
    // With a single kind, its figures equal the total.
    let kinds = match kinds.len() {
        2 => &kinds[..1],
        _ => &kinds[..],
    };
    let is_open_loop = run.drive.open_loop;
    let caption = if is_open_loop {
        FROM_SCHEDULE
    } else {
        RESPONSE
    };
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
        start_table(out, SPLIT, &title_row("part"))?;
        for (name, latency) in names_and_latencies(parts) {
            write_row(out, name, &cells(latency))?;
        }
        end_table(out)?;
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
    start_table(out, caption, &title_row("kind"))?;
    for kind in kinds {
        write_row(out, EscapedName(kind.name()), &cells(latency(kind)))?;
    }
    end_table(out)?;
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

impl HistogramBars {
    fn contains(&self, ns: f64) -> bool {
        (self.low_ns..=self.high_ns).contains(&ns)
    }

    /// The x position of a time. The axis ends at the bars, not at round values.
    fn position(&self, ns: f64) -> f64 {
        let share = (ns / self.low_ns).ln() / (self.high_ns / self.low_ns).ln();
        PLOT_LEFT + share.clamp(0.0, 1.0) * (PLOT_RIGHT - PLOT_LEFT)
    }
}

/// Groups the histogram of a latency into bars. Fails if there is no histogram, or if it is empty or
/// malformed.
fn histogram_bars(latency: &Latency) -> Result<HistogramBars, String> {
    if latency.histogram.is_empty() {
        return Err("the document contains no histogram".to_owned());
    }
    let histogram = decode_histogram::<u64>(&latency.histogram)?;
    let values_with_counts = || {
        let steps = histogram.iter_recorded();
        steps.map(|step| (step.value_iterated_to().max(1), step.count_at_value()))
    };
    let low_ns = values_with_counts().next().map(|(value, _)| value as f64);
    let low_ns = low_ns.ok_or("the histogram is empty")?;
    let high_ns = values_with_counts()
        .last()
        .map_or(low_ns, |(value, _)| value as f64);
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
    let y = Scale::from_zero(max / total, PLOT_BOTTOM, PLOT_TOP);
    let title = "Distribution of the response time, all kinds";
    writeln_markup!(
        out,
        "<figure><figcaption id=\"bars-{0}-t\">{1}, logarithmic axis</figcaption>\
         {2}<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"bars-{0}-t\">\
         <svg viewBox=\"0 0 760 232\" role=\"img\" aria-labelledby=\"bars-{0}-t bars-{0}-d\">\
         <title>{1}</title><desc id=\"bars-{0}-d\">From {3} to {4}, in {5} bars; the \
         percentiles are in the table.</desc>",
        number,
        title,
        SCROLL_HINT,
        units::time(latency.min_ns as f64),
        units::time(latency.max_ns as f64),
        BAR_COUNT
    )?;
    draw_grid(out, &y, units::percent)?;
    let width = (PLOT_RIGHT - PLOT_LEFT) / BAR_COUNT as f64;
    let bars_by_number = bars.counts.iter().enumerate();
    for (number, count) in bars_by_number.filter(|(_, count)| **count > 0) {
        // Keep a bar of few transactions visible.
        let top = y.position(*count as f64 / total).min(PLOT_BOTTOM - 1.0);
        let left = PLOT_LEFT + number as f64 * width;
        write_markup!(
            out,
            "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            left,
            top,
            width - 1.0,
            PLOT_BOTTOM - top
        )?;
    }
    let ticks = Scale::logarithmic(bars.low_ns, bars.high_ns, PLOT_LEFT, PLOT_RIGHT).ticks;
    for ns in ticks.into_iter().filter(|ns| bars.contains(*ns)) {
        draw_tick(out, bars.position(ns), PLOT_BOTTOM, &units::time(ns))?;
    }
    let percentiles = [
        ("p50", latency.p50_ns),
        ("p95", latency.p95_ns),
        ("p99", latency.p99_ns),
    ];
    for (row, (name, ns)) in percentiles.into_iter().enumerate() {
        let Some(ns) = ns else { continue };
        let (x, label_y) = (
            bars.position(ns as f64),
            PLOT_TOP - 4.0 - 11.0 * (2 - row) as f64,
        );
        write_markup!(
            out,
            "<line class=\"percentile\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{plot_top}\" y2=\"{plot_bottom}\"/>\
             <text class=\"x\" x=\"{x:.1}\" y=\"{label_y:.1}\">{name}</text>",
            x = x,
            plot_top = PLOT_TOP,
            plot_bottom = PLOT_BOTTOM,
            label_y = label_y,
            name = name
        )?;
    }
    out.push_str("</svg></div></figure>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_store::encode_histogram;

    fn latency_with_histogram_of(values: &[u64]) -> Latency {
        Latency {
            histogram: histogram(values),
            samples: values.len() as u64,
            ..Latency::default()
        }
    }

    /// Encodes a histogram of these values with the bounds that a run uses.
    fn histogram(values: &[u64]) -> String {
        let mut histogram =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3);
        let histogram = histogram.as_mut().unwrap();
        values
            .iter()
            .for_each(|value| histogram.record(*value).unwrap());
        encode_histogram(histogram)
    }

    #[test]
    fn a_latency_without_a_histogram_has_no_bars() {
        let error = histogram_bars(&Latency::default()).unwrap_err();
        assert!(error.contains("no histogram"), "{error}");
    }

    #[test]
    fn every_sample_is_in_the_right_bar() {
        let three_values = histogram_bars(&latency_with_histogram_of(&[
            1_000, 1_000, 30_000, 1_000_000,
        ]))
        .unwrap();
        assert_eq!(three_values.counts.iter().sum::<u64>(), 4);
        assert_eq!(three_values.counts[0], 2);
        assert_eq!(three_values.counts[BAR_COUNT - 1], 1);
        assert_eq!(
            three_values.counts[BAR_COUNT / 2 - 3..BAR_COUNT / 2 + 3]
                .iter()
                .sum::<u64>(),
            1
        );
        let one_value = histogram_bars(&latency_with_histogram_of(&[0])).unwrap();
        assert_eq!(one_value.counts.iter().sum::<u64>(), 1);
    }

    #[test]
    fn an_invalid_histogram_is_reported_and_the_table_is_written() {
        let mut run = closed();
        run.measured.kinds[0].response.histogram = "<script>".into();
        let mut out = Html::default();
        write(&mut out, &run, 1).unwrap();
        assert!(
            out.contains("No distribution: a histogram is not base64"),
            "{out}"
        );
        assert!(out.contains("<th scope=\"row\">client wait</th>"), "{out}");
        assert!(!out.contains("<script>"), "{out}");
    }
}
