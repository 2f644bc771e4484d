//! How rows are loaded into a table of SQL Server: as bulk streams.
//!
//! Takes rows as text, and sends them with the types of the table's columns. Must never send a value that
//! does not fit its column: the server would refuse the whole stream.

use super::{Loader, check_all_stored};
use crate::copy::RowSource;
use crate::{Error, Result, sql};
use prony_server::Control;
use prony_wire::Value;
use prony_wire::tds::{BulkColumn, BulkLoad, BulkOptions, SqlType};

/// Maximum bytes of rows in a stream, as text; a stop has to wait for one stream.
const STREAM_BYTES_MAX: u64 = 4 << 20;
/// Bytes of rows in a part of a stream, as text. A loader needs a few times this memory.
const PART_BYTES: usize = 16 << 10;
/// Space for the row that fills a part.
const LAST_ROW_BYTES: usize = 4096;
/// NULL in the text format of rows.
const NULL: &[u8] = b"\\N";

/// How the server logs the rows of bulk streams.
#[derive(Clone, Debug)]
pub struct BulkStream {
    /// The database's recovery model, such as `SIMPLE`.
    recovery_model: String,
}

impl BulkStream {
    /// Reads the settings of the database that determine how it logs a load.
    pub fn of(control: &mut Control) -> Result<Self> {
        let select = "select recovery_model_desc from sys.databases where database_id = db_id()";
        let row = sql::query_row(control, "reading the recovery model", select)?;
        Ok(BulkStream {
            recovery_model: row.text(0).unwrap_or("unknown").to_owned(),
        })
    }

    /// The method in the report of a load. Rows of a table without indexes that a load locks are logged
    /// minimally (only the pages, not the rows) unless the recovery model is FULL.
    pub fn description(&self) -> String {
        let model = &self.recovery_model;
        match model.as_str() {
            "SIMPLE" | "BULK_LOGGED" => {
                format!("bulk streams, minimally logged (TABLOCK, recovery model {model})")
            }
            _ => format!("bulk streams, fully logged (recovery model {model})"),
        }
    }

    /// Sends rows of a table; `columns` are the names of the values, comma-separated. The rows join the open
    /// transaction.
    pub fn send(
        &self,
        loader: &Loader<'_>,
        control: &mut Control,
        (table, columns): (&str, &str),
        mut rows: impl RowSource,
    ) -> Result<()> {
        let activity = format!("sending rows of {table}");
        let names: Vec<&str> = columns.split(',').map(str::trim).collect();
        let columns = read_columns(control, table, &names)?;
        // Babelfish ignores the names in the statement, so columns are sent in the order of the table.
        let fields = columns.iter().map(|column| {
            let position = names.iter().position(|name| *name == column.name);
            (position.unwrap_or_default(), column.sql_type)
        });
        let fields: Vec<(usize, SqlType)> = fields.collect();
        let options = BulkOptions {
            table_lock: true,
            keep_nulls: true,
            ..BulkOptions::default()
        };
        let mut load = BulkLoad::new(table, columns, &options, control.collation());
        let mut bytes = Vec::with_capacity(PART_BYTES + LAST_ROW_BYTES);
        let server_error = |source| sql::server_error(&activity, source);
        while !rows.is_done() {
            loader.check_stop()?;
            load.clear();
            let mut stream = control.start_bulk_load(&load).map_err(server_error)?;
            let (mut sent_rows, mut sent_bytes) = (0, 0);
            while !rows.is_done() && sent_bytes < STREAM_BYTES_MAX {
                bytes.clear();
                let count = rows.append_rows(&mut bytes, PART_BYTES);
                push_rows(&mut load, &fields, &bytes).map_err(|problem| Error::Data {
                    problem: format!("{activity}: {problem}"),
                    remedy: "drop the table, and load again".into(),
                })?;
                stream.send(&mut load).map_err(server_error)?;
                (sent_rows, sent_bytes) = (sent_rows + count, sent_bytes + bytes.len() as u64);
                loader.meter.add_sent(count, bytes.len() as u64);
            }
            load.finish();
            let stored = stream.finish(&mut load).map_err(server_error)?;
            check_all_stored(table, sent_rows, stored)?;
        }
        Ok(())
    }
}

/// Reads the columns of a table that the rows have, in the order of the table, with their types.
fn read_columns(control: &mut Control, table: &str, names: &[&str]) -> Result<Vec<BulkColumn>> {
    let select = format!(
        "select c.name, t.name, c.max_length, c.precision, c.scale, cast(c.is_nullable as int) \
         from sys.columns c join sys.types t on t.user_type_id = c.user_type_id \
         where c.object_id = object_id('{table}') order by c.column_id"
    );
    let mut rows = sql::query_rows(control, "reading the types of the columns", &select)?;
    rows.retain(|row| row.text(0).is_some_and(|name| names.contains(&name)));
    let data_error = |problem: String| Error::Data {
        problem,
        remedy: "drop the table, and load again".into(),
    };
    if rows.len() != names.len() {
        let columns = names.join(", ");
        return Err(data_error(format!(
            "{table} does not have all columns of its rows ({columns})"
        )));
    }
    let column = |row: &sql::ResultRow| {
        let byte = |column| row.int(column).and_then(|number| u8::try_from(number).ok());
        let (name, type_name) = (
            row.text(0).unwrap_or_default(),
            row.text(1).unwrap_or_default(),
        );
        let sql_type = sql_type_of(type_name, row.int(2).unwrap_or(0), byte(3), byte(4));
        Ok(BulkColumn {
            name: name.to_owned(),
            sql_type: sql_type.ok_or_else(|| {
                data_error(format!(
                    "column {name} of {table} is {type_name}, a type that Prony cannot load"
                ))
            })?,
            nullable: row.int(5) == Some(1),
        })
    };
    rows.iter().map(column).collect()
}

/// The type with this name in the catalog. `length` is in bytes, -1 for `max`.
fn sql_type_of(
    name: &str,
    length: i64,
    precision: Option<u8>,
    scale: Option<u8>,
) -> Option<SqlType> {
    let bytes = u16::try_from(length).ok();
    Some(match name {
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "decimal" | "numeric" => SqlType::Decimal {
            precision: precision?,
            scale: scale?,
        },
        "money" => SqlType::Money,
        "smallmoney" => SqlType::SmallMoney,
        "datetime" => SqlType::DateTime,
        "datetime2" => SqlType::DateTime2(scale?),
        "char" => SqlType::Char(bytes?),
        "varchar" => SqlType::VarChar(bytes),
        "nvarchar" => SqlType::NVarChar(bytes.map(|bytes| bytes / 2)),
        _ => return None,
    })
}

/// Adds rows of tab-separated values. `columns` has the position of each column's value in a row, and its
/// type. Error texts contain no values.
fn push_rows(
    load: &mut BulkLoad,
    columns: &[(usize, SqlType)],
    bytes: &[u8],
) -> Result<(), String> {
    let (mut fields, mut values) = (Vec::new(), Vec::with_capacity(columns.len()));
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        fields.clear();
        fields.extend(line.split(|byte| *byte == b'\t'));
        values.clear();
        let row_values = columns.iter().filter_map(|(position, sql_type)| {
            let field = fields.get(*position)?;
            Some(value_of(*sql_type, field))
        });
        values.extend(row_values);
        load.push(&values).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Converts a field to a value of a column. A number that cannot be parsed becomes NULL, which the server
/// refuses if the column belongs to a key.
fn value_of(sql_type: SqlType, field: &[u8]) -> Value<'_> {
    let text = std::str::from_utf8(field).unwrap_or_default();
    match sql_type {
        _ if field == NULL => Value::Null,
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            text.parse().map_or(Value::Null, Value::Int)
        }
        SqlType::Decimal { .. } | SqlType::Money | SqlType::SmallMoney => {
            parse_decimal(text).unwrap_or(Value::Null)
        }
        _ => Value::Text(text),
    }
}

/// Parses a decimal number such as `-12.30`.
fn parse_decimal(text: &str) -> Option<Value<'static>> {
    let scale = text
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let scale = u8::try_from(scale).ok()?;
    let unscaled = sql::parse_decimal(text, scale.into())?;
    Some(Value::Decimal { unscaled, scale })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn fields_become_values_of_their_columns() {
        let cents = |unscaled| Value::Decimal { unscaled, scale: 2 };
        for (sql_type, field, expected) in [
            (SqlType::Int, "42", Value::Int(42)),
            (SqlType::SmallInt, "\\N", Value::Null),
            (SqlType::Money, "-10.05", cents(-1_005)),
            (SqlType::SmallMoney, "-0.05", cents(-5)),
            (SqlType::Char(24), "OE", Value::Text("OE")),
            (
                SqlType::DateTime,
                "2026-11-20 22:17:50",
                Value::Text("2026-11-20 22:17:50"),
            ),
        ] {
            assert_eq!(value_of(sql_type, field.as_bytes()), expected, "{field}");
        }
        assert_eq!(
            parse_decimal("7"),
            Some(Value::Decimal {
                unscaled: 7,
                scale: 0
            })
        );
        assert_eq!(parse_decimal("x"), None);
    }

    #[test]
    fn all_lines_become_rows_and_invalid_lines_are_rejected() {
        let column = |name: &str, sql_type, nullable| BulkColumn {
            name: name.to_owned(),
            sql_type,
            nullable,
        };
        let columns = vec![
            column("id", SqlType::Int, false),
            column("c", SqlType::Char(4), true),
        ];
        let types = columns.iter().map(|column| column.sql_type);
        let types: Vec<(usize, SqlType)> = types.enumerate().collect();
        let mut load = BulkLoad::new("t", columns, &BulkOptions::default(), [0; 5]);
        push_rows(&mut load, &types, b"1\tab\n2\t\\N\n").expect("two rows");
        assert_eq!(load.rows(), 2);
        for wrong in [&b"\\N\tab\n"[..], b"x\tab\n", b"1\n", b"1\tabcde\n"] {
            push_rows(&mut load, &types, wrong).expect_err("not a row of the table");
        }
    }

    #[test]
    fn method_names_how_the_load_is_logged() {
        let description = |model: &str| {
            let stream = BulkStream {
                recovery_model: model.to_owned(),
            };
            stream.description()
        };
        description("SIMPLE").assert_contains("minimally logged (TABLOCK, recovery model SIMPLE)");
        description("FULL").assert_contains("fully logged (recovery model FULL)");
    }

    #[test]
    fn type_names_of_the_catalog_become_types() {
        let sql_type = |name: &str, length| sql_type_of(name, length, Some(12), Some(2));
        assert_eq!(sql_type("varchar", 24), Some(SqlType::VarChar(Some(24))));
        assert_eq!(sql_type("varchar", -1), Some(SqlType::VarChar(None)));
        assert_eq!(sql_type("nvarchar", 24), Some(SqlType::NVarChar(Some(12))));
        let decimal = SqlType::Decimal {
            precision: 12,
            scale: 2,
        };
        assert_eq!(sql_type("numeric", 9), Some(decimal));
        assert_eq!(sql_type("xml", -1), None);
    }
}
