//! Reusable buffers for values that are sent as text, so that a warm user does not allocate.

use super::input::{LINES_MAX, OrderLine};
use std::fmt::{Display, Write};

#[derive(Debug, Default)]
pub struct TextBuffers {
    /// Items of an order, as an array literal.
    pub items: String,
    /// Supplying warehouses of the items.
    pub supplies: String,
    pub quantities: String,
    pub waves: String,
    /// Any other text.
    pub data: String,
    /// Names of a warehouse and of a district.
    pub names: [String; 2],
    pub lines: [LineState; LINES_MAX],
}

impl TextBuffers {
    pub fn set_arrays(&mut self, lines: &[OrderLine]) {
        write_array(&mut self.items, lines.iter().map(|line| line.item));
        write_array(&mut self.supplies, lines.iter().map(|line| line.supply));
        write_array(&mut self.quantities, lines.iter().map(|line| line.quantity));
        write_array(&mut self.waves, lines.iter().map(|line| line.wave));
    }
}

/// The values read from a line's item and stock.
#[derive(Debug, Default)]
pub struct LineState {
    /// Unit price in cents; `None` if there is no such item.
    pub price_cents: Option<i64>,
    /// Stock before the order; `None` if the stock row does not exist.
    pub stock: Option<i64>,
    /// The district's information.
    pub dist: String,
    pub original: bool,
    /// Whether item and stock are both marked as original.
    pub brand: bool,
}

/// Writes the numbers as an array literal of PostgreSQL.
pub fn write_array(out: &mut String, numbers: impl Iterator<Item = u32>) {
    out.clear();
    let mut digits = itoa::Buffer::new();
    for number in numbers {
        out.push(if out.is_empty() { '{' } else { ',' });
        out.push_str(digits.format(number));
    }
    out.push_str(if out.is_empty() { "{}" } else { "}" });
}

/// Widths of the fields of a line in [`write_packed`]: item, supplying warehouse, quantity.
pub const PACKED_WIDTHS: [usize; 3] = [6, 7, 2];

/// Writes the lines of an order one after the other, each number padded with leading zeros, as
/// the procedures of MySQL and SQL Server take them.
pub fn write_packed(out: &mut String, lines: &[OrderLine]) {
    out.clear();
    let mut digits = itoa::Buffer::new();
    for line in lines {
        for (number, width) in [line.item, line.supply, line.quantity]
            .into_iter()
            .zip(PACKED_WIDTHS)
        {
            let number = digits.format(number);
            out.extend((number.len()..width).map(|_| '0'));
            out.push_str(number);
        }
    }
}

pub fn push_value(out: &mut String, value: impl Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse_decimal;

    #[test]
    fn numbers_are_written_and_parsed() {
        let mut out = "old".to_owned();
        write_array(&mut out, [7, 100_000].into_iter());
        assert_eq!(out, "{7,100000}");
        write_array(&mut out, std::iter::empty());
        assert_eq!(out, "{}");
        let line = |item, supply, quantity| OrderLine {
            item,
            supply,
            quantity,
            wave: 1,
        };
        write_packed(&mut out, &[line(7, 12, 10), line(100_000, 1_000_000, 3)]);
        assert_eq!(out, "000007000001210100000100000003");
        for (cents, text) in [(5, "0.05"), (100, "1.00"), (500_000, "5000.00")] {
            assert_eq!(parse_decimal(text, 2), Some(cents));
        }
        assert_eq!(parse_decimal("-10.05", 2), Some(-1005));
        assert_eq!(parse_decimal("0.1234", 4), Some(1234));
        assert_eq!(parse_decimal("7", 4), Some(70_000));
        assert_eq!(parse_decimal("7.129", 2), Some(712));
        for invalid in ["", "x", "1.x", ".5", "NaN"] {
            assert_eq!(parse_decimal(invalid, 2), None, "{invalid}");
        }
    }
}
