//! Types of columns, and where their values end.
//!
//! In: bytes of COLMETADATA, ROW, NBCROW and RETURNVALUE. Out: types, and ranges of values. Must never:
//! read past the end of the buffer, or trust a length before that many bytes have arrived.
//! Source: MS-TDS 2.2.5.4 to 2.2.5.6, 2.2.7.4.

use super::packet::Reader;
use crate::violation::Violation;

/// The byte that identifies a type on the wire. `_N` types can be NULL; `OLD_` types are from before SQL
/// Server 7.0.
pub(super) mod data_type {
    pub const NULL: u8 = 0x1f;
    pub const IMAGE: u8 = 0x22;
    pub const TEXT: u8 = 0x23;
    pub const GUID: u8 = 0x24;
    pub const OLD_VARBINARY: u8 = 0x25;
    pub const INT_N: u8 = 0x26;
    pub const OLD_VARCHAR: u8 = 0x27;
    pub const DATE: u8 = 0x28;
    pub const TIME: u8 = 0x29;
    pub const DATETIME2: u8 = 0x2a;
    pub const DATETIMEOFFSET: u8 = 0x2b;
    pub const OLD_BINARY: u8 = 0x2d;
    pub const OLD_CHAR: u8 = 0x2f;
    pub const INT1: u8 = 0x30;
    pub const BIT: u8 = 0x32;
    pub const INT2: u8 = 0x34;
    pub const INT4: u8 = 0x38;
    pub const SMALLDATETIME: u8 = 0x3a;
    pub const REAL: u8 = 0x3b;
    pub const MONEY: u8 = 0x3c;
    pub const DATETIME: u8 = 0x3d;
    pub const FLOAT: u8 = 0x3e;
    pub const VARIANT: u8 = 0x62;
    pub const NTEXT: u8 = 0x63;
    pub const BIT_N: u8 = 0x68;
    pub const DECIMAL: u8 = 0x6a;
    pub const NUMERIC: u8 = 0x6c;
    pub const FLOAT_N: u8 = 0x6d;
    pub const MONEY_N: u8 = 0x6e;
    pub const DATETIME_N: u8 = 0x6f;
    pub const SMALLMONEY: u8 = 0x7a;
    pub const INT8: u8 = 0x7f;
    pub const VARBINARY: u8 = 0xa5;
    pub const VARCHAR: u8 = 0xa7;
    pub const BINARY: u8 = 0xad;
    pub const CHAR: u8 = 0xaf;
    pub const NVARCHAR: u8 = 0xe7;
    pub const NCHAR: u8 = 0xef;
    pub const UDT: u8 = 0xf0;
    pub const XML: u8 = 0xf1;
}

/// How the length of a value is sent before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LengthEncoding {
    /// Not at all: every value has this many bytes; 0 means that every value is NULL.
    Fixed(u8),
    /// A length of one byte; 0 means NULL.
    #[default]
    OneByte,
    /// A length of two bytes; 0xffff means NULL.
    TwoBytes,
    /// Chunks, each with a length of four bytes (PLP).
    Chunks,
    /// A text pointer, a timestamp and a length of four bytes; an empty pointer means NULL.
    TextPointer,
    /// A length of four bytes; 0 means NULL.
    FourBytes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeInfo {
    pub data_type: u8,
    /// Digits after the decimal point, or of the fraction of a second.
    pub scale: u8,
    /// The collation of texts, which determines the encoding of `char` and `varchar`.
    pub collation: [u8; 5],
    pub(super) length_encoding: LengthEncoding,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Column {
    pub(super) type_info: TypeInfo,
    /// Offset in the reply of the column's name, which is in UTF-16.
    pub(super) name_offset: usize,
    /// Length of the name, in bytes.
    pub(super) name_length: usize,
}

/// Why bytes could not be read.
pub(super) enum ReadError {
    /// More bytes have to arrive.
    Incomplete,
    /// The bytes violate the protocol.
    Malformed(Violation),
}

pub(super) fn malformed(reason: &'static str) -> ReadError {
    ReadError::Malformed(Violation::Malformed(reason))
}

fn or_incomplete<T>(value: Option<T>) -> Result<T, ReadError> {
    value.ok_or(ReadError::Incomplete)
}

impl TypeInfo {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TypeInfo, ReadError> {
        use data_type::*;
        let data_type = or_incomplete(reader.byte())?;
        let mut info = TypeInfo {
            data_type,
            ..TypeInfo::default()
        };
        info.length_encoding = match data_type {
            NULL => LengthEncoding::Fixed(0),
            INT1 | BIT => LengthEncoding::Fixed(1),
            INT2 => LengthEncoding::Fixed(2),
            INT4 | REAL | SMALLDATETIME | SMALLMONEY => LengthEncoding::Fixed(4),
            INT8 | FLOAT | MONEY | DATETIME => LengthEncoding::Fixed(8),
            DATE => LengthEncoding::OneByte,
            GUID | INT_N | BIT_N | FLOAT_N | MONEY_N | DATETIME_N | OLD_BINARY | OLD_CHAR
            | OLD_VARBINARY | OLD_VARCHAR => {
                or_incomplete(reader.byte())?;
                LengthEncoding::OneByte
            }
            DECIMAL | NUMERIC => {
                let [_size, _precision, scale] = or_incomplete(reader.array())?;
                info.scale = scale;
                LengthEncoding::OneByte
            }
            TIME | DATETIME2 | DATETIMEOFFSET => {
                info.scale = or_incomplete(reader.byte())?;
                LengthEncoding::OneByte
            }
            VARBINARY | BINARY | VARCHAR | CHAR | NVARCHAR | NCHAR => {
                let size = or_incomplete(reader.u16())?;
                if !matches!(data_type, VARBINARY | BINARY) {
                    info.collation = or_incomplete(reader.array())?;
                }
                match size {
                    0xffff => LengthEncoding::Chunks,
                    _ => LengthEncoding::TwoBytes,
                }
            }
            TEXT | NTEXT | IMAGE => {
                or_incomplete(reader.u32())?;
                if data_type != IMAGE {
                    info.collation = or_incomplete(reader.array())?;
                }
                LengthEncoding::TextPointer
            }
            VARIANT => {
                or_incomplete(reader.u32())?;
                LengthEncoding::FourBytes
            }
            XML => {
                if or_incomplete(reader.byte())? != 0 {
                    or_incomplete(reader.short_text())?;
                    or_incomplete(reader.short_text())?;
                    or_incomplete(reader.text())?;
                }
                LengthEncoding::Chunks
            }
            UDT => {
                or_incomplete(reader.u16())?;
                for _ in 0..3 {
                    or_incomplete(reader.short_text())?;
                }
                or_incomplete(reader.text())?;
                LengthEncoding::Chunks
            }
            _ => return Err(malformed("a column of an unknown type")),
        };
        if info.scale > 38
            || (info.scale > 7 && matches!(data_type, TIME | DATETIME2 | DATETIMEOFFSET))
        {
            return Err(malformed("a type with an impossible scale"));
        }
        Ok(info)
    }

    pub(super) fn read_value<'a>(self, reader: &mut Reader<'a>) -> Result<RawValue<'a>, ReadError> {
        let raw_bytes = |bytes: Option<&'a [u8]>| or_incomplete(bytes).map(RawValue::Bytes);
        match self.length_encoding {
            LengthEncoding::Fixed(0) => Ok(RawValue::Null),
            LengthEncoding::Fixed(size) => raw_bytes(reader.take(size.into())),
            LengthEncoding::OneByte => match or_incomplete(reader.byte())? {
                0 => Ok(RawValue::Null),
                length => raw_bytes(reader.take(length.into())),
            },
            LengthEncoding::TwoBytes => match or_incomplete(reader.u16())? {
                0xffff => Ok(RawValue::Null),
                length => raw_bytes(reader.take(length.into())),
            },
            LengthEncoding::FourBytes => match or_incomplete(reader.u32())? {
                0 => Ok(RawValue::Null),
                length => raw_bytes(reader.take(length as usize)),
            },
            LengthEncoding::TextPointer => match or_incomplete(reader.byte())? {
                0 => Ok(RawValue::Null),
                length => {
                    or_incomplete(reader.take(usize::from(length) + 8))?;
                    let length = or_incomplete(reader.u32())?;
                    raw_bytes(reader.take(length as usize))
                }
            },
            LengthEncoding::Chunks => {
                if or_incomplete(reader.u64())? == u64::MAX {
                    return Ok(RawValue::Null);
                }
                let chunks = reader.0;
                while or_incomplete(skip_chunk(reader))? {}
                let length = chunks.len() - reader.0.len();
                Ok(RawValue::Chunks(&chunks[..length]))
            }
        }
    }

    pub(super) fn is_chunked(self) -> bool {
        self.length_encoding == LengthEncoding::Chunks
    }
}

/// Skips a chunk; `Some(false)`: it was the empty chunk at the end. `None`: the chunk is incomplete.
pub(super) fn skip_chunk(reader: &mut Reader<'_>) -> Option<bool> {
    let length = reader.u32()?;
    reader.take(length as usize)?;
    Some(length > 0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawValue<'a> {
    Null,
    Bytes(&'a [u8]),
    /// Chunks, each after its length, and an empty chunk at the end.
    Chunks(&'a [u8]),
}

impl<'a> RawValue<'a> {
    /// The pieces of a value; none for NULL.
    pub(super) fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, mut unread_chunks) = match self {
            RawValue::Null => (None, Reader(&[])),
            RawValue::Bytes(bytes) => (Some(bytes), Reader(&[])),
            RawValue::Chunks(chunks) => (None, Reader(chunks)),
        };
        let chunks = std::iter::from_fn(move || {
            let length = unread_chunks.u32().filter(|length| *length > 0)?;
            unread_chunks.take(length as usize)
        });
        bytes.into_iter().chain(chunks)
    }

    /// The value, if it is in one piece; empty for NULL.
    pub(super) fn as_one_piece(self) -> Option<&'a [u8]> {
        let mut pieces = self.pieces();
        let first = pieces.next().unwrap_or_default();
        pieces.next().is_none().then_some(first)
    }
}

/// Reads a COLMETADATA token after its type, and appends its columns. `offset` is the position of `reader`
/// in the reply. Returns false if the token has no columns, which means that those of the previous result
/// apply.
pub(super) fn read_columns(
    reader: &mut Reader<'_>,
    offset: usize,
    columns: &mut Vec<Column>,
) -> Result<bool, ReadError> {
    let start = reader.0.len();
    let count = or_incomplete(reader.u16())?;
    if count == 0xffff {
        return Ok(false);
    }
    for _ in 0..count {
        // UserType and Flags.
        or_incomplete(reader.take(6))?;
        let type_info = TypeInfo::read(reader)?;
        if type_info.length_encoding == LengthEncoding::TextPointer {
            let table_name_parts = or_incomplete(reader.byte())?;
            for _ in 0..table_name_parts {
                or_incomplete(reader.text())?;
            }
        }
        let name_length = usize::from(or_incomplete(reader.byte())?) * 2;
        let name_offset = offset + start - reader.0.len();
        or_incomplete(reader.take(name_length))?;
        columns.push(Column {
            type_info,
            name_offset,
            name_length,
        });
    }
    Ok(true)
}
