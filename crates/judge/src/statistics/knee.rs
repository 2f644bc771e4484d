//! The knee of a throughput curve: the point after which more load brings little more throughput.
//!
//! In: points by their load, each with its throughput and the interval of that. Out: the index of the knee, or why
//! there is none. Must never: find a knee in a straight line, or in the scatter of the runs.
//!
//! The knee is the point that lies furthest above the straight line from the first point to the highest one, both axes
//! scaled to that range (Kneedle: Satopää and others 2011, Finding a "Kneedle" in a Haystack). The highest point is the
//! last one that chance does not make lower than the maximum: what falls after it does not move the knee. It counts only
//! if throughput rises by less than half as much for each unit of load after it as before it, and if the line through the
//! upper ends of the intervals of its two points passes below the lower end of the knee's interval: then chance does not
//! make it.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The load, such as the number of clients.
    pub x: f64,
    /// The throughput, above 0.
    pub y: f64,
    /// The interval of the throughput; `None` if there are too few runs for one.
    pub interval: Option<[f64; 2]>,
}

/// Whether a curve has a knee, the point after which throughput hardly rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KneeState {
    /// It has.
    Found,
    /// Throughput does not rise from the first point on, which counts as the knee.
    BeforeFirst,
    /// Throughput still rises at the last point.
    NotReached,
    /// The runs scatter too much to tell where throughput stops to rise, or whether it rises at all.
    Unclear,
    /// Fewer than three points have figures.
    TooFewPoints,
}

/// Share of the rise before the knee, for each unit of load, that the rise after it stays below.
const MAX_SLOPE_RATIO: f64 = 0.5;
/// The highest point counts as higher than another only by more than this share, if there are no intervals.
const MIN_RISE_SHARE: f64 = 0.03;

/// Finds the index of the knee. `points` are in the order of their load.
pub fn find_knee(points: &[CurvePoint]) -> (KneeState, Option<usize>) {
    if points.len() < 3 {
        return (KneeState::TooFewPoints, None);
    }
    let Some(top) = points.iter().max_by(|a, b| a.y.total_cmp(&b.y)) else {
        return (KneeState::TooFewPoints, None);
    };
    // On a plateau, chance decides which point is highest.
    let as_high = points.iter().rposition(|point| !is_higher(top, point));
    let highest = as_high.unwrap_or(0);
    if !points.iter().any(|point| is_higher(point, &points[0])) {
        let rises = top.y > points[0].y * (1.0 + MIN_RISE_SHARE);
        return if rises { (KneeState::Unclear, None) } else { (KneeState::BeforeFirst, Some(0)) };
    }
    let furthest = (1..highest).max_by(|a, b| {
        let height = |index: &usize| height_above_chord(points, highest, *index);
        height(a).total_cmp(&height(b))
    });
    if let Some(knee) = furthest.filter(|knee| bends(points, highest, *knee)) {
        return (KneeState::Found, Some(knee));
    }
    // A straight rise that ends at the highest point, which is the knee if lower ones follow.
    let middle = &points[(points.len() - 1) / 2];
    if highest + 1 < points.len() {
        (KneeState::Found, Some(highest))
    } else if is_higher(&points[highest], middle) {
        (KneeState::NotReached, None)
    } else {
        (KneeState::Unclear, None)
    }
}

/// Whether `a` has a higher throughput than `b`, and chance does not explain it.
fn is_higher(a: &CurvePoint, b: &CurvePoint) -> bool {
    match (a.interval, b.interval) {
        (Some([low, _]), Some([_, high])) => low > high,
        _ => a.y > b.y * (1.0 + MIN_RISE_SHARE),
    }
}

/// How far a point lies above the line from the first to the highest point, in units of the rise between the two.
fn height_above_chord(points: &[CurvePoint], highest: usize, index: usize) -> f64 {
    let (first, last, point) = (points[0], points[highest], points[index]);
    (point.y - first.y) / (last.y - first.y) - (point.x - first.x) / (last.x - first.x)
}

/// Whether throughput rises much less after the knee than before it, and chance does not explain that.
fn bends(points: &[CurvePoint], highest: usize, knee: usize) -> bool {
    let (first, last, point) = (points[0], points[highest], points[knee]);
    let before = (point.y - first.y) / (point.x - first.x);
    let after = (last.y - point.y) / (last.x - point.x);
    if after >= MAX_SLOPE_RATIO * before {
        return false;
    }
    let upper = |point: &CurvePoint| point.interval.map_or(point.y, |[_, high]| high);
    let share = (point.x - first.x) / (last.x - first.x);
    let chord = upper(&first) * (1.0 - share) + upper(&last) * share;
    point.interval.map_or(point.y, |[low, _]| low) > chord
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::SplitMix;

    /// Points with intervals of `width`, a share of the throughput; none if that is zero.
    fn points(values: &[(f64, f64)], width: f64) -> Vec<CurvePoint> {
        let point = |&(x, y): &(f64, f64)| CurvePoint {
            x,
            y,
            interval: (width > 0.0).then_some([y * (1.0 - width), y * (1.0 + width)]),
        };
        values.iter().map(point).collect()
    }

    fn knee_of(values: &[(f64, f64)]) -> (KneeState, Option<usize>) {
        find_knee(&points(values, 0.0))
    }

    #[test]
    fn a_plateau_has_its_knee_where_it_begins() {
        let plateau = [
            (1.0, 100.0),
            (2.0, 200.0),
            (4.0, 400.0),
            (8.0, 410.0),
            (16.0, 405.0),
        ];
        assert_eq!(knee_of(&plateau), (KneeState::Found, Some(2)));
        let falling = [(1.0, 100.0), (2.0, 200.0), (4.0, 390.0), (8.0, 300.0)];
        assert_eq!(
            knee_of(&falling),
            (KneeState::Found, Some(2)),
            "the highest point, and a fall"
        );
        let steep = [(1.0, 100.0), (2.0, 200.0), (4.0, 199.0), (8.0, 198.0)];
        assert_eq!(knee_of(&steep), (KneeState::Found, Some(1)));
    }

    #[test]
    fn a_curve_that_saturates_slowly_bends_where_it_is_roundest() {
        // The universal scalability law with a contention of 10 %: 31 clients reach 78 % of its limit.
        let law = |n: f64| (n, 1_000.0 * n / (1.0 + 0.1 * (n - 1.0)));
        let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
        let values: Vec<(f64, f64)> = loads.into_iter().map(law).collect();
        assert_eq!(knee_of(&values), (KneeState::Found, Some(5)));
    }

    #[test]
    fn straight_lines_and_few_points_have_no_knee() {
        let line: Vec<(f64, f64)> = (1..=6)
            .map(|x| (f64::from(x), f64::from(x) * 50.0))
            .collect();
        assert_eq!(knee_of(&line), (KneeState::NotReached, None));
        assert_eq!(knee_of(&line[..2]), (KneeState::TooFewPoints, None));
        let flat = [(1.0, 100.0), (2.0, 101.0), (3.0, 99.0), (4.0, 100.5)];
        assert_eq!(knee_of(&flat), (KneeState::BeforeFirst, Some(0)));
        let falls = [(1.0, 100.0), (2.0, 80.0), (3.0, 70.0)];
        assert_eq!(knee_of(&falls), (KneeState::BeforeFirst, Some(0)));
    }

    #[test]
    fn points_that_scatter_too_much_are_unclear() {
        let values = [(1.0, 165.0), (2.0, 212.0), (4.0, 152.0), (8.0, 173.0)];
        assert_eq!(find_knee(&points(&values, 0.6)), (KneeState::Unclear, None));
        assert_eq!(
            find_knee(&points(&values[1..], 0.6)),
            (KneeState::BeforeFirst, Some(0))
        );
        // It rises, but nobody knows how far: the last point has two runs that differ widely.
        let mut last = points(
            &[(1.0, 100.0), (2.0, 190.0), (4.0, 360.0), (8.0, 500.0)],
            0.05,
        );
        last[3].interval = Some([100.0, 2_500.0]);
        assert_eq!(find_knee(&last), (KneeState::Unclear, None));
    }

    #[test]
    fn scatter_within_the_intervals_makes_no_knee() {
        // A line whose points are off by up to 8 %, with intervals of 10 %: none of 200 has a knee.
        let mut random = SplitMix::new(7);
        for _ in 0..200 {
            let values: Vec<(f64, f64)> = (1..=8)
                .map(|x| {
                    let share = random.uniform();
                    (f64::from(x), f64::from(x) * 100.0 * (0.92 + 0.16 * share))
                })
                .collect();
            let knee = find_knee(&points(&values, 0.1));
            assert_eq!(knee, (KneeState::NotReached, None), "{values:?}");
        }
    }

    #[test]
    fn a_knee_survives_the_scatter_of_its_points() {
        let values = [
            (1.0, 98.0),
            (2.0, 204.0),
            (4.0, 396.0),
            (8.0, 612.0),
            (16.0, 640.0),
            (32.0, 628.0),
        ];
        assert_eq!(
            find_knee(&points(&values, 0.05)),
            (KneeState::Found, Some(3))
        );
    }
}
