//! PostgreSQL's COPY formats.
use super::load_time::Moment;

pub trait Format {
    const OPTION: &'static str;
    fn header(out: &mut Vec<u8>);
    fn trailer(out: &mut Vec<u8>);
    fn row(out: &mut Vec<u8>, fields: i16);
    fn int(out: &mut Vec<u8>, value: u32);
    fn small(out: &mut Vec<u8>, value: u32);
    /// `value` / 10^`SCALE`.
    fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64);
    fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>));
    fn time(out: &mut Vec<u8>, moment: &Moment);
    fn null(out: &mut Vec<u8>);
    fn end(out: &mut Vec<u8>);
}

pub struct Text;
impl Format for Text {
    const OPTION: &'static str = "text";
    fn header(_: &mut Vec<u8>) {}
    fn trailer(_: &mut Vec<u8>) {}
    #[inline]
    fn row(_: &mut Vec<u8>, _: i16) {}
    #[inline]
    fn int(out: &mut Vec<u8>, value: u32) {
        out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        out.push(b'\t');
    }
    #[inline]
    fn small(out: &mut Vec<u8>, value: u32) {
        Self::int(out, value);
    }
    #[inline]
    fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
        let power = 10_u64.pow(SCALE as u32);
        if value < 0 {
            out.push(b'-');
        }
        let value = value.unsigned_abs();
        out.extend_from_slice(itoa::Buffer::new().format(value / power).as_bytes());
        out.push(b'.');
        let mut left = value % power;
        let mut digits = [b'0'; SCALE];
        for digit in digits.iter_mut().rev() {
            *digit += (left % 10) as u8;
            left /= 10;
        }
        out.extend_from_slice(&digits);
        out.push(b'\t');
    }
    #[inline]
    fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        write(out);
        out.push(b'\t');
    }
    #[inline]
    fn time(out: &mut Vec<u8>, moment: &Moment) {
        out.extend_from_slice(moment.text.as_bytes());
        out.push(b'\t');
    }
    #[inline]
    fn null(out: &mut Vec<u8>) {
        out.extend_from_slice(b"\\N\t");
    }
    #[inline]
    fn end(out: &mut Vec<u8>) {
        if let Some(last) = out.last_mut() {
            *last = b'\n';
        }
    }
}

pub struct Binary;
impl Format for Binary {
    const OPTION: &'static str = "binary";
    fn header(out: &mut Vec<u8>) {
        out.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
    }
    fn trailer(out: &mut Vec<u8>) {
        out.extend_from_slice(&(-1_i16).to_be_bytes());
    }
    #[inline]
    fn row(out: &mut Vec<u8>, fields: i16) {
        out.extend_from_slice(&fields.to_be_bytes());
    }
    #[inline]
    fn int(out: &mut Vec<u8>, value: u32) {
        let [a, b, c, d] = value.to_be_bytes();
        out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]);
    }
    #[inline]
    fn small(out: &mut Vec<u8>, value: u32) {
        let [a, b] = (value as u16).to_be_bytes();
        out.extend_from_slice(&[0, 0, 0, 2, a, b]);
    }
    #[inline]
    fn number<const SCALE: usize>(out: &mut Vec<u8>, value: i64) {
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
    #[inline]
    fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        write(out);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
    #[inline]
    fn time(out: &mut Vec<u8>, moment: &Moment) {
        out.extend_from_slice(&[0, 0, 0, 8]);
        out.extend_from_slice(&moment.micros.to_be_bytes());
    }
    #[inline]
    fn null(out: &mut Vec<u8>) {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
    }
    #[inline]
    fn end(_: &mut Vec<u8>) {}
}
