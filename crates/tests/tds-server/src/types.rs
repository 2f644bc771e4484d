//! Encodes and decodes types and their values. Panics if they are malformed.
//! Source: MS-TDS 2.2.5.4 (types), 2.2.5.5 (values).

use crate::datum::Datum;
use crate::packet::{Fields, decode_utf16, encode_utf16};

/// A type. The numbers are bytes, characters, or precision and scale, as in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// INTN of 1, 2, 4 or 8 bytes.
    Int(u8),
    /// INT4, which has no NULL.
    FixedInt,
    Bit,
    Float(u8),
    Decimal(u8, u8),
    Money(u8),
    DateTime(u8),
    Date,
    Time(u8),
    DateTime2(u8),
    DateTimeOffset(u8),
    Char(u16),
    VarChar(u16),
    NChar(u16),
    NVarChar(u16),
    Binary(u16),
    VarBinary(u16),
    VarCharMax,
    NVarCharMax,
    VarBinaryMax,
    Xml,
    Text,
    NText,
    Image,
    Guid,
    Variant,
}

/// Stands for NULL in place of a length, and for `max` in a type.
const NULL_OR_MAX: u16 = 0xffff;

impl Type {
    pub(crate) fn put(self, collation: [u8; 5], out: &mut Vec<u8>) {
        let mut put_with_length = |kind: u8, bytes: u16, collated: bool| {
            out.push(kind);
            out.extend_from_slice(&bytes.to_le_bytes());
            if collated {
                out.extend_from_slice(&collation);
            }
        };
        match self {
            Type::Char(n) => put_with_length(0xaf, n, true),
            Type::VarChar(n) => put_with_length(0xa7, n, true),
            Type::VarCharMax => put_with_length(0xa7, NULL_OR_MAX, true),
            Type::NChar(n) => put_with_length(0xef, 2 * n, true),
            Type::NVarChar(n) => put_with_length(0xe7, 2 * n, true),
            Type::NVarCharMax => put_with_length(0xe7, NULL_OR_MAX, true),
            Type::Binary(n) => put_with_length(0xad, n, false),
            Type::VarBinary(n) => put_with_length(0xa5, n, false),
            Type::VarBinaryMax => put_with_length(0xa5, NULL_OR_MAX, false),
            Type::Int(size) => out.extend_from_slice(&[0x26, size]),
            Type::FixedInt => out.push(0x38),
            Type::Bit => out.extend_from_slice(&[0x68, 1]),
            Type::Float(size) => out.extend_from_slice(&[0x6d, size]),
            Type::Decimal(digits, scale) => out.extend_from_slice(&[0x6a, 17, digits, scale]),
            Type::Money(size) => out.extend_from_slice(&[0x6e, size]),
            Type::DateTime(size) => out.extend_from_slice(&[0x6f, size]),
            Type::Date => out.push(0x28),
            Type::Time(scale) => out.extend_from_slice(&[0x29, scale]),
            Type::DateTime2(scale) => out.extend_from_slice(&[0x2a, scale]),
            Type::DateTimeOffset(scale) => out.extend_from_slice(&[0x2b, scale]),
            Type::Xml => out.extend_from_slice(&[0xf1, 0]),
            Type::Guid => out.extend_from_slice(&[0x24, 16]),
            Type::Variant => out.extend_from_slice(&[0x62, 0x49, 0x1f, 0, 0]),
            Type::Text | Type::NText | Type::Image => {
                out.push(match self {
                    Type::Text => 0x23,
                    Type::NText => 0x63,
                    _ => 0x22,
                });
                out.extend_from_slice(&0x7fff_ffff_u32.to_le_bytes());
                if self != Type::Image {
                    out.extend_from_slice(&collation);
                }
            }
        }
    }

    pub(crate) fn read(fields: &mut Fields<'_>) -> Type {
        let kind = fields.byte();
        let mut read_length = |collated: bool| {
            let bytes = fields.u16();
            if collated {
                fields.take(5);
            }
            bytes
        };
        match kind {
            0x26 => Type::Int(fields.byte()),
            0x38 => Type::FixedInt,
            0x68 => {
                assert_eq!(fields.byte(), 1);
                Type::Bit
            }
            0x6d => Type::Float(fields.byte()),
            0x6a | 0x6c => {
                let (size, digits, scale) = (fields.byte(), fields.byte(), fields.byte());
                let min_size = match digits {
                    1..=9 => 5,
                    10..=19 => 9,
                    20..=28 => 13,
                    29..=38 => 17,
                    _ => panic!("a decimal of {digits} digits"),
                };
                assert!(size >= min_size && size <= 17 && scale <= digits);
                Type::Decimal(digits, scale)
            }
            0x6e => Type::Money(fields.byte()),
            0x6f => Type::DateTime(fields.byte()),
            0x28 => Type::Date,
            0x29 => Type::Time(fields.byte()),
            0x2a => Type::DateTime2(fields.byte()),
            0xaf => Type::Char(read_length(true)),
            0xa7 => match read_length(true) {
                NULL_OR_MAX => Type::VarCharMax,
                bytes => {
                    assert!((1..=8000).contains(&bytes), "varchar({bytes})");
                    Type::VarChar(bytes)
                }
            },
            0xef => Type::NChar(read_length(true) / 2),
            0xe7 => match read_length(true) {
                NULL_OR_MAX => Type::NVarCharMax,
                bytes => {
                    assert!((2..=8000).contains(&bytes), "nvarchar of {bytes} bytes");
                    Type::NVarChar(bytes / 2)
                }
            },
            0xa5 => match read_length(false) {
                NULL_OR_MAX => Type::VarBinaryMax,
                bytes => Type::VarBinary(bytes),
            },
            kind => panic!("a parameter of type {kind:#x}"),
        }
    }
}

fn encode_decimal(negative: bool, magnitude: u128) -> Vec<u8> {
    let mut bytes = vec![u8::from(!negative)];
    bytes.extend_from_slice(&magnitude.to_le_bytes());
    bytes
}

fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

impl Datum {
    /// Encodes the value without its length.
    fn encode(&self, kind: Type) -> Vec<u8> {
        let time = |units: u64, scale: u8| units.to_le_bytes()[..time_bytes(scale)].to_vec();
        let days = |days: u32| days.to_le_bytes()[..3].to_vec();
        match (self, kind) {
            (Datum::Int(n), Type::Int(size)) => n.to_le_bytes()[..usize::from(size)].to_vec(),
            (Datum::Int(n), Type::FixedInt) => n.to_le_bytes()[..4].to_vec(),
            (Datum::Bit(bit), _) => vec![u8::from(*bit)],
            (Datum::Float(x), Type::Float(4)) => (*x as f32).to_le_bytes().to_vec(),
            (Datum::Float(x), _) => x.to_le_bytes().to_vec(),
            (
                Datum::Decimal {
                    negative,
                    magnitude,
                    ..
                },
                _,
            ) => encode_decimal(*negative, *magnitude),
            (Datum::Money(n), Type::Money(4)) => (*n as i32).to_le_bytes().to_vec(),
            // `money` has its upper half first.
            (Datum::Money(n), _) => [(n >> 32) as u32, *n as u32]
                .iter()
                .flat_map(|half| half.to_le_bytes())
                .collect(),
            (Datum::Date(n), _) => days(*n),
            (Datum::Time(units), Type::Time(scale)) => time(*units, scale),
            (Datum::DateTime2(day, units), Type::DateTime2(scale)) => {
                [time(*units, scale), days(*day)].concat()
            }
            (Datum::DateTimeOffset(day, units, zone), Type::DateTimeOffset(scale)) => {
                [time(*units, scale), days(*day), zone.to_le_bytes().to_vec()].concat()
            }
            (Datum::DateTime(day, ticks), _) => [day.to_le_bytes(), ticks.to_le_bytes()].concat(),
            (Datum::SmallDateTime(day, minutes), _) => {
                [day.to_le_bytes(), minutes.to_le_bytes()].concat()
            }
            (Datum::Text(text), _) => encode_utf16(text),
            (Datum::Bytes(bytes), _) => bytes.clone(),
            (datum, kind) => panic!("{datum:?} as {kind:?}"),
        }
    }

    pub(crate) fn put(&self, kind: Type, out: &mut Vec<u8>) {
        if let Datum::Raw(bytes) = self {
            return out.extend_from_slice(bytes);
        }
        let content = (*self != Datum::Null).then(|| self.encode(kind));
        match kind {
            Type::FixedInt => out.extend_from_slice(&content.expect("no NULL")),
            Type::Char(_)
            | Type::VarChar(_)
            | Type::NChar(_)
            | Type::NVarChar(_)
            | Type::Binary(_)
            | Type::VarBinary(_) => {
                let length = content
                    .as_ref()
                    .map_or(NULL_OR_MAX, |content| content.len() as u16);
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(&content.unwrap_or_default());
            }
            Type::VarCharMax | Type::NVarCharMax | Type::VarBinaryMax | Type::Xml => {
                let Some(content) = content else {
                    return out.extend_from_slice(&[0xff; 8]);
                };
                out.extend_from_slice(&(content.len() as u64).to_le_bytes());
                // Chunks of an odd length, so that characters are split between chunks.
                for chunk in content.chunks(content.len().div_ceil(2).max(1) | 1) {
                    out.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
                    out.extend_from_slice(chunk);
                }
                out.extend_from_slice(&[0; 4]);
            }
            Type::Text | Type::NText | Type::Image => {
                let Some(content) = content else {
                    return out.push(0);
                };
                out.push(16);
                out.extend_from_slice(&[7; 24]);
                out.extend_from_slice(&(content.len() as u32).to_le_bytes());
                out.extend_from_slice(&content);
            }
            Type::Variant => match content {
                None => out.extend_from_slice(&[0; 4]),
                // NVARCHAR with collation and maximum length, or INT4 without properties.
                Some(content) => {
                    let head: &[u8] = match self {
                        Datum::Text(_) => &[0xe7, 7, 9, 4, 0xd0, 0, 0x34, 0xff, 0xff],
                        _ => &[0x38, 0],
                    };
                    out.extend_from_slice(&((head.len() + content.len()) as u32).to_le_bytes());
                    out.extend_from_slice(head);
                    out.extend_from_slice(&content);
                }
            },
            _ => {
                let content = content.unwrap_or_default();
                out.push(content.len() as u8);
                out.extend_from_slice(&content);
            }
        }
    }

    pub(crate) fn read(kind: Type, fields: &mut Fields<'_>) -> Datum {
        let content = match kind {
            Type::FixedInt => Some(fields.take(4).to_vec()),
            Type::Char(_)
            | Type::VarChar(_)
            | Type::NChar(_)
            | Type::NVarChar(_)
            | Type::Binary(_)
            | Type::VarBinary(_) => match fields.u16() {
                NULL_OR_MAX => None,
                length => Some(fields.take(length.into()).to_vec()),
            },
            Type::VarCharMax | Type::NVarCharMax | Type::VarBinaryMax => read_chunks(fields),
            _ => match fields.byte() {
                0 => None,
                length => Some(fields.take(length.into()).to_vec()),
            },
        };
        content.map_or(Datum::Null, |content| Datum::decode(kind, &content))
    }

    fn decode(kind: Type, content: &[u8]) -> Datum {
        let mut fields = Fields(content);
        match kind {
            Type::Int(size) => {
                assert_eq!(content.len(), usize::from(size));
                let shift = 64 - 8 * u32::from(size);
                let mut bytes = [0; 8];
                bytes[..content.len()].copy_from_slice(content);
                match size {
                    1 => Datum::Int(i64::from(content[0])),
                    _ => Datum::Int(i64::from_le_bytes(bytes) << shift >> shift),
                }
            }
            Type::Bit => Datum::Bit(content[0] != 0),
            Type::Float(8) => Datum::Float(f64::from_bits(fields.number::<8>())),
            Type::Decimal(_, scale) => {
                let negative = fields.byte() == 0;
                let mut magnitude = [0; 16];
                magnitude[..content.len() - 1].copy_from_slice(&content[1..]);
                let magnitude = u128::from_le_bytes(magnitude);
                Datum::Decimal {
                    negative,
                    magnitude,
                    scale,
                }
            }
            Type::Money(4) => Datum::Money(i64::from(fields.u32() as i32)),
            Type::Money(_) => {
                let high = fields.u32();
                Datum::Money((i64::from(high) << 32) | i64::from(fields.u32()))
            }
            Type::Date => Datum::Date(fields.number::<3>() as u32),
            Type::DateTime2(scale) => {
                let mut bytes = [0; 8];
                let length = time_bytes(scale);
                assert_eq!(content.len(), length + 3);
                bytes[..length].copy_from_slice(fields.take(length));
                Datum::DateTime2(fields.number::<3>() as u32, u64::from_le_bytes(bytes))
            }
            Type::DateTime(8) => Datum::DateTime(fields.u32() as i32, fields.u32()),
            Type::NChar(_) | Type::NVarChar(_) | Type::NVarCharMax => {
                Datum::Text(decode_utf16(content))
            }
            Type::Char(limit) | Type::VarChar(limit) => {
                assert!(content.len() <= limit.into(), "longer than declared");
                Datum::Bytes(content.to_vec())
            }
            _ => Datum::Bytes(content.to_vec()),
        }
    }
}

/// Reads a value in chunks (PLP); `None` is NULL.
fn read_chunks(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    let total = fields.number::<8>();
    if total == u64::MAX {
        return None;
    }
    let mut content = Vec::new();
    loop {
        match fields.u32() {
            0 => break,
            length => content.extend_from_slice(fields.take(length as usize)),
        }
    }
    assert!(
        total == u64::MAX - 1 || total == content.len() as u64,
        "the total length"
    );
    Some(content)
}
