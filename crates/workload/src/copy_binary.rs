//! Fields of PostgreSQL's binary COPY format.
//!
//! In: values. Out: bytes appended to a reused buffer. Must never: allocate for a row. Format:
//! PostgreSQL manual, COPY, "Binary Format"; `numeric_send` for numbers.
//!
//! Binary, not text: a warehouse with the items is 101 MB instead of 79 MB, but the server stores
//! it with less work (measured on PostgreSQL 15: 0.60 s of its CPU against 0.76 s, for it reads no
//! numbers and dates), and making the rows costs the client 56 ms instead of 82 ms.

/// The option of the COPY statement.
pub const OPTION: &str = "format binary";

/// Begins a COPY.
pub fn header(out: &mut Vec<u8>) {
    out.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
}

/// Ends a COPY.
pub fn trailer(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i16).to_be_bytes());
}

/// Begins a row of so many fields.
#[inline]
pub fn row(out: &mut Vec<u8>, fields: i16) {
    out.extend_from_slice(&fields.to_be_bytes());
}

/// An `integer`.
#[inline]
pub fn int(out: &mut Vec<u8>, value: u32) {
    let [a, b, c, d] = value.to_be_bytes();
    out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]);
}

/// A `smallint`.
#[inline]
pub fn small(out: &mut Vec<u8>, value: u32) {
    let [a, b] = (value as u16).to_be_bytes();
    out.extend_from_slice(&[0, 0, 0, 2, a, b]);
}

/// A `numeric`: `value` / 10^`SCALE`, with a `SCALE` of 2 or 4.
#[inline]
pub fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
    // Digits of base 10,000 around the point; both scales are at most one digit behind it.
    let power = 10_u64.pow(SCALE as u32);
    let magnitude = value.unsigned_abs();
    let (whole, part) = (magnitude / power, (magnitude % power) * (10_000 / power));
    let digits = [
        (whole / 10_000) as u16,
        (whole % 10_000) as u16,
        part as u16,
    ];
    let first = digits.iter().position(|digit| *digit != 0).unwrap_or(3);
    let last = digits.iter().rposition(|digit| *digit != 0).unwrap_or(2);
    let count = if first == 3 { 0 } else { last + 1 - first };
    let weight: i16 = if count == 0 { 0 } else { 1 - first as i16 };
    let sign: u16 = if value < 0 { 0x4000 } else { 0 };
    out.extend_from_slice(&(8 + 2 * count as u32).to_be_bytes());
    out.extend_from_slice(&(count as u16).to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&(SCALE as u16).to_be_bytes());
    for digit in &digits[first..first + count] {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

/// Text of any type, as `write` appends it.
#[inline]
pub fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A `timestamptz`, in microseconds since 2000-01-01 00:00 UTC.
#[inline]
pub fn time(out: &mut Vec<u8>, micros: i64) {
    out.extend_from_slice(&[0, 0, 0, 8]);
    out.extend_from_slice(&micros.to_be_bytes());
}

/// NULL.
#[inline]
pub fn null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i32).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    /// Count of digits, weight, sign, scale, then the digits: as `numeric_send` writes them.
    #[test]
    fn numbers_are_in_digits_of_ten_thousand() {
        for (value, fields) in [
            (0, &[0, 0, 0, 2][..]),
            (-10 * 100, &[1, 0, 0x4000, 2, 10]),
            (300_000 * 100, &[1, 1, 0, 2, 30]),
            (123_456_789, &[3, 1, 0, 2, 123, 4567, 8900]),
            (50_000 * 100, &[1, 1, 0, 2, 5]),
            (999_999, &[2, 0, 0, 2, 9999, 9900]),
            (1, &[1, 0xFFFF, 0, 2, 100]),
        ] {
            let bytes = written(|out| number::<2>(out, value));
            let expected: Vec<u8> = fields
                .iter()
                .flat_map(|field: &u16| field.to_be_bytes())
                .collect();
            assert_eq!(bytes[..4], (expected.len() as u32).to_be_bytes(), "{value}");
            assert_eq!(bytes[4..], expected, "{value}");
        }
        let bytes = written(|out| number::<4>(out, 1_234));
        assert_eq!(bytes[4..], [0, 1, 0xFF, 0xFF, 0, 0, 0, 4, 0x04, 0xD2]);
    }

    #[test]
    fn fields_carry_their_lengths() {
        assert_eq!(written(|out| int(out, 258)), [0, 0, 0, 4, 0, 0, 1, 2]);
        assert_eq!(written(|out| small(out, 258)), [0, 0, 0, 2, 1, 2]);
        assert_eq!(written(null), [255; 4]);
        assert_eq!(written(|out| row(out, 3)), [0, 3]);
        let bytes = written(|out| text(out, |out| out.extend_from_slice(b"OE")));
        assert_eq!(bytes, [0, 0, 0, 2, b'O', b'E']);
        assert_eq!(
            written(|out| time(out, 1)),
            [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]
        );
        assert_eq!(written(header).len(), 19);
    }
}
