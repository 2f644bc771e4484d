//! Reads bulk loads: `INSERT BULK` and the rows after it. Panics if they are malformed.
//! Source: MS-TDS 2.2.6.1.

use crate::datum::Datum;
use crate::packet::Fields;
use crate::types::Type;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct BulkRows {
    /// The `INSERT BULK` statement.
    pub statement: String,
    /// Names and types of the columns, as COLMETADATA before the rows declares them.
    pub columns: Vec<(String, Type)>,
    pub rows: Vec<Vec<Datum>>,
}

/// Names of the columns in `INSERT BULK t ([a] int, b varchar(3)) …`.
fn column_names_in_statement(statement: &str) -> Vec<String> {
    let list_start = statement.find('(').expect("a list of columns");
    let (mut depth, mut part, mut parts) = (0, String::new(), Vec::new());
    for character in statement[list_start..].chars() {
        match character {
            '(' if depth == 0 => depth = 1,
            '(' => depth += 1,
            ')' if depth == 1 => break,
            ')' => depth -= 1,
            ',' if depth == 1 => parts.push(std::mem::take(&mut part)),
            character => part.push(character),
        }
    }
    parts.push(part);
    let name = |part: &String| {
        let part = part.trim();
        match part.strip_prefix('[') {
            Some(quoted) => quoted.split(']').next().expect("a name").to_owned(),
            None => part.split(' ').next().expect("a name").to_owned(),
        }
    };
    parts.iter().map(name).collect()
}

/// Reads the message that follows `statement`.
pub(crate) fn read_rows(statement: String, message: &[u8]) -> BulkRows {
    let mut fields = Fields(message);
    assert_eq!(fields.byte(), 0x81, "COLMETADATA comes first");
    let count = fields.u16();
    let mut bulk = BulkRows {
        statement,
        ..BulkRows::default()
    };
    for _ in 0..count {
        assert_eq!(fields.u32(), 0, "the user type");
        let flags = fields.u16();
        assert_eq!(flags & !0x19, 0, "flags {flags:#x}");
        let column_type = Type::read(&mut fields);
        bulk.columns.push((fields.short_text(), column_type));
    }
    let names: Vec<_> = bulk.columns.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(
        names,
        column_names_in_statement(&bulk.statement),
        "the announced columns"
    );
    loop {
        match fields.byte() {
            0xd1 => {
                let row = bulk.columns.iter();
                let row = row.map(|(_, column_type)| Datum::read(*column_type, &mut fields));
                bulk.rows.push(row.collect());
            }
            0xfd => {
                fields.take(12);
                assert!(fields.is_empty(), "bytes after DONE");
                return bulk;
            }
            token => panic!("token {token:#x} in a bulk load"),
        }
    }
}
