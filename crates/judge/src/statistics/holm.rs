//! Corrects for several comparisons at once.
//!
//! In: the p values of one family. Out: which of them are differences, such that if all are equal, at most
//! one family in twenty shows a difference. Must never: depend on the order of the p values.

/// The result of one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HolmResult {
    pub significant: bool,
    /// The level of this test: the family's, divided by the number of comparisons not yet decided.
    pub alpha: f64,
    /// Its adjusted p value, to be compared with the family's level.
    pub adjusted_p: f64,
}

/// Holm's method (1979): the smallest p value is compared with alpha / k, the next with alpha / (k - 1),
/// and so on up to the first that is not significant; none after it is significant. The results are in the order of
/// `p_values`; `alpha` is the level of the family.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<HolmResult> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut results = vec![
        HolmResult {
            significant: false,
            alpha,
            adjusted_p: 1.0,
        };
        p_values.len()
    ];
    let mut level = alpha;
    let mut significant = true;
    let mut largest_adjusted: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        if significant {
            level = alpha / remaining;
            significant = p_values[index] < level;
        }
        largest_adjusted = largest_adjusted.max((p_values[index] * remaining).min(1.0));
        // P values after the first that is not significant keep its level; none of them is below it.
        results[index] = HolmResult {
            significant,
            alpha: level,
            adjusted_p: largest_adjusted,
        };
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of four p values, 0.01 and 0.005 are significant at 5 %; 0.03 and 0.04 would be only if tested alone.
    #[test]
    fn results_match_a_hand_calculation() {
        let results = holm(&[0.01, 0.04, 0.03, 0.005], 0.05);
        let significant: Vec<bool> = results.iter().map(|result| result.significant).collect();
        assert_eq!(significant, [true, false, false, true]);
        let adjusted_p: Vec<String> = results
            .iter()
            .map(|s| format!("{:.2}", s.adjusted_p))
            .collect();
        assert_eq!(adjusted_p, ["0.03", "0.06", "0.06", "0.02"]);
        let levels: Vec<String> = results.iter().map(|s| format!("{:.4}", s.alpha)).collect();
        assert_eq!(levels, ["0.0167", "0.0250", "0.0250", "0.0125"]);
    }

    #[test]
    fn single_and_missing_p_values_are_accepted() {
        assert_eq!(holm(&[], 0.05), []);
        let alone = holm(&[0.049], 0.05)[0];
        assert!(alone.significant && alone.alpha == 0.05 && alone.adjusted_p == 0.049);
        assert!(!holm(&[0.05], 0.05)[0].significant);
        // A p value below its own level is not significant if a smaller one is not.
        let results = holm(&[0.026, 0.03], 0.05);
        assert!(
            results
                .iter()
                .all(|result| !result.significant && result.alpha == 0.025),
            "{results:?}"
        );
    }
}
