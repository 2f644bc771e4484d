//! Several comparisons at once.
//!
//! In: the p values of one family. Out: which of them are differences, so that all are equal and one is
//! found in at most one of twenty families. Must never: depend on the order in which they are given.

/// What follows for one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// It is a difference.
    pub found: bool,
    /// The level it was held against: of the family, divided by the comparisons still open.
    pub alpha: f64,
    /// Its p value, adjusted: to be held against the family's level.
    pub adjusted: f64,
}

/// Holm's method (1979): the smallest p value is held against alpha / k, the next against
/// alpha / (k - 1), and so on up to the first that is no difference, which settles those after it.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<Step> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut steps = vec![
        Step {
            found: false,
            alpha,
            adjusted: 1.0,
        };
        p_values.len()
    ];
    let mut level = alpha;
    let mut open = true;
    let mut least: f64 = 0.0;
    for (place, at) in order.into_iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        if open {
            level = alpha / left;
            open = p_values[at] < level;
        }
        least = least.max((p_values[at] * left).min(1.0));
        // Those after the first that was not found keep its level: none of them is beyond it.
        steps[at] = Step {
            found: open,
            alpha: level,
            adjusted: least,
        };
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holm's own kind of example: 0.01, 0.02 and 0.005 of four are found at 5 %, 0.03 too would be alone.
    #[test]
    fn steps_by_hand() {
        let steps = holm(&[0.01, 0.04, 0.03, 0.005], 0.05);
        let found: Vec<bool> = steps.iter().map(|step| step.found).collect();
        assert_eq!(found, [true, false, false, true]);
        let adjusted: Vec<String> = steps.iter().map(|s| format!("{:.2}", s.adjusted)).collect();
        assert_eq!(adjusted, ["0.03", "0.06", "0.06", "0.02"]);
        let levels: Vec<String> = steps.iter().map(|s| format!("{:.4}", s.alpha)).collect();
        assert_eq!(levels, ["0.0167", "0.0250", "0.0250", "0.0125"]);
    }

    #[test]
    fn one_alone_and_none() {
        assert_eq!(holm(&[], 0.05), []);
        let alone = holm(&[0.049], 0.05)[0];
        assert!(alone.found && alone.alpha == 0.05 && alone.adjusted == 0.049);
        assert!(!holm(&[0.05], 0.05)[0].found);
        // What is beyond its level by itself is not found after one that is not.
        let steps = holm(&[0.026, 0.03], 0.05);
        assert!(
            steps.iter().all(|step| !step.found && step.alpha == 0.025),
            "{steps:?}"
        );
    }
}
