//! Values, as clients send them and servers return them.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A bit.
    Bit(bool),
    /// A floating-point number.
    Float(f64),
    /// The number `magnitude` / 10^`scale`.
    Decimal {
        /// Less than zero.
        negative: bool,
        /// Its digits.
        magnitude: u128,
        /// How many of them are after the point.
        scale: u8,
    },
    /// Money in ten-thousandths.
    Money(i64),
    /// Days since 0001-01-01.
    Date(u32),
    /// Time since midnight, in units of 10^-scale seconds.
    Time(u64),
    /// Days since 0001-01-01, and time as in `Time`.
    DateTime2(u32, u64),
    /// As `DateTime2`, in UTC, and minutes that the zone is ahead.
    DateTimeOffset(u32, u64, i16),
    /// Days since 1900-01-01, and three-hundredths of seconds.
    DateTime(i32, u32),
    /// Days since 1900-01-01, and minutes.
    SmallDateTime(u16, u16),
    /// Text, sent as UTF-16.
    Text(String),
    /// Text in one byte for each character, or bytes.
    Bytes(Vec<u8>),
    /// The bytes of the value, its length included, as they are.
    Raw(Vec<u8>),
}

impl From<i64> for Datum {
    fn from(number: i64) -> Datum {
        Datum::Int(number)
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Datum {
        Datum::Text(text.to_owned())
    }
}

impl From<&[u8]> for Datum {
    fn from(bytes: &[u8]) -> Datum {
        Datum::Bytes(bytes.to_vec())
    }
}
