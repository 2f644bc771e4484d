//! Student's t distribution.
//!
//! In: degrees of freedom (a fraction too, as Welch's are), at least 1. Out: probabilities, quantiles.
//! Must never: lose the small probabilities, which are computed as such and not as 1 less a large one.
//!
//! P(|T| > t) is the regularised incomplete beta function I_x(v/2, 1/2) at x = v / (v + t^2), by its
//! continued fraction (Abramowitz and Stegun 26.5 and 26.7; DLMF 8.17.22,
//! <https://dlmf.nist.gov/8.17>). Of T with its centre at c, (Z + c) / S with a normal Z and S the root of a
//! chi-square by its degrees of freedom, P(T > t) is the mean of P(Z > t S - c) over S.

/// The probability that |T| is above |t|.
pub fn beyond(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The value below which T is with this probability, above 0 and below 1.
pub fn quantile(probability: f64, freedom: f64) -> f64 {
    if probability < 0.5 {
        return -quantile(1.0 - probability, freedom);
    }
    let tail = 2.0 * (1.0 - probability);
    let mut above = 1.0;
    while beyond(above, freedom) > tail {
        above *= 2.0;
    }
    let mut below = 0.0;
    // Halved until the two are neighbours, which takes 60 steps or so.
    loop {
        let middle = (below + above) / 2.0;
        if middle <= below || middle >= above {
            return middle;
        }
        match beyond(middle, freedom) > tail {
            true => below = middle,
            false => above = middle,
        }
    }
}

/// By how many standard errors two means must be apart, so that a two-sided test at the level `alpha`
/// finds it with the probability `power`.
pub fn reach(alpha: f64, power: f64, freedom: f64) -> f64 {
    let limit = quantile(1.0 - alpha / 2.0, freedom);
    let mut below = 0.0;
    let mut above = 2.0 * limit;
    while beyond_with_centre(limit, above, freedom) < power {
        above *= 2.0;
    }
    // To six digits: more than a difference is worth.
    while above - below > 1e-6 * above {
        let middle = (below + above) / 2.0;
        match beyond_with_centre(limit, middle, freedom) < power {
            true => below = middle,
            false => above = middle,
        }
    }
    above
}

/// P(T > t) of T with its centre there, by Simpson's rule over all S of any weight.
fn beyond_with_centre(t: f64, centre: f64, freedom: f64) -> f64 {
    const STEPS: u32 = 400;
    let half = 8.0 / (2.0 * freedom).sqrt();
    let (from, to) = ((1.0 - half).max(0.0), 1.0 + half);
    let step = (to - from) / f64::from(STEPS);
    let constant = freedom / 2.0 * (freedom / 2.0).ln() - ln_gamma(freedom / 2.0) + 2.0_f64.ln();
    let value = |number: u32| {
        let s = from + step * f64::from(number);
        // At 0 the density is finite with one degree of freedom, and 0 with more.
        let logarithm = match s > 0.0 {
            true => (freedom - 1.0) * s.ln(),
            false if freedom > 1.0 => return 0.0,
            false => 0.0,
        };
        (constant + logarithm - freedom * s * s / 2.0).exp() * normal(centre - t * s)
    };
    let inner: f64 = (1..STEPS)
        .map(|n| f64::from(2 + 2 * (n % 2)) * value(n))
        .sum();
    (value(0) + inner + value(STEPS)) * step / 3.0
}

/// The standard normal distribution function, by the series of its density (A&S 26.2.11).
fn normal(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return f64::from(u8::from(x > 0.0));
    }
    let mut term = x;
    let mut sum = x;
    let mut odd = 1.0;
    while term.abs() > 1e-16 * sum.abs() {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side alone; the other follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let before = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    before.exp() / (a * fraction(x, a, b))
}

/// 1 + d1/(1 + d2/(1 + ...)), evaluated from its end, with twice as many terms until nothing changes.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let term = |number: u32| {
        let m = f64::from(number / 2);
        match number % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        }
    };
    let to = |terms: u32| (1..=terms).rev().fold(1.0, |rest, n| 1.0 + term(n) / rest);
    let mut terms = 16;
    let mut last = to(terms);
    loop {
        terms *= 2;
        let next = to(terms);
        if (next - last).abs() <= 1e-15 * next.abs() || terms > 1 << 16 {
            return next;
        }
        last = next;
    }
}

/// ln of Gamma by Stirling's series (DLMF 5.11.1), from where it is exact to the last digits.
fn ln_gamma(x: f64) -> f64 {
    let mut x = x;
    let mut product = 1.0;
    while x < 20.0 {
        product *= x;
        x += 1.0;
    }
    let square = x * x;
    let series =
        1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square;
    (x - 0.5) * x.ln() - x + (2.0 * std::f64::consts::PI).ln() / 2.0 + series / x - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Abramowitz and Stegun, table 26.10, and what is known in closed form.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let cases = [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 3.0, 3.182),
            (0.975, 4.0, 2.776),
            (0.975, 5.0, 2.571),
            (0.975, 8.0, 2.306),
            (0.975, 10.0, 2.228),
            (0.975, 30.0, 2.042),
            (0.975, 120.0, 1.980),
            (0.995, 4.0, 4.604),
            (0.995, 8.0, 3.355),
            (0.9995, 2.0, 31.599),
            (0.95, 20.0, 1.725),
            (0.8, 4.0, 0.941),
            (0.8, 8.0, 0.889),
        ];
        for (probability, freedom, table) in cases {
            let found = quantile(probability, freedom);
            assert!(
                (found - table).abs() < 6e-4,
                "{probability} {freedom}: {found}"
            );
            assert_eq!(quantile(1.0 - probability, freedom).signum(), -1.0);
        }
        // The normal distribution's.
        assert!((quantile(0.975, 1e7) - 1.959_964).abs() < 1e-5);
        assert!(quantile(0.5, 3.0).abs() < 1e-6);
    }

    #[test]
    fn probabilities_are_those_of_closed_forms() {
        for t in [0.01_f64, 0.3, 1.0, 2.5, 40.0, 1e6] {
            // One degree of freedom is Cauchy's; two have a root.
            let cauchy = 2.0 / std::f64::consts::PI * (1.0 / t).atan();
            let near = |found: f64, exact: f64| (found / exact - 1.0).abs() < 1e-9;
            assert!(near(beyond(t, 1.0), cauchy), "{t}: {}", beyond(t, 1.0));
            let root = (2.0 + t * t).sqrt();
            let two = 2.0 / (root * (root + t));
            assert!(near(beyond(t, 2.0), two), "{t}: {}", beyond(t, 2.0));
            assert_eq!(beyond(-t, 2.0), beyond(t, 2.0));
        }
        assert_eq!(beyond(0.0, 3.3), 1.0);
        // Between its neighbours, where the degrees are a fraction.
        let found = [4.0, 4.5, 5.0].map(|freedom| quantile(0.975, freedom));
        assert!(found[0] > found[1] && found[1] > found[2], "{found:?}");
    }

    #[test]
    fn normal_probabilities_are_those_of_the_tables() {
        for (x, table) in [
            (0.0, 0.5),
            (1.0, 0.841_345),
            (-1.96, 0.024_998),
            (3.0, 0.998_650),
        ] {
            assert!((normal(x) - table).abs() < 1e-6, "{x}: {}", normal(x));
        }
        assert_eq!((normal(-40.0), normal(40.0)), (0.0, 1.0));
    }

    /// With its centre at 0 it is Student's; with many degrees of freedom the normal distribution's
    /// 1.959964 + 0.841621. In between, the sizes of two samples that textbooks give for a difference of
    /// one standard deviation (17 a side) and of a half (64 a side) at 5 % and 80 %.
    #[test]
    fn a_centre_aside() {
        for (t, freedom) in [(2.0, 1.0), (2.776, 4.0), (1.0, 8.5), (1.96, 300.0)] {
            let (found, exact) = (
                beyond_with_centre(t, 0.0, freedom),
                beyond(t, freedom) / 2.0,
            );
            assert!(
                (found - exact).abs() < 1e-5,
                "{t} {freedom}: {found} {exact}"
            );
        }
        assert!((reach(0.05, 0.8, 1e6) - 2.801_585).abs() < 1e-4);
        for (side, difference) in [(17.0, 1.0), (64.0, 0.5)] {
            let apart = |side: f64| difference * f64::sqrt(side / 2.0);
            let needed = |side: f64| reach(0.05, 0.8, 2.0 * side - 2.0);
            assert!(needed(side) <= apart(side), "{side}");
            assert!(needed(side - 1.0) > apart(side - 1.0), "{side}");
        }
    }

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        let root = std::f64::consts::PI.sqrt();
        for (x, exact) in [
            (0.5, root),
            (1.0, 1.0),
            (1.5, root / 2.0),
            (5.0, 24.0),
            (11.0, 3_628_800.0),
        ] {
            assert!((ln_gamma(x) - f64::ln(exact)).abs() < 1e-13, "{x}");
        }
    }
}
