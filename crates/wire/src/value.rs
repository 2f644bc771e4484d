//! Values for placeholders, and the text of decimal numbers, which all protocols send as text.

/// A value for a placeholder. The server infers its type unless the statement declares one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A floating-point number, sent with as many digits as are needed to read it back unchanged.
    Float(f64),
    /// The exact number `unscaled` / 10^`scale`, sent with `scale` digits after the point. The maximum scale
    /// is 30 on MySQL, and 38 on SQL Server and MariaDB.
    Decimal {
        /// The number's digits, without its point.
        unscaled: i64,
        /// Number of digits after the point.
        scale: u8,
    },
    Text(&'a str),
    /// Text in the encoding of the connection, or bytes.
    Bytes(&'a [u8]),
}

/// Appends a decimal number such as `-12.30`.
pub(crate) fn put_decimal(unscaled: i64, scale: u8, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(unscaled.unsigned_abs()).as_bytes();
    let scale = usize::from(scale);
    let (integer, fraction) = digits.split_at(digits.len().saturating_sub(scale));
    if unscaled < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(if integer.is_empty() { b"0" } else { integer });
    if scale > 0 {
        out.push(b'.');
        out.resize(out.len() + scale - fraction.len(), b'0');
        out.extend_from_slice(fraction);
    }
}

/// Number of bytes that [`put_decimal`] appends.
pub(crate) fn decimal_length(unscaled: i64, scale: u8) -> usize {
    let digits = unscaled.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
    let scale = usize::from(scale);
    usize::from(unscaled < 0) + digits.max(scale + 1) + usize::from(scale > 0)
}

/// Appends a value as a literal inside the text of a statement. The engines differ in the literals of
/// floating-point numbers (`put_float`) and of texts (`put_quoted`).
pub(crate) fn put_literal(
    value: Value<'_>,
    out: &mut Vec<u8>,
    put_float: impl FnOnce(f64, &mut Vec<u8>),
    put_quoted: impl FnOnce(&[u8], &mut Vec<u8>),
) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(number) if number < 0 => {
            // Parentheses, because `a -` and `-1` together would start a comment.
            out.push(b'(');
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            out.push(b')');
        }
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Value::Float(number) => put_float(number, out),
        Value::Decimal { unscaled, scale } => put_decimal_literal(unscaled, scale, out),
        Value::Text(text) => put_quoted(text.as_bytes(), out),
        Value::Bytes(bytes) => put_quoted(bytes, out),
    }
}

/// Appends a decimal number inside the text of a statement. Negative numbers are in parentheses, because
/// `a - -1` could otherwise start a comment. A whole number ends with a point: without it the server
/// would read an integer.
pub(crate) fn put_decimal_literal(unscaled: i64, scale: u8, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'(');
    }
    put_decimal(unscaled, scale, out);
    if scale == 0 {
        out.push(b'.');
    }
    if unscaled < 0 {
        out.push(b')');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(unscaled: i64, scale: u8) -> String {
        let mut out = Vec::new();
        put_decimal(unscaled, scale, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_have_exactly_their_scale() {
        for (unscaled, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 3, "-0.005"),
            (100, 2, "1.00"),
            (-1_230, 2, "-12.30"),
            (7, 0, "7"),
            (i64::MAX, 0, "9223372036854775807"),
            (i64::MIN, 18, "-9.223372036854775808"),
            (i64::MIN, 19, "-0.9223372036854775808"),
            (i64::MIN, 20, "-0.09223372036854775808"),
        ] {
            assert_eq!(text(unscaled, scale), expected);
        }
    }

    #[test]
    fn the_length_of_a_decimal_is_known_before_it_is_written() {
        let powers = (0..19).map(|exponent| 10_i64.pow(exponent));
        let around = powers.flat_map(|power| [power - 1, power, -power, 1 - power]);
        for unscaled in around.chain([i64::MIN, i64::MAX]) {
            for scale in 0..=u8::MAX {
                let length = decimal_length(unscaled, scale);
                assert_eq!(text(unscaled, scale).len(), length, "{unscaled} {scale}");
            }
        }
    }
}
