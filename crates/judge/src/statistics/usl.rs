//! The universal scalability law, fitted to a throughput curve as its explanation.
//!
//! In: points by their concurrency. Out: the parameters of the law and how well it fits, or why it does not. Must
//! never: extrapolate, or explain a curve that the law does not describe.
//!
//! The law (Gunther 2007, Guerrilla Capacity Planning, chapter 4): X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)),
//! where lambda is the throughput of one client, sigma the share that must be done one after the other (contention) and
//! kappa the cost of keeping each pair consistent (coherency). N / X(N) is a polynomial in N - 1 and N (N - 1), so that
//! least squares need no start and no iteration. The points are weighted by their throughput, because its scatter is
//! relative. A parameter that would be negative is 0: the best of the fits with a subset of the parameters is taken.

use super::knee::CurvePoint;
use serde::Serialize;

/// Fewest points: one more than the parameters.
pub const MIN_USL_POINTS: usize = 4;
/// Largest root of the mean squared relative deviation for which the law describes a curve: about the scatter of runs on
/// virtual machines.
const MAX_DEVIATION: f64 = 0.05;
/// Largest relative deviation of a single point.
const MAX_POINT_DEVIATION: f64 = 0.12;

/// The law's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Usl {
    /// Throughput of one client, transactions per second.
    pub lambda: f64,
    /// Contention: share of the work that only one client can do at a time.
    pub sigma: f64,
    /// Coherency: cost of each pair of clients, as a share of the work.
    pub kappa: f64,
    /// Root of the mean squared relative deviation of the points.
    pub deviation: f64,
}

/// Whether the law describes a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UslFit {
    /// It does, with these parameters.
    Fits(Usl),
    /// It does not: the nearest curve of the law deviates by this share (root of the mean square).
    DoesNotFit { deviation: f64 },
    /// There are fewer than [`MIN_USL_POINTS`] points.
    TooFewPoints,
}

impl Usl {
    pub fn throughput(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// The concurrency with the highest throughput; `None` without a cost of coherency, when it never falls.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0).then(|| ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0))
    }

    fn deviation_of(&self, point: &CurvePoint) -> f64 {
        self.throughput(point.x) / point.y - 1.0
    }
}

/// Fits the law. Points without throughput are left out.
pub fn fit_usl(points: &[CurvePoint]) -> UslFit {
    let is_usable = |point: &&CurvePoint| point.y > 0.0 && point.x >= 1.0;
    let points: Vec<CurvePoint> = points.iter().filter(is_usable).copied().collect();
    if points.len() < MIN_USL_POINTS {
        return UslFit::TooFewPoints;
    }
    let subsets = [[true, true], [true, false], [false, true], [false, false]];
    let fits = subsets.into_iter().filter_map(|with| fit(&points, with));
    let Some(best) = fits.min_by(|a, b| a.deviation.total_cmp(&b.deviation)) else {
        return UslFit::DoesNotFit { deviation: 1.0 };
    };
    let deviations = points.iter().map(|point| best.deviation_of(point).abs());
    if best.deviation > MAX_DEVIATION || deviations.fold(0.0, f64::max) > MAX_POINT_DEVIATION {
        return UslFit::DoesNotFit {
            deviation: best.deviation,
        };
    }
    UslFit::Fits(best)
}

/// The fit with these of sigma and kappa; `None` if a parameter is negative or undetermined.
fn fit(points: &[CurvePoint], [with_sigma, with_kappa]: [bool; 2]) -> Option<Usl> {
    // N / X in units of its relative error, X / N: every row is divided by N / X.
    let rows = points.iter().map(|point| {
        let (n, weight) = (point.x, point.y / point.x);
        let mut row = vec![weight];
        row.extend(with_sigma.then_some((n - 1.0) * weight));
        row.extend(with_kappa.then_some(n * (n - 1.0) * weight));
        row
    });
    let solved = least_squares(&rows.collect::<Vec<_>>())?;
    let mut terms = solved.into_iter();
    let inverse = terms.next().filter(|inverse| *inverse > 0.0)?;
    let mut term = |with: bool| if with { terms.next() } else { Some(0.0) };
    let (sigma, kappa) = (term(with_sigma)? / inverse, term(with_kappa)? / inverse);
    if sigma < 0.0 || kappa < 0.0 || !(sigma + kappa).is_finite() {
        return None;
    }
    let usl = Usl {
        lambda: 1.0 / inverse,
        sigma,
        kappa,
        deviation: 0.0,
    };
    let squares = points.iter().map(|point| usl.deviation_of(point).powi(2));
    let deviation = (squares.sum::<f64>() / points.len() as f64).sqrt();
    Some(Usl { deviation, ..usl })
}

/// The coefficients with which the rows' sums are nearest to 1, by the normal equations; `None` if they are undetermined.
/// The columns are scaled to 1, because their sizes differ by powers of the concurrency.
fn least_squares(rows: &[Vec<f64>]) -> Option<Vec<f64>> {
    let columns = rows.first()?.len();
    let scale = |column: usize| {
        let largest = rows.iter().map(|row| row[column].abs()).fold(0.0, f64::max);
        (largest > 0.0).then_some(largest)
    };
    let scales = (0..columns).map(scale).collect::<Option<Vec<f64>>>()?;
    let mut matrix: Vec<Vec<f64>> = (0..columns)
        .map(|a| {
            let cell = |row: &Vec<f64>, column: usize| row[column] / scales[column];
            let products = (0..columns)
                .map(|b| rows.iter().map(|row| cell(row, a) * cell(row, b)).sum())
                .chain([rows.iter().map(|row| cell(row, a)).sum()]);
            products.collect()
        })
        .collect();
    // Gauss, with the largest pivot.
    for column in 0..columns {
        let size = |row: &usize| matrix[*row][column].abs();
        let pivot = (column..columns).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if matrix[pivot][column].abs() < 1e-12 {
            return None;
        }
        matrix.swap(column, pivot);
        let pivot_row = matrix[column].clone();
        for row in (0..columns).filter(|row| *row != column) {
            let factor = matrix[row][column] / pivot_row[column];
            for (cell, pivot) in matrix[row].iter_mut().zip(&pivot_row) {
                *cell -= factor * pivot;
            }
        }
    }
    let solution = (0..columns).map(|row| matrix[row][columns] / matrix[row][row] / scales[row]);
    Some(solution.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::SplitMix;

    const LOADS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    fn curve(values: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        let point = |x| CurvePoint {
            x,
            y: values(x),
            interval: None,
        };
        LOADS.into_iter().map(point).collect()
    }

    fn law(lambda: f64, sigma: f64, kappa: f64) -> Usl {
        Usl {
            lambda,
            sigma,
            kappa,
            deviation: 0.0,
        }
    }

    fn fitted(points: &[CurvePoint]) -> Usl {
        match fit_usl(points) {
            UslFit::Fits(usl) => usl,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn exact_curves_give_their_parameters() {
        // The second is Gunther's own example of a web application: a peak at 48 users.
        for (lambda, sigma, kappa) in [
            (1_000.0, 0.05, 0.0),
            (995.6, 0.0267, 0.000_431),
            (40.0, 0.0, 0.001),
            (7.0, 0.0, 0.0),
            (5_000.0, 0.4, 0.02),
        ] {
            let exact = law(lambda, sigma, kappa);
            let found = fitted(&curve(|n| exact.throughput(n)));
            assert!((found.lambda / lambda - 1.0).abs() < 1e-6, "{found:?}");
            assert!((found.sigma - sigma).abs() < 1e-6, "{found:?}");
            assert!((found.kappa - kappa).abs() < 1e-8, "{found:?}");
            assert!(found.deviation < 1e-6, "{found:?}");
        }
        let peak = law(995.6, 0.0267, 0.000_431).peak().unwrap();
        assert!((47.0..48.0).contains(&peak), "{peak}");
        assert_eq!(law(1.0, 0.1, 0.0).peak(), None);
    }

    #[test]
    fn scatter_of_two_per_cent_leaves_the_parameters_near() {
        let exact = law(1_000.0, 0.05, 0.0005);
        let mut random = SplitMix::new(3);
        for _ in 0..100 {
            let mut noise = || random.uniform() * 0.04 - 0.02;
            let noises: Vec<f64> = LOADS.iter().map(|_| noise()).collect();
            let points: Vec<CurvePoint> = curve(|n| exact.throughput(n))
                .into_iter()
                .zip(noises)
                .map(|(point, noise)| CurvePoint {
                    y: point.y * (1.0 + noise),
                    ..point
                })
                .collect();
            let found = fitted(&points);
            assert!((found.lambda / 1_000.0 - 1.0).abs() < 0.08, "{found:?}");
            assert!((found.sigma - 0.05).abs() < 0.02, "{found:?}");
            assert!((found.kappa / 0.0005 - 1.0).abs() < 0.25, "{found:?}");
        }
    }

    #[test]
    fn curves_that_the_law_does_not_describe_are_refused() {
        // Throughput that rises faster than the clients, a pool that is full at once, and a collapse.
        let superlinear = curve(|n| 100.0 * n.powf(1.3));
        let staircase = curve(|n| if n < 8.0 { 100.0 } else { 900.0 });
        let collapse = curve(|n| if n < 32.0 { 100.0 * n } else { 80.0 });
        for points in [superlinear, staircase, collapse] {
            let fit = fit_usl(&points);
            assert!(
                matches!(fit, UslFit::DoesNotFit { deviation } if deviation > 0.05),
                "{fit:?}"
            );
        }
    }

    #[test]
    fn few_points_and_points_without_throughput_are_not_fitted() {
        let points = curve(|n| 10.0 * n);
        assert_eq!(fit_usl(&points[..3]), UslFit::TooFewPoints);
        let mut empty = points.clone();
        for point in &mut empty[3..] {
            point.y = 0.0;
        }
        assert_eq!(fit_usl(&empty), UslFit::TooFewPoints);
        let same = [points[2]; 5];
        assert!(
            matches!(fit_usl(&same), UslFit::Fits(_)),
            "a line through one load"
        );
    }
}
