//! Student's t distribution.
//!
//! In: degrees of freedom, at least 1, and not necessarily an integer (Welch's are not). Out:
//! probabilities, quantiles. Must never: compute a small probability as 1 minus a large one, which loses its
//! digits.
//!
//! P(|T| > t) is the regularised incomplete beta function I_x(v/2, 1/2) at x = v / (v + t^2), by its
//! continued fraction (Abramowitz and Stegun 26.5 and 26.7; DLMF 8.17.22, <https://dlmf.nist.gov/8.17>).
//! For the noncentral T = (Z + c) / S, with a normal Z, the noncentrality c and S the root of a chi-square
//! divided by its degrees of freedom, P(T > t) is the mean of P(Z > t S - c) over S.

/// The probability that |T| is above |t|.
pub fn two_sided_p(t: f64, dof: f64) -> f64 {
    incomplete_beta(dof / (dof + t * t), dof / 2.0, 0.5)
}

/// The value below which T lies with this probability, which is above 0 and below 1.
pub fn quantile(probability: f64, dof: f64) -> f64 {
    if probability < 0.5 {
        return -quantile(1.0 - probability, dof);
    }
    let tail = 2.0 * (1.0 - probability);
    let mut upper = 1.0;
    while two_sided_p(upper, dof) > tail {
        upper *= 2.0;
    }
    let mut lower = 0.0;
    // Bisects until the two bounds are adjacent numbers, which takes about 60 steps.
    loop {
        let middle = (lower + upper) / 2.0;
        if middle <= lower || middle >= upper {
            return middle;
        }
        if two_sided_p(middle, dof) > tail { lower = middle } else { upper = middle }
    }
}

/// How many standard errors apart two means must be for a two-sided test at the level `alpha` to find the
/// difference with the probability `power`.
pub fn noncentrality_for_power(alpha: f64, power: f64, dof: f64) -> f64 {
    let limit = quantile(1.0 - alpha / 2.0, dof);
    let mut lower = 0.0;
    let mut upper = 2.0 * limit;
    while upper_tail_p(limit, upper, dof) < power {
        upper *= 2.0;
    }
    // Six digits are more than a detectable difference needs.
    while upper - lower > 1e-6 * upper {
        let middle = (lower + upper) / 2.0;
        if upper_tail_p(limit, middle, dof) < power { lower = middle } else { upper = middle }
    }
    upper
}

/// P(T > t) for the noncentral T, by Simpson's rule over all S that have any weight.
fn upper_tail_p(t: f64, noncentrality: f64, dof: f64) -> f64 {
    const STEPS: u32 = 400;
    let half = 8.0 / (2.0 * dof).sqrt();
    let (from, to) = ((1.0 - half).max(0.0), 1.0 + half);
    let step = (to - from) / f64::from(STEPS);
    let constant = dof / 2.0 * (dof / 2.0).ln() - ln_gamma(dof / 2.0) + 2.0_f64.ln();
    let value = |number: u32| {
        let s = from + step * f64::from(number);
        // At 0 the density is finite with one degree of freedom, and 0 with more.
        if s <= 0.0 && dof > 1.0 {
            return 0.0;
        }
        let logarithm = if s > 0.0 { (dof - 1.0) * s.ln() } else { 0.0 };
        (constant + logarithm - dof * s * s / 2.0).exp() * normal_cdf(noncentrality - t * s)
    };
    let inner: f64 = (1..STEPS)
        .map(|n| f64::from(2 + 2 * (n % 2)) * value(n))
        .sum();
    (value(0) + inner + value(STEPS)) * step / 3.0
}

/// The probability that a normally distributed value is below `z`, by its continued fraction in the tails and
/// its series in the middle (Abramowitz and Stegun 26.2.14 and 26.2.10).
pub fn normal_cdf(z: f64) -> f64 {
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z.abs() > 4.0 {
        let fraction = (1..=60)
            .rev()
            .fold(z.abs(), |rest, k| z.abs() + f64::from(k) / rest);
        let tail = density / fraction;
        return if z < 0.0 { tail } else { 1.0 - tail };
    }
    let (mut term, mut sum, mut k) = (z, z, 1.0);
    while term.abs() > 1e-17 {
        term *= z * z / (2.0 * k + 1.0);
        sum += term;
        k += 1.0;
    }
    0.5 + density * sum
}

/// The regularised incomplete beta function I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The continued fraction converges fast only for small x; for large x, I_x(a, b) = 1 - I_(1-x)(b, a).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log_factor = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    log_factor.exp() / (a * continued_fraction(x, a, b))
}

/// 1 + d1/(1 + d2/(1 + ...)), evaluated from its end, with the number of terms doubled until the value is
/// stable.
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    let term = |number: u32| {
        let m = f64::from(number / 2);
        match number % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        }
    };
    let evaluate = |terms: u32| {
        (1..=terms)
            .rev()
            .fold(1.0, |denominator, n| 1.0 + term(n) / denominator)
    };
    let mut terms = 16;
    let mut last = evaluate(terms);
    loop {
        terms *= 2;
        let next = evaluate(terms);
        if (next - last).abs() <= 1e-15 * next.abs() || terms > 1 << 16 {
            return next;
        }
        last = next;
    }
}

/// ln of Gamma by Stirling's series (DLMF 5.11.1), starting where it is exact to the last digits.
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

    /// Abramowitz and Stegun, table 26.10, and closed forms.
    #[test]
    fn quantiles_match_published_tables() {
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
        for (probability, dof, table) in cases {
            let actual = quantile(probability, dof);
            assert!(
                (actual - table).abs() < 6e-4,
                "{probability} {dof}: {actual}"
            );
            assert_eq!(quantile(1.0 - probability, dof).signum(), -1.0);
        }
        // The quantile of the normal distribution.
        assert!((quantile(0.975, 1e7) - 1.959_964).abs() < 1e-5);
        assert!(quantile(0.5, 3.0).abs() < 1e-6);
    }

    #[test]
    fn probabilities_match_closed_forms() {
        for t in [0.01_f64, 0.3, 1.0, 2.5, 40.0, 1e6] {
            // One degree of freedom is the Cauchy distribution; two have a closed form with a root.
            let cauchy = 2.0 / std::f64::consts::PI * (1.0 / t).atan();
            let near = |actual: f64, exact: f64| (actual / exact - 1.0).abs() < 1e-9;
            assert!(
                near(two_sided_p(t, 1.0), cauchy),
                "{t}: {}",
                two_sided_p(t, 1.0)
            );
            let root = (2.0 + t * t).sqrt();
            let two = 2.0 / (root * (root + t));
            assert!(
                near(two_sided_p(t, 2.0), two),
                "{t}: {}",
                two_sided_p(t, 2.0)
            );
            assert_eq!(two_sided_p(-t, 2.0), two_sided_p(t, 2.0));
        }
        assert_eq!(two_sided_p(0.0, 3.3), 1.0);
        // A fractional number of degrees lies between its neighbours.
        let quantiles = [4.0, 4.5, 5.0].map(|dof| quantile(0.975, dof));
        assert!(
            quantiles[0] > quantiles[1] && quantiles[1] > quantiles[2],
            "{quantiles:?}"
        );
    }

    #[test]
    fn normal_probabilities_match_published_tables() {
        for (x, table) in [
            (0.0, 0.5),
            (1.0, 0.841_345),
            (-1.96, 0.024_998),
            (3.0, 0.998_650),
        ] {
            assert!(
                (normal_cdf(x) - table).abs() < 1e-6,
                "{x}: {}",
                normal_cdf(x)
            );
        }
        assert_eq!((normal_cdf(-40.0), normal_cdf(40.0)), (0.0, 1.0));
    }

    /// With noncentrality 0 it is Student's; with many degrees of freedom the normal distribution's
    /// 1.959964 + 0.841621. In between, the sample sizes that textbooks give for a difference of one
    /// standard deviation (17 on each side) and of a half (64 on each side) at 5 % and 80 %.
    #[test]
    fn noncentral_probabilities_match_known_values() {
        for (t, dof) in [(2.0, 1.0), (2.776, 4.0), (1.0, 8.5), (1.96, 300.0)] {
            let (actual, exact) = (upper_tail_p(t, 0.0, dof), two_sided_p(t, dof) / 2.0);
            assert!((actual - exact).abs() < 1e-5, "{t} {dof}: {actual} {exact}");
        }
        assert!((noncentrality_for_power(0.05, 0.8, 1e6) - 2.801_585).abs() < 1e-4);
        for (runs_per_side, difference) in [(17.0, 1.0), (64.0, 0.5)] {
            let actual = |runs_per_side: f64| difference * f64::sqrt(runs_per_side / 2.0);
            let needed =
                |runs_per_side: f64| noncentrality_for_power(0.05, 0.8, 2.0 * runs_per_side - 2.0);
            assert!(
                needed(runs_per_side) <= actual(runs_per_side),
                "{runs_per_side}"
            );
            assert!(
                needed(runs_per_side - 1.0) > actual(runs_per_side - 1.0),
                "{runs_per_side}"
            );
        }
    }

    #[test]
    fn ln_gamma_of_integers_and_half_integers() {
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
