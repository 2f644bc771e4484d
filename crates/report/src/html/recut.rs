//! The control that cuts the warm-up of a run elsewhere, in the browser.
//!
//! In: a Run with histograms over time. Out: a slider, which stays hidden without the page's script (`recut.js`):
//! the script adds up the seconds of the embedded document from another start, and labels the figures as
//! re-cut. Must never: change a figure of the page, or be mistaken for a judged one.

use crate::html::markup::{Html, write_markup};
use prony_store::Run;
use std::fmt;

/// Writes the control; nothing if the document has too few histograms. `number` is that of the run in the page.
pub fn write(out: &mut Html, run: &Run, number: usize) -> fmt::Result {
    let Some(latest_s) = latest_start_s(run) else {
        return Ok(());
    };
    let warmup_s = run.window.warmup_s.round();
    write_markup!(
        out,
        "<div class=\"recut\" data-run=\"{index}\" hidden><p><label for=\"recut-{number}\">Another warm-up</label> \
         <input type=\"range\" id=\"recut-{number}\" min=\"0\" max=\"{latest}\" step=\"1\" value=\"{warmup}\"> \
         <output for=\"recut-{number}\">{warmup} s</output></p>\
         <p><output for=\"recut-{number}\"></output></p>\
         <p class=\"small\">Figures from the seconds and histograms of the document, with two digits. The verdict, the \
         checks and all other figures of this page are those of the warm-up of {warmup} s.</p></div>\n",
        index = number - 1,
        number = number,
        latest = latest_s,
        warmup = warmup_s
    )
}

/// The start of the last interval, whole seconds: with a longer warm-up nothing would be left.
fn latest_start_s(run: &Run) -> Option<f64> {
    let rows = &run.histograms.as_ref()?.rows;
    let (_, rows_before_last) = rows.split_last()?;
    let first_of_last: usize = rows_before_last.iter().map(|count| *count as usize).sum();
    let start_s = run.series.get(first_of_last)?.at_s.floor();
    (start_s >= 1.0).then_some(start_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{closed, with_part_histograms};
    use prony_assertions::TextAssertions;

    #[test]
    fn the_control_is_hidden_until_the_script_runs() {
        let mut out = Html::default();
        write(&mut out, &with_part_histograms(), 2).unwrap();
        out.assert_starts_with("<div class=\"recut\" data-run=\"1\" hidden>");
        out.assert_contains("max=\"4\" step=\"1\" value=\"1\"");
    }

    #[test]
    fn a_run_without_histograms_has_no_control() {
        let mut out = Html::default();
        write(&mut out, &closed(), 1).unwrap();
        let mut run = with_part_histograms();
        run.histograms.as_mut().unwrap().rows = vec![9, 9];
        write(&mut out, &run, 1).unwrap();
        assert_eq!(out, "");
    }
}
