//! The forms in which the rows of a load travel.
//!
//! In: values. Out: bytes appended to a reused buffer. Must never: allocate for a row. Texts hold
//! letters and digits alone: nothing in them is escaped.

use crate::copy_binary;

/// One form. Rows are written field by field, in the order of their columns.
pub trait Fields {
    /// A moment, made ready once.
    type Moment;

    /// A moment, in microseconds since 2000-01-01 00:00 UTC; whole seconds.
    fn moment(micros: i64) -> Self::Moment;
    /// Begins a row of so many fields.
    fn row(out: &mut Vec<u8>, fields: i16);
    /// Ends it.
    fn end(out: &mut Vec<u8>);
    /// A whole number.
    fn int(out: &mut Vec<u8>, value: u32);
    /// A small whole number.
    fn small(out: &mut Vec<u8>, value: u32);
    /// A decimal number: `value` / 10^`SCALE`, with a `SCALE` of 2 or 4.
    fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64);
    /// Text, as `write` appends it.
    fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>));
    /// A moment.
    fn time(out: &mut Vec<u8>, moment: &Self::Moment);
    /// NULL.
    fn null(out: &mut Vec<u8>);
}

/// PostgreSQL's binary COPY.
#[derive(Debug)]
pub struct CopyBinary;

impl Fields for CopyBinary {
    type Moment = i64;

    #[inline]
    fn moment(micros: i64) -> i64 {
        micros
    }
    #[inline]
    fn row(out: &mut Vec<u8>, fields: i16) {
        copy_binary::row(out, fields);
    }
    #[inline]
    fn end(_: &mut Vec<u8>) {}
    #[inline]
    fn int(out: &mut Vec<u8>, value: u32) {
        copy_binary::int(out, value);
    }
    #[inline]
    fn small(out: &mut Vec<u8>, value: u32) {
        copy_binary::small(out, value);
    }
    #[inline]
    fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
        copy_binary::number::<SCALE>(out, value);
    }
    #[inline]
    fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        copy_binary::text(out, write);
    }
    #[inline]
    fn time(out: &mut Vec<u8>, moment: &i64) {
        copy_binary::time(out, *moment);
    }
    #[inline]
    fn null(out: &mut Vec<u8>) {
        copy_binary::null(out);
    }
}

/// What MySQL's `LOAD DATA` reads by default: tabs between the values, a line a row.
#[derive(Debug)]
pub struct Lines;

impl Fields for Lines {
    type Moment = [u8; 19];

    fn moment(micros: i64) -> [u8; 19] {
        date_time(micros)
    }
    #[inline]
    fn row(_: &mut Vec<u8>, _: i16) {}
    #[inline]
    fn end(out: &mut Vec<u8>) {
        // In place of the tab behind the last field.
        if let Some(last) = out.last_mut() {
            *last = b'\n';
        }
    }
    #[inline]
    fn int(out: &mut Vec<u8>, value: u32) {
        digits(out, value);
        out.push(b'\t');
    }
    #[inline]
    fn small(out: &mut Vec<u8>, value: u32) {
        Self::int(out, value);
    }
    #[inline]
    fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
        decimal::<SCALE>(out, value);
        out.push(b'\t');
    }
    #[inline]
    fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        write(out);
        out.push(b'\t');
    }
    #[inline]
    fn time(out: &mut Vec<u8>, moment: &[u8; 19]) {
        out.extend_from_slice(moment);
        out.push(b'\t');
    }
    #[inline]
    fn null(out: &mut Vec<u8>) {
        out.extend_from_slice(b"\\N\t");
    }
}

/// The rows of an `INSERT`, each followed by a comma: `(1,'a'),(2,'b'),`.
#[derive(Debug)]
pub struct Literals;

impl Fields for Literals {
    type Moment = [u8; 19];

    fn moment(micros: i64) -> [u8; 19] {
        date_time(micros)
    }
    #[inline]
    fn row(out: &mut Vec<u8>, _: i16) {
        out.push(b'(');
    }
    #[inline]
    fn end(out: &mut Vec<u8>) {
        // The first in place of the comma behind the last field.
        out.pop();
        out.extend_from_slice(b"),");
    }
    #[inline]
    fn int(out: &mut Vec<u8>, value: u32) {
        digits(out, value);
        out.push(b',');
    }
    #[inline]
    fn small(out: &mut Vec<u8>, value: u32) {
        Self::int(out, value);
    }
    #[inline]
    fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
        decimal::<SCALE>(out, value);
        out.push(b',');
    }
    #[inline]
    fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        out.push(b'\'');
        write(out);
        out.extend_from_slice(b"',");
    }
    #[inline]
    fn time(out: &mut Vec<u8>, moment: &[u8; 19]) {
        Self::text(out, |out| out.extend_from_slice(moment));
    }
    #[inline]
    fn null(out: &mut Vec<u8>) {
        out.extend_from_slice(b"NULL,");
    }
}

#[inline]
fn digits(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[inline]
fn decimal<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
    let power = 10_u64.pow(SCALE as u32);
    let magnitude = value.unsigned_abs();
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(itoa::Buffer::new().format(magnitude / power).as_bytes());
    out.push(b'.');
    let mut part = magnitude % power;
    let at = out.len();
    out.resize(at + SCALE, b'0');
    for place in (at..at + SCALE).rev() {
        out[place] = b'0' + (part % 10) as u8;
        part /= 10;
    }
}

/// `2026-11-20 22:17:50`. The calendar by H. Hinnant, "chrono-Compatible Low-Level Date Algorithms"
/// (in the public domain): years begin in March there.
fn date_time(micros: i64) -> [u8; 19] {
    const DAY_S: i64 = 86_400;
    let seconds = micros.div_euclid(1_000_000);
    // From 0000-03-01 to 2000-01-01 it is 730,425 days.
    let days = seconds.div_euclid(DAY_S) + 730_425;
    let of_day = seconds.rem_euclid(DAY_S);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = match month {
        0..10 => (month + 3, 0),
        _ => (month - 9, 1),
    };
    let year = year + era * 400 + next;
    let mut text = *b"0000-00-00 00:00:00";
    let mut put = |places: std::ops::Range<usize>, mut value: i64| {
        for place in places.rev() {
            text[place] = b'0' + (value % 10) as u8;
            value /= 10;
        }
    };
    put(0..4, year);
    put(5..7, month);
    put(8..10, day);
    put(11..13, of_day / 3600);
    put(14..16, of_day / 60 % 60);
    put(17..19, of_day % 60);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written<F: Fields>(micros: i64) -> String {
        let mut out = Vec::new();
        F::row(&mut out, 6);
        F::int(&mut out, 100_000);
        F::small(&mut out, 7);
        F::number::<2>(&mut out, -1_005);
        F::number::<4>(&mut out, 12);
        F::text(&mut out, |out| out.extend_from_slice(b"OE"));
        F::time(&mut out, &F::moment(micros));
        F::null(&mut out);
        F::end(&mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn rows_are_lines_or_literals() {
        // 2026-11-20 22:17:50, as `date -u -d @...` has it.
        let micros = (1_795_213_070 - 946_684_800) * 1_000_000;
        assert_eq!(
            written::<Lines>(micros),
            "100000\t7\t-10.05\t0.0012\tOE\t2026-11-20 22:17:50\t\\N\n"
        );
        assert_eq!(
            written::<Literals>(micros),
            "(100000,7,-10.05,0.0012,'OE','2026-11-20 22:17:50',NULL),"
        );
    }

    #[test]
    fn moments_are_dates() {
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
}
