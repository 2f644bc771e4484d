//! Human-readable numbers. Must never be used in a command that a user copies.

/// With thousands separators: `-1,234,567`.
pub fn grouped(number: impl Into<i128>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999_u64), "999");
        assert_eq!(grouped(-1_000), "-1,000");
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }
}
