//! How the response times are distributed.
//!
//! In: the stored histogram of all kinds. Out: bars over a logarithmic axis of time, with the
//! percentiles that the document holds, and a table. Must never: compute a percentile anew.

use super::escape::Text;
use super::scale::Scale;
use crate::units;
use prony_store::{KindFigures, Latency, Run, decode_histogram};
use std::fmt::{self, Write};

const LEFT: f64 = 70.0;
const RIGHT: f64 = 748.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 196.0;
/// Bars over the whole width.
const BARS: usize = 56;

/// Writes the table of percentiles, and the bars of the response time of all kinds.
pub fn write(out: &mut String, run: &Run, number: usize) -> fmt::Result {
    let kinds = &run.measured.kinds;
    // One kind alone is the same as all of them.
    let kinds = match kinds.len() {
        2 => &kinds[..1],
        _ => &kinds[..],
    };
    let open = run.drive.pace == "rate";
    let from = match open {
        true => "Response time of committed transactions, from the scheduled start",
        false => "Response time of committed transactions",
    };
    percentiles(out, from, kinds, |kind| Some(&kind.response))?;
    if open {
        let from = "Service time of committed transactions, from the real start";
        percentiles(out, from, kinds, |kind| Some(&kind.service))?;
    }
    if let Some(all) = kinds.first().filter(|all| all.split.is_some()) {
        split(out, all)?;
    }
    let Some(all) = kinds.first() else {
        return Ok(());
    };
    match bars(&all.response) {
        Ok(bars) => draw(out, number, &bars, &all.response),
        Err(why) => writeln!(
            out,
            "<p class=\"absent\">No distribution: {}.</p>",
            Text(why)
        ),
    }
}

const TIMES: [&str; 7] = ["p50", "p90", "p95", "p99", "p99.9", "max", "mean"];

fn cells(of: &Latency) -> [String; 7] {
    let exact = |ns: Option<u64>| ns.map_or("–".into(), |ns| units::time(ns as f64));
    [
        exact(of.p50_ns),
        exact(of.p90_ns),
        exact(of.p95_ns),
        exact(of.p99_ns),
        exact(of.p999_ns),
        exact((of.max_ns > 0).then_some(of.max_ns)),
        match of.samples {
            0 => "–".into(),
            _ => units::time(of.mean_ns),
        },
    ]
}

fn head(out: &mut String, caption: &str, first: &str) -> fmt::Result {
    write!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table>\
         <caption>{0}</caption><thead><tr><th scope=\"col\">{first}</th>",
        Text(caption)
    )?;
    for name in TIMES {
        write!(out, "<th scope=\"col\">{name}</th>")?;
    }
    out.push_str("</tr></thead><tbody>\n");
    Ok(())
}

fn line(out: &mut String, name: &str, of: &Latency) -> fmt::Result {
    write!(out, "<tr><th scope=\"row\">{}</th>", Text(name))?;
    for cell in cells(of) {
        write!(out, "<td>{cell}</td>")?;
    }
    out.push_str("</tr>\n");
    Ok(())
}

fn percentiles(
    out: &mut String,
    caption: &str,
    kinds: &[KindFigures],
    of: fn(&KindFigures) -> Option<&Latency>,
) -> fmt::Result {
    head(out, caption, "kind")?;
    for kind in kinds {
        if let Some(latency) = of(kind) {
            line(out, &kind.kind, latency)?;
        }
    }
    out.push_str("</tbody></table></div>\n");
    if kinds
        .iter()
        .filter_map(of)
        .any(|latency| latency.p999_ns.is_none())
    {
        out.push_str(
            "<p class=\"small\">– too few transactions for this percentile, or not told.</p>\n",
        );
    }
    Ok(())
}

fn split(out: &mut String, all: &KindFigures) -> fmt::Result {
    let Some(split) = &all.split else {
        return Ok(());
    };
    head(out, "Where the service time went", "part")?;
    line(out, "send wait", &split.send_wait)?;
    line(out, "server", &split.server)?;
    line(out, "client wait", &split.client_wait)?;
    out.push_str("</tbody></table></div>\n");
    Ok(())
}

/// Bars over the times from `low_ns` to `high_ns`, all of one width on an axis by powers.
#[derive(Clone, Debug, PartialEq)]
struct Bars {
    low_ns: f64,
    high_ns: f64,
    counts: Vec<u64>,
}

fn bars(of: &Latency) -> Result<Bars, String> {
    if of.histogram.is_empty() {
        return Err("the document holds no histogram".to_owned());
    }
    let histogram = decode_histogram::<u64>(&of.histogram)?;
    let recorded = || {
        let each = histogram.iter_recorded();
        each.map(|step| (step.value_iterated_to().max(1), step.count_at_value()))
    };
    let low_ns = recorded().next().map(|(value, _)| value as f64);
    let low_ns = low_ns.ok_or("the histogram is empty")?;
    let high_ns = recorded().last().map_or(low_ns, |(value, _)| value as f64);
    // A single value gets a little room.
    let (low_ns, high_ns) = (low_ns / 1.05, high_ns * 1.05);
    let mut counts = vec![0_u64; BARS];
    let width = (high_ns / low_ns).ln();
    for (value, count) in recorded() {
        let share = (value as f64 / low_ns).ln() / width;
        let place = ((share * BARS as f64) as usize).min(BARS - 1);
        counts[place] = counts[place].saturating_add(count);
    }
    Ok(Bars {
        low_ns,
        high_ns,
        counts,
    })
}

fn draw(out: &mut String, number: usize, bars: &Bars, of: &Latency) -> fmt::Result {
    let most = bars.counts.iter().copied().max().unwrap_or(0) as f64;
    let sum = bars
        .counts
        .iter()
        .map(|count| *count as f64)
        .sum::<f64>()
        .max(1.0);
    let y = Scale::from_zero(most / sum, BOTTOM, TOP);
    let title = "Distribution of the response time, all kinds";
    write!(
        out,
        "<figure><figcaption id=\"bars-{number}-t\">{title}, axis by powers of ten</figcaption>\
         <div class=\"plot\" tabindex=\"0\" role=\"group\" aria-labelledby=\"bars-{number}-t\">\
         <svg viewBox=\"0 0 760 232\" role=\"img\" aria-labelledby=\"bars-{number}-t bars-{number}-d\">\
         <title>{title}</title><desc id=\"bars-{number}-d\">From {} to {}, in {BARS} bars; the \
         percentiles are in the table.</desc>\n",
        units::time(of.min_ns as f64),
        units::time(of.max_ns as f64),
    )?;
    for tick in &y.ticks {
        let at = y.at(*tick);
        write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            at + 4.0,
            units::percent(*tick)
        )?;
    }
    // Its ends are those of the bars, not round values.
    let place = |ns: f64| {
        let share = (ns / bars.low_ns).ln() / (bars.high_ns / bars.low_ns).ln();
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    };
    let width = (RIGHT - LEFT) / BARS as f64;
    for (number, count) in bars
        .counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
    {
        // A bar of few transactions is still to be seen.
        let top = y.at(*count as f64 / sum).min(BOTTOM - 1.0);
        let from = LEFT + number as f64 * width;
        write!(
            out,
            "<rect class=\"bar\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            width - 1.0,
            BOTTOM - top
        )?;
    }
    for tick in Scale::by_powers(bars.low_ns, bars.high_ns, LEFT, RIGHT).ticks {
        if tick < bars.low_ns || tick > bars.high_ns {
            continue;
        }
        write!(
            out,
            "<line class=\"tick\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{BOTTOM}\" y2=\"{1}\"/>\
             <text class=\"x\" x=\"{0:.1}\" y=\"{2}\">{3}</text>",
            place(tick),
            BOTTOM + 4.0,
            BOTTOM + 18.0,
            units::time(tick),
        )?;
    }
    let marked = [("p50", of.p50_ns), ("p95", of.p95_ns), ("p99", of.p99_ns)];
    for (row, (name, ns)) in marked.into_iter().enumerate() {
        let Some(ns) = ns else { continue };
        let (at, height) = (place(ns as f64), TOP - 4.0 - 11.0 * (2 - row) as f64);
        write!(
            out,
            "<line class=\"percentile\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
             <text class=\"x\" x=\"{at:.1}\" y=\"{height:.1}\">{name}</text>"
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

    fn with(values: &[u64]) -> Latency {
        let empty = bars(&Latency::default());
        assert!(empty.unwrap_err().contains("no histogram"));
        Latency {
            histogram: histogram(values),
            samples: values.len() as u64,
            ..Latency::default()
        }
    }

    /// The text of a histogram of these values, made as a run makes it.
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
    fn every_sample_is_in_a_bar_and_in_the_right_one() {
        let found = bars(&with(&[1_000, 1_000, 30_000, 1_000_000])).unwrap();
        assert_eq!(found.counts.iter().sum::<u64>(), 4);
        assert_eq!(found.counts[0], 2);
        assert_eq!(found.counts[BARS - 1], 1);
        assert_eq!(
            found.counts[BARS / 2 - 3..BARS / 2 + 3].iter().sum::<u64>(),
            1
        );
        let one = bars(&with(&[0])).unwrap();
        assert_eq!(one.counts.iter().sum::<u64>(), 1);
    }

    #[test]
    fn a_broken_histogram_is_told_and_the_table_stays() {
        let mut run = closed();
        run.measured.kinds[0].response.histogram = "<script>".into();
        let mut out = String::new();
        write(&mut out, &run, 1).unwrap();
        assert!(
            out.contains("No distribution: a histogram is not base64"),
            "{out}"
        );
        assert!(out.contains("<th scope=\"row\">client wait</th>"), "{out}");
        assert!(!out.contains("<script>"), "{out}");
    }
}
