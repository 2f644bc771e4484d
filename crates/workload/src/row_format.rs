//! Formats of the rows that a load sends.
//!
//! Values are appended to a reused buffer; writing a row must not allocate. Texts consist of
//! letters and digits only, so nothing needs escaping.

/// A row format. Rows are written field by field, in column order.
pub trait RowFormat {
    type Timestamp;

    fn write_header(_: &mut Vec<u8>) {}
    fn write_trailer(_: &mut Vec<u8>) {}
    /// Formats a timestamp, given in microseconds since 2000-01-01 00:00 UTC, which must be whole seconds.
    fn prepare_timestamp(micros: i64) -> Self::Timestamp;
    fn begin_row(out: &mut Vec<u8>, fields: i16);
    fn end_row(out: &mut Vec<u8>);
    fn write_int(out: &mut Vec<u8>, value: u32);
    fn write_small_int(out: &mut Vec<u8>, value: u32);
    /// Writes a decimal number: `value` / 10^`SCALE`, with a `SCALE` of 2 or 4.
    fn write_decimal<const SCALE: usize>(out: &mut Vec<u8>, value: i64);
    /// Writes a text: `write` appends its bytes.
    fn write_text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>));
    fn write_timestamp(out: &mut Vec<u8>, timestamp: &Self::Timestamp);
    fn write_null(out: &mut Vec<u8>);
}

/// PostgreSQL's binary COPY (manual, COPY, "Binary Format"; `numeric_send` for numbers).
///
/// The binary format takes less CPU time than text, although the data grows from 79 MB to 101 MB. Measured on
/// PostgreSQL 15 for one warehouse and the items: the server, which parses no numbers and dates, takes 0.60 s
/// instead of 0.76 s, and the client generates the rows in 56 ms instead of 82 ms.
#[derive(Debug)]
pub struct CopyBinary;

impl CopyBinary {
    pub const OPTION: &'static str = "format binary";
}

impl RowFormat for CopyBinary {
    type Timestamp = i64;

    fn write_header(out: &mut Vec<u8>) {
        out.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
    }
    fn write_trailer(out: &mut Vec<u8>) {
        out.extend_from_slice(&(-1_i16).to_be_bytes());
    }
    #[inline]
    fn prepare_timestamp(micros: i64) -> i64 {
        micros
    }
    #[inline]
    fn begin_row(out: &mut Vec<u8>, fields: i16) {
        out.extend_from_slice(&fields.to_be_bytes());
    }
    #[inline]
    fn end_row(_: &mut Vec<u8>) {}
    #[inline]
    fn write_int(out: &mut Vec<u8>, value: u32) {
        let [a, b, c, d] = value.to_be_bytes();
        out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]);
    }
    #[inline]
    fn write_small_int(out: &mut Vec<u8>, value: u32) {
        let [a, b] = (value as u16).to_be_bytes();
        out.extend_from_slice(&[0, 0, 0, 2, a, b]);
    }
    #[inline]
    fn write_decimal<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
        // Two base-10,000 digits before the point and one after it, which is enough for a scale of 2 or 4.
        let power = 10_u64.pow(SCALE as u32);
        let magnitude = value.unsigned_abs();
        let (whole, part) = (magnitude / power, (magnitude % power) * (10_000 / power));
        let digits = [
            (whole / 10_000) as u16,
            (whole % 10_000) as u16,
            part as u16,
        ];
        let first_digit = digits.iter().position(|digit| *digit != 0).unwrap_or(3);
        let last_digit = digits.iter().rposition(|digit| *digit != 0).unwrap_or(2);
        let count = if first_digit == 3 { 0 } else { last_digit + 1 - first_digit };
        let weight: i16 = if count == 0 { 0 } else { 1 - first_digit as i16 };
        let sign: u16 = if value < 0 { 0x4000 } else { 0 };
        out.extend_from_slice(&(8 + 2 * count as u32).to_be_bytes());
        out.extend_from_slice(&(count as u16).to_be_bytes());
        out.extend_from_slice(&weight.to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&(SCALE as u16).to_be_bytes());
        for digit in &digits[first_digit..first_digit + count] {
            out.extend_from_slice(&digit.to_be_bytes());
        }
    }
    #[inline]
    fn write_text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        write(out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
    #[inline]
    fn write_timestamp(out: &mut Vec<u8>, micros: &i64) {
        out.extend_from_slice(&[0, 0, 0, 8]);
        out.extend_from_slice(&micros.to_be_bytes());
    }
    #[inline]
    fn write_null(out: &mut Vec<u8>) {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
    }
}

/// Values as text, each followed by a separator: SQL literals, or fields of a file for `LOAD DATA`.
#[derive(Debug)]
pub struct TextFormat<const IS_SQL: bool>;

/// The default format of MySQL's `LOAD DATA`, and COPY's text format: tab-separated values, one row per line.
pub type TabSeparated = TextFormat<false>;

/// The rows of an `INSERT`, each followed by a comma: `(1,'a'),(2,'b'),`.
pub type InsertValues = TextFormat<true>;

impl<const IS_SQL: bool> TextFormat<IS_SQL> {
    const SEPARATOR: u8 = if IS_SQL { b',' } else { b'\t' };
}

impl<const IS_SQL: bool> RowFormat for TextFormat<IS_SQL> {
    type Timestamp = [u8; 19];

    fn prepare_timestamp(micros: i64) -> [u8; 19] {
        date_time(micros)
    }
    #[inline]
    fn begin_row(out: &mut Vec<u8>, _: i16) {
        if IS_SQL {
            out.push(b'(');
        }
    }
    #[inline]
    fn end_row(out: &mut Vec<u8>) {
        // Remove the separator after the last field.
        out.pop();
        out.extend_from_slice(if IS_SQL { b"),".as_slice() } else { b"\n" });
    }
    #[inline]
    fn write_int(out: &mut Vec<u8>, value: u32) {
        out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        out.push(Self::SEPARATOR);
    }
    #[inline]
    fn write_small_int(out: &mut Vec<u8>, value: u32) {
        Self::write_int(out, value);
    }
    #[inline]
    fn write_decimal<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
        push_decimal::<SCALE>(out, value);
        out.push(Self::SEPARATOR);
    }
    #[inline]
    fn write_text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        if IS_SQL {
            out.push(b'\'');
        }
        write(out);
        if IS_SQL {
            out.push(b'\'');
        }
        out.push(Self::SEPARATOR);
    }
    #[inline]
    fn write_timestamp(out: &mut Vec<u8>, timestamp: &[u8; 19]) {
        Self::write_text(out, |out| out.extend_from_slice(timestamp));
    }
    #[inline]
    fn write_null(out: &mut Vec<u8>) {
        out.extend_from_slice(if IS_SQL { b"NULL".as_slice() } else { b"\\N" });
        out.push(Self::SEPARATOR);
    }
}

#[inline]
fn push_decimal<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
    let power = 10_u64.pow(SCALE as u32);
    let magnitude = value.unsigned_abs();
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(itoa::Buffer::new().format(magnitude / power).as_bytes());
    out.push(b'.');
    let mut part = magnitude % power;
    let start = out.len();
    out.resize(start + SCALE, b'0');
    for position in (start..start + SCALE).rev() {
        out[position] = b'0' + (part % 10) as u8;
        part /= 10;
    }
}

/// Microseconds since 2000-01-01 00:00 UTC as `2026-11-20 22:17:50`.
///
/// # Panics
/// Outside of the years 0 to 9999, which no load generates.
fn date_time(micros: i64) -> [u8; 19] {
    let epoch = jiff::civil::date(2000, 1, 1).at(0, 0, 0, 0);
    let text = (epoch + jiff::SignedDuration::from_micros(micros))
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string();
    let text = text.into_bytes().try_into();
    text.expect("19 characters")
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn encode_row<F: RowFormat>(micros: i64) -> String {
        let mut out = Vec::new();
        F::begin_row(&mut out, 6);
        F::write_int(&mut out, 100_000);
        F::write_small_int(&mut out, 7);
        F::write_decimal::<2>(&mut out, -1_005);
        F::write_decimal::<4>(&mut out, 12);
        F::write_text(&mut out, |out| out.extend_from_slice(b"OE"));
        F::write_timestamp(&mut out, &F::prepare_timestamp(micros));
        F::write_null(&mut out);
        F::end_row(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn rows_are_tab_separated_or_insert_values() {
        // 2026-11-20 22:17:50, from `date -u -d @...`.
        let micros = (1_795_213_070 - 946_684_800) * 1_000_000;
        encode_row::<TabSeparated>(micros)
            .assert_equals("100000\t7\t-10.05\t0.0012\tOE\t2026-11-20 22:17:50\t\\N\n");
        encode_row::<InsertValues>(micros)
            .assert_equals("(100000,7,-10.05,0.0012,'OE','2026-11-20 22:17:50',NULL),");
    }

    #[test]
    fn timestamps_are_written_as_date_and_time() {
        let text = |days: i64| {
            let text = date_time((days * 86_400 + 86_399) * 1_000_000);
            String::from_utf8(text.to_vec()).expect("text")
        };
        assert_eq!(text(0), "2000-01-01 23:59:59");
        assert_eq!(text(-1), "1999-12-31 23:59:59");
        assert_eq!(text(59), "2000-02-29 23:59:59");
        assert_eq!(text(60), "2000-03-01 23:59:59");
        assert_eq!(text(365 + 366 + 365 + 365 + 31 + 28), "2004-02-29 23:59:59");
        assert_eq!(text(36_525 + 31 + 28), "2100-03-01 23:59:59");
    }

    fn written_bytes(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    /// Number of digits, weight, sign, scale, then the digits, as `numeric_send` writes them.
    #[test]
    fn decimals_are_encoded_in_base_10000_digits() {
        for (value, fields) in [
            (0, &[0, 0, 0, 2][..]),
            (-10 * 100, &[1, 0, 0x4000, 2, 10]),
            (300_000 * 100, &[1, 1, 0, 2, 30]),
            (123_456_789, &[3, 1, 0, 2, 123, 4567, 8900]),
            (50_000 * 100, &[1, 1, 0, 2, 5]),
            (999_999, &[2, 0, 0, 2, 9999, 9900]),
            (1, &[1, 0xFFFF, 0, 2, 100]),
        ] {
            let bytes = written_bytes(|out| CopyBinary::write_decimal::<2>(out, value));
            let expected: Vec<u8> = fields
                .iter()
                .flat_map(|field: &u16| field.to_be_bytes())
                .collect();
            assert_eq!(bytes[..4], (expected.len() as u32).to_be_bytes(), "{value}");
            assert_eq!(bytes[4..], expected, "{value}");
        }
        let bytes = written_bytes(|out| CopyBinary::write_decimal::<4>(out, 1_234));
        assert_eq!(bytes[4..], [0, 1, 0xFF, 0xFF, 0, 0, 0, 4, 0x04, 0xD2]);
    }

    #[test]
    fn fields_are_prefixed_with_their_lengths() {
        assert_eq!(
            written_bytes(|out| CopyBinary::write_int(out, 258)),
            [0, 0, 0, 4, 0, 0, 1, 2]
        );
        assert_eq!(
            written_bytes(|out| CopyBinary::write_small_int(out, 258)),
            [0, 0, 0, 2, 1, 2]
        );
        assert_eq!(written_bytes(CopyBinary::write_null), [255; 4]);
        assert_eq!(written_bytes(|out| CopyBinary::begin_row(out, 3)), [0, 3]);
        let bytes =
            written_bytes(|out| CopyBinary::write_text(out, |out| out.extend_from_slice(b"OE")));
        assert_eq!(bytes, [0, 0, 0, 2, b'O', b'E']);
        assert_eq!(
            written_bytes(|out| CopyBinary::write_timestamp(out, &1)),
            [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]
        );
        assert_eq!(written_bytes(CopyBinary::write_header).len(), 19);
    }
}
