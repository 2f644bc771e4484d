//! Values that travel as text, without an allocation once a user is warm.
//!
//! In: numbers. Out: text in buffers that are used again and again. Must never: lose a cent.

use super::input::{LINES_MAX, Line};
use std::fmt::{Display, Write};

/// One user's buffers.
#[derive(Debug, Default)]
pub struct Texts {
    /// Items of an order, as an array.
    pub items: String,
    /// Their supplying warehouses.
    pub supplies: String,
    /// Their quantities.
    pub quantities: String,
    /// Their waves.
    pub waves: String,
    /// An amount of money.
    pub amount: String,
    /// Any other text.
    pub data: String,
    /// What was read of each line of an order.
    pub lines: [Sold; LINES_MAX],
}

/// What an order's line found.
#[derive(Debug, Default)]
pub struct Sold {
    /// Price of one, cents; absent: there is no such item.
    pub price_cents: Option<i64>,
    /// Stock before it; absent: there is none.
    pub stock: Option<i64>,
    /// The district's information.
    pub dist: String,
    /// Item and stock are both marked as original.
    pub brand: bool,
}

/// Writes an array of numbers, as PostgreSQL reads it.
pub fn array(out: &mut String, numbers: impl Iterator<Item = u32>) {
    out.clear();
    let mut digits = itoa::Buffer::new();
    for number in numbers {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(digits.format(number));
    }
    out.push_str(if out.is_empty() { "{}" } else { "}" });
}

/// Characters of each part of a line in [`packed`]: item, supplying warehouse, quantity.
pub const PACKED: [usize; 3] = [6, 7, 2];

/// Writes the lines of an order one after the other, each number with its zeros in front, as MySQL's
/// procedures take them.
pub fn packed(out: &mut String, lines: &[Line]) {
    out.clear();
    let mut digits = itoa::Buffer::new();
    for line in lines {
        for (number, width) in [line.item, line.supply, line.quantity]
            .into_iter()
            .zip(PACKED)
        {
            let number = digits.format(number);
            out.extend((number.len()..width).map(|_| '0'));
            out.push_str(number);
        }
    }
}

/// Writes an amount with its two decimals. `cents` is not negative.
pub fn money(out: &mut String, cents: i64) {
    out.clear();
    write(out, format_args!("{}.{:02}", cents / 100, cents % 100));
}

/// Writes anything into a string, which cannot fail.
pub fn write(out: &mut String, what: impl Display) {
    let _ = write!(out, "{what}");
}

/// Reads a decimal number as a whole number of its `places`-th decimal: `decimal("1.5", 2)` is 150.
/// More decimals than that are cut off.
pub fn decimal(text: &str, places: u32) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut number: i64 = whole.parse().ok()?;
    let mut decimals = fraction.bytes();
    for _ in 0..places {
        let digit = decimals.next().unwrap_or(b'0');
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    Some(sign * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_text_are_the_same() {
        let mut out = "old".to_owned();
        array(&mut out, [7, 100_000].into_iter());
        assert_eq!(out, "{7,100000}");
        array(&mut out, std::iter::empty());
        assert_eq!(out, "{}");
        let line = |item, supply, quantity| Line {
            item,
            supply,
            quantity,
            wave: 1,
        };
        packed(&mut out, &[line(7, 12, 10), line(100_000, 1_000_000, 3)]);
        assert_eq!(out, "000007000001210100000100000003");
        for (cents, text) in [(5, "0.05"), (100, "1.00"), (500_000, "5000.00")] {
            money(&mut out, cents);
            assert_eq!(out, text);
            assert_eq!(decimal(text, 2), Some(cents));
        }
        assert_eq!(decimal("-10.05", 2), Some(-1005));
        assert_eq!(decimal("0.1234", 4), Some(1234));
        assert_eq!(decimal("7", 4), Some(70_000));
        assert_eq!(decimal("7.129", 2), Some(712));
        for broken in ["", "x", "1.x", ".5", "NaN"] {
            assert_eq!(decimal(broken, 2), None, "{broken}");
        }
    }
}
