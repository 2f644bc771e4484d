//! Tests of charts over time.

use super::*;

fn chart(values: Vec<Option<f64>>, axis: Axis) -> String {
    let times_s: Vec<f64> = (0..values.len()).map(|n| n as f64).collect();
    let name = "p99 <b>".to_owned();
    let chart = Chart {
        id: "c1".into(),
        title: "Times",
        times_s: &times_s,
        lines: vec![ChartLine { name, values }],
        format_value: crate::units::time,
        axis,
        marks: &[],
        warmup_s: 1.0,
        end_s: 4.0,
        table_id: "t1".into(),
    };
    let mut out = Html::default();
    chart.draw(&mut out).unwrap();
    out.into_string()
}

#[test]
fn a_line_is_interrupted_at_unknown_values() {
    let (x, y) = (
        Scale::time(4.0, 0.0, 400.0),
        Scale::from_zero(10.0, 100.0, 0.0),
    );
    let values = [Some(0.0), Some(5.0), None, Some(10.0), Some(f64::NAN)];
    let d = path_data(&[0.0, 1.0, 2.0, 3.0, 4.0], &values, &x, &y);
    assert_eq!(d, "M0.0 100.0h0L100.0 50.0M300.0 0.0h0");
    assert_eq!(path_data(&[0.0], &[None], &x, &y), "");
}

#[test]
fn a_chart_has_title_description_legend_and_escaped_names() {
    let text = chart(
        vec![Some(1e6), Some(2e6), None, Some(3e6)],
        Axis::LinearOrLogarithmic,
    );
    assert!(text.contains("<title>Times</title>"), "{text}");
    assert!(text.contains("p99 &lt;b&gt;: 1.00 ms to 3.00 ms"), "{text}");
    assert!(!text.contains("<b>"), "{text}");
    assert!(text.contains("class=\"line l0\""), "{text}");
    assert!(!text.contains("logarithmic"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn the_warm_up_label_avoids_the_lines() {
    // Levels at 10 and 206, and a line from 20 to 60: the label goes below that line.
    assert_eq!(free_baseline(&[[10.0; 2], [206.0; 2]], 10.0), 24.0);
    assert_eq!(
        free_baseline(&[[10.0; 2], [60.0, 20.0], [206.0; 2]], 10.0),
        74.0
    );
    assert_eq!(
        free_baseline(&[[0.0, 300.0]], 10.0),
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
    assert!(wide.contains("logarithmic axis"), "{wide}");
    let none = chart(vec![None, None], Axis::Linear);
    assert_eq!(none, "<p class=\"absent\">Times: not known.</p>\n");
}

#[test]
fn no_two_lines_have_the_same_dashes() {
    let dashes: std::collections::BTreeSet<String> = (5..200)
        .map(|number| {
            stroke_attributes(number)
                .split_once(" stroke")
                .unwrap()
                .1
                .to_owned()
        })
        .collect();
    assert_eq!(dashes.len(), 195);
    assert_eq!(stroke_attributes(4), "class=\"line l4\"");
}

#[test]
fn long_runs_are_labelled_in_minutes_and_hours() {
    assert_eq!(time_label(25.0, 28.0), "25 s");
    assert_eq!(time_label(125.0, 600.0), "2:05");
    assert_eq!(time_label(3_725.0, 7_200.0), "1:02:05");
}
