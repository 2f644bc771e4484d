//! Values that clients send and servers return.

#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    Null,
    /// A whole number.
    Int(i64),
    Bit(bool),
    /// A floating-point number.
    Float(f64),
    /// The number `magnitude` / 10^`scale`.
    Decimal {
        /// Whether the number is less than zero.
        negative: bool,
        /// The digits of the number.
        magnitude: u128,
        /// How many digits are after the decimal point.
        scale: u8,
    },
    /// Money in ten-thousandths.
    Money(i64),
    /// Days since 0001-01-01.
    Date(u32),
    /// Time since midnight, in units of 10^-scale seconds.
    Time(u64),
    /// Days since 0001-01-01, and time since midnight in units of 10^-scale seconds.
    DateTime2(u32, u64),
    /// As `DateTime2`, in UTC, and the zone's offset from UTC in minutes.
    DateTimeOffset(u32, u64, i16),
    /// Days since 1900-01-01, and time since midnight in units of 1/300 s.
    DateTime(i32, u32),
    /// Days since 1900-01-01, and minutes since midnight.
    SmallDateTime(u16, u16),
    /// Text, sent as UTF-16.
    Text(String),
    /// Bytes, or text of one byte per character.
    Bytes(Vec<u8>),
    /// A value that is already encoded, including its length.
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
