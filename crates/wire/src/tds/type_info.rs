//! Types of columns, and where their values end.
//!
//! In: bytes of COLMETADATA, ROW, NBCROW and RETURNVALUE. Out: types, and ranges of values. Must never:
//! read beyond the bytes, or take a length for granted before its bytes have arrived.
//! Source: MS-TDS 2.2.5.4 to 2.2.5.6, 2.2.7.4.

use super::packet::Reader;
use crate::violation::Violation;

/// Types on the wire.
pub(super) mod kind {
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

/// How the length of a value is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Layout {
    /// Always this many bytes.
    Fixed(u8),
    /// In one byte; 0: NULL.
    #[default]
    Byte,
    /// In two bytes; 0xffff: NULL.
    Short,
    /// In chunks (PLP).
    Chunks,
    /// In four bytes after a pointer and a time stamp; no pointer: NULL.
    Pointer,
    /// In four bytes; 0: NULL.
    Long,
}

/// A type on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeInfo {
    pub kind: u8,
    /// Digits after the point, or of the second.
    pub scale: u8,
    /// Texts in one-byte encodings are UTF-8.
    pub is_utf8: bool,
    pub(super) layout: Layout,
}

/// A column of a result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Column {
    pub(super) kind: TypeInfo,
    /// Offset of its name and length in bytes.
    pub(super) name: (usize, usize),
}

/// Why bytes could not be read: they have not arrived, or they never can be.
pub(super) enum Stop {
    Incomplete,
    Broken(Violation),
}

pub(super) fn broken(what: &'static str) -> Stop {
    Stop::Broken(Violation::Malformed(what))
}

fn need<T>(read: Option<T>) -> Result<T, Stop> {
    read.ok_or(Stop::Incomplete)
}

impl TypeInfo {
    /// Reads TYPE_INFO.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TypeInfo, Stop> {
        use kind::*;
        let kind = need(reader.byte())?;
        let mut info = TypeInfo {
            kind,
            ..TypeInfo::default()
        };
        info.layout = match kind {
            NULL => Layout::Fixed(0),
            INT1 | BIT => Layout::Fixed(1),
            INT2 => Layout::Fixed(2),
            INT4 | REAL | SMALLDATETIME | SMALLMONEY => Layout::Fixed(4),
            INT8 | FLOAT | MONEY | DATETIME => Layout::Fixed(8),
            DATE => Layout::Byte,
            GUID | INT_N | BIT_N | FLOAT_N | MONEY_N | DATETIME_N | OLD_BINARY | OLD_CHAR
            | OLD_VARBINARY | OLD_VARCHAR => {
                need(reader.byte())?;
                Layout::Byte
            }
            DECIMAL | NUMERIC => {
                let [_, _, scale] = need(reader.array())?;
                info.scale = scale;
                Layout::Byte
            }
            TIME | DATETIME2 | DATETIMEOFFSET => {
                info.scale = need(reader.byte())?;
                Layout::Byte
            }
            VARBINARY | BINARY | VARCHAR | CHAR | NVARCHAR | NCHAR => {
                let size = need(reader.u16())?;
                if !matches!(kind, VARBINARY | BINARY) {
                    info.set_collation(need(reader.array())?);
                }
                match size {
                    0xffff => Layout::Chunks,
                    _ => Layout::Short,
                }
            }
            TEXT | NTEXT | IMAGE => {
                need(reader.u32())?;
                if kind != IMAGE {
                    info.set_collation(need(reader.array())?);
                }
                Layout::Pointer
            }
            VARIANT => {
                need(reader.u32())?;
                Layout::Long
            }
            XML => {
                if need(reader.byte())? != 0 {
                    need(reader.short_text())?;
                    need(reader.short_text())?;
                    need(reader.text())?;
                }
                Layout::Chunks
            }
            UDT => {
                need(reader.u16())?;
                for _ in 0..3 {
                    need(reader.short_text())?;
                }
                need(reader.text())?;
                Layout::Chunks
            }
            _ => return Err(broken("a column of an unknown type")),
        };
        if info.scale > 38 || (info.scale > 7 && matches!(kind, TIME | DATETIME2 | DATETIMEOFFSET))
        {
            return Err(broken("a type with an impossible scale"));
        }
        Ok(info)
    }

    fn set_collation(&mut self, collation: [u8; 5]) {
        self.is_utf8 = super::encode::is_utf8(collation);
    }

    /// Reads a value up to its end.
    pub(super) fn value<'a>(self, reader: &mut Reader<'a>) -> Result<Raw<'a>, Stop> {
        let bytes = |taken: Option<&'a [u8]>| need(taken).map(Raw::Bytes);
        match self.layout {
            Layout::Fixed(0) => Ok(Raw::Null),
            Layout::Fixed(size) => bytes(reader.take(size.into())),
            Layout::Byte => match need(reader.byte())? {
                0 => Ok(Raw::Null),
                length => bytes(reader.take(length.into())),
            },
            Layout::Short => match need(reader.u16())? {
                0xffff => Ok(Raw::Null),
                length => bytes(reader.take(length.into())),
            },
            Layout::Long => match need(reader.u32())? {
                0 => Ok(Raw::Null),
                length => bytes(reader.take(length as usize)),
            },
            Layout::Pointer => match need(reader.byte())? {
                0 => Ok(Raw::Null),
                length => {
                    need(reader.take(usize::from(length) + 8))?;
                    let length = need(reader.u32())?;
                    bytes(reader.take(length as usize))
                }
            },
            Layout::Chunks => {
                if need(reader.u64())? == u64::MAX {
                    return Ok(Raw::Null);
                }
                let chunks = reader.0;
                while need(skip_chunk(reader))? {}
                let length = chunks.len() - reader.0.len();
                Ok(Raw::Chunks(&chunks[..length]))
            }
        }
    }

    /// Whether a value comes in chunks.
    pub(super) fn is_chunked(self) -> bool {
        self.layout == Layout::Chunks
    }
}

/// Skips a chunk; false: it was the empty one at the end.
pub(super) fn skip_chunk(reader: &mut Reader<'_>) -> Option<bool> {
    let length = reader.u32()?;
    reader.take(length as usize)?;
    Some(length > 0)
}

/// A value before it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw<'a> {
    Null,
    Bytes(&'a [u8]),
    /// Chunks, each with its length, and an empty one at the end.
    Chunks(&'a [u8]),
}

impl<'a> Raw<'a> {
    /// The parts of a value that is not NULL.
    pub(super) fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let (whole, mut chunks) = match self {
            Raw::Null => (None, Reader(&[])),
            Raw::Bytes(bytes) => (Some(bytes), Reader(&[])),
            Raw::Chunks(chunks) => (None, Reader(chunks)),
        };
        let chunks = std::iter::from_fn(move || {
            let length = chunks.u32().filter(|length| *length > 0)?;
            chunks.take(length as usize)
        });
        whole.into_iter().chain(chunks)
    }

    /// The value, if it is in one part.
    pub(super) fn whole(self) -> Option<&'a [u8]> {
        let mut pieces = self.pieces();
        let first = pieces.next().unwrap_or_default();
        pieces.next().is_none().then_some(first)
    }
}

/// Appends the columns of a COLMETADATA after its type; `offset`: of `reader` in the reply. False: it
/// describes nothing, because the columns are those of the result before.
pub(super) fn read_columns(
    reader: &mut Reader<'_>,
    offset: usize,
    columns: &mut Vec<Column>,
) -> Result<bool, Stop> {
    let start = reader.0.len();
    let count = need(reader.u16())?;
    if count == 0xffff {
        return Ok(false);
    }
    for _ in 0..count {
        // UserType and Flags.
        need(reader.take(6))?;
        let kind = TypeInfo::read(reader)?;
        if kind.layout == Layout::Pointer {
            let parts = need(reader.byte())?;
            for _ in 0..parts {
                need(reader.text())?;
            }
        }
        let length = usize::from(need(reader.byte())?) * 2;
        let at = offset + start - reader.0.len();
        need(reader.take(length))?;
        columns.push(Column {
            kind,
            name: (at, length),
        });
    }
    Ok(true)
}
