//! Reads a rate of transactions, which may have a unit.

/// The number in a rate per second, `20000` in `20000`, `20000tps` and `20000/s`; the caller parses and checks it.
pub fn strip_rate_unit(text: &str) -> &str {
    let text = text.trim();
    let number = text.strip_suffix("tps").or_else(|| text.strip_suffix("/s"));
    number.unwrap_or(text).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_may_have_a_unit() {
        for text in ["2e4", "2e4tps", " 2e4 tps", "2e4/s", "2e4 /s "] {
            assert_eq!(strip_rate_unit(text), "2e4", "{text}");
        }
        for text in ["", "tps", "2e4/m", "2e4k"] {
            assert!(strip_rate_unit(text).parse::<f64>().is_err(), "{text}");
        }
    }
}
