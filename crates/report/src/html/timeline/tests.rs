//! Tests of charts over time.

use super::*;
use prony_assertions::TextAssertions;

/// A timeline of points at the full seconds.
fn timeline(points: u32, end_s: f64) -> Timeline<'static> {
    let span = |at: u32| Span {
        start_s: f64::from(at),
        length_s: 0.0,
    };
    Timeline {
        id_suffix: "1".into(),
        table_id: "t1".into(),
        spans: (0..points).map(span).collect(),
        marks: &[],
        warmup_s: 1.0,
        end_s,
    }
}

fn chart(values: Vec<Option<f64>>, axis: fn(fn(f64) -> String) -> Axis) -> String {
    let timeline = timeline(values.len() as u32, 4.0);
    let lines = vec![ChartLine::new("p99 <b>", values)];
    let mut out = Html::default();
    let axis = axis(units::time);
    timeline.draw(&mut out, "c", "Times", lines, axis).unwrap();
    out.into_string()
}

#[test]
fn a_line_is_interrupted_at_unknown_values() {
    let x = Scale::time(4.0, 0.0, 400.0);
    let y = Scale::from_zero(10.0, 100.0, 0.0);
    let values = [Some(0.0), Some(5.0), None, Some(10.0), Some(f64::NAN)];
    let timeline = timeline(5, 4.0);
    let d = timeline.interrupted_path(&values, &x, &y);
    assert_eq!(d, "M0.0 100.0h0L100.0 50.0M300.0 0.0h0");
    assert_eq!(timeline.interrupted_path(&[None], &x, &y), "");
}

#[test]
fn a_chart_has_title_description_legend_and_escaped_names() {
    let text = chart(
        vec![Some(1e6), Some(2e6), None, Some(3e6)],
        Axis::LinearOrLogarithmic,
    );
    text.assert_contains("<title>Times</title>");
    text.assert_contains("p99 &lt;b&gt;: 1.00 ms to 3.00 ms");
    text.assert_lacks("<b>");
    text.assert_contains("class=\"line l0\"");
    text.assert_lacks("logarithmic");
    text.assert_lacks("NaN").assert_lacks("inf");
}

#[test]
fn the_warm_up_label_avoids_the_lines() {
    // Levels at 10 and 206, and a line from 20 to 60: the label goes below that line.
    assert_eq!(
        free_baseline(&[[10.0; 2], [206.0; 2]], &Plot::STANDARD),
        24.0
    );
    assert_eq!(
        free_baseline(&[[10.0; 2], [60.0, 20.0], [206.0; 2]], &Plot::STANDARD),
        74.0
    );
    assert_eq!(
        free_baseline(&[[0.0, 300.0]], &Plot::STANDARD),
        24.0,
        "the label fits nowhere"
    );
    let text = chart(
        vec![Some(3e6), Some(2.9e6), Some(2e6), Some(1e6)],
        Axis::Linear,
    );
    let label_index = text.find(">warm-up<").unwrap();
    assert!(
        text.find("class=\"line l0\" d").unwrap() < label_index,
        "over the lines"
    );
    let (_, y) = text[..label_index].rsplit_once("y=\"").unwrap();
    let baseline: f64 = y.trim_end_matches('"').parse().unwrap();
    assert!(
        baseline > 24.0,
        "below the line, which begins at the top: {baseline}"
    );
}

#[test]
fn a_wide_range_has_a_logarithmic_axis_and_a_chart_without_values_has_no_plot() {
    let wide = chart(vec![Some(1e5), Some(9e8)], Axis::LinearOrLogarithmic);
    wide.assert_contains("logarithmic axis");
    let none = chart(vec![None, None], Axis::Linear);
    assert_eq!(none, "<p class=\"absent\">Times: not known.</p>\n");
}

#[test]
fn long_runs_are_labelled_in_minutes_and_hours() {
    assert_eq!(timeline(1, 28.0).time_label(25.0), "25 s");
    assert_eq!(timeline(1, 600.0).time_label(125.0), "2:05");
    assert_eq!(timeline(1, 7_200.0).time_label(3_725.0), "1:02:05");
}

#[test]
fn an_area_has_no_part_where_a_value_or_the_line_below_is_unknown() {
    let lines = vec![
        ChartLine::new("a", [Some(1.0), Some(1.0), None, Some(1.0), Some(1.0)]),
        // A line with too few values is unknown at the end.
        ChartLine::new("b", [Some(2.0); 4]),
    ];
    let mut out = Html::default();
    let axis = Axis::Stacked(units::time);
    timeline(5, 4.0)
        .draw(&mut out, "c", "Times", lines, axis)
        .unwrap();
    let area = |class: &str| {
        out.split(class)
            .nth(1)
            .unwrap()
            .split("/>")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(area("area a0\"").matches('Z').count(), 2, "{out}");
    assert_eq!(area("area a1\"").matches('Z').count(), 1, "{out}");
}
