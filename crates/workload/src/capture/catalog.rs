//! What the server knows of the tables of captured statements.
//!
//! In: a control connection and the names in a statement. Out: columns with their types, keys and numbers of rows.

use super::statement::{ColumnName, Statement, TableName};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_server::control::Error as ControlError;
use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    /// The name in quotes: a list of the words that need them would be incomplete.
    pub name: String,
    pub bare_name: String,
    /// The type without its length, in lower case.
    pub data_type: String,
    /// Whether it is the last column of a unique key, so that a new row needs a new value.
    pub is_key: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub columns: Vec<Column>,
    pub rows: u64,
    /// Whether the server can read a random part of it.
    pub can_sample: bool,
}

/// The tables that were looked up, by their text in a statement; `None` is no table, such as the name of a subquery.
pub(super) struct Catalog<'a> {
    pub control: &'a mut Control,
    pub dialect: SqlDialect,
    tables: HashMap<String, Option<Table>>,
}

impl<'a> Catalog<'a> {
    pub fn new(control: &'a mut Control) -> Catalog<'a> {
        Catalog {
            dialect: control.dialect(),
            control,
            tables: HashMap::new(),
        }
    }

    /// The table and the column of a name. `None` if that is not clear.
    pub fn resolve(
        &mut self,
        statement: &Statement,
        name: &ColumnName,
    ) -> Result<Option<(TableName, Table, Column)>, ControlError> {
        let mut found = None;
        for table_name in &statement.tables {
            let is_other = |qualifier: &String| *qualifier != table_name.alias;
            if name.qualifier.as_ref().is_some_and(is_other) {
                continue;
            }
            let Some(table) = self.table(&table_name.text)? else {
                continue;
            };
            let number = name
                .name
                .strip_prefix('#')
                .and_then(|number| number.parse::<usize>().ok());
            let column = match number {
                Some(number) => number.checked_sub(1).and_then(|at| table.columns.get(at)),
                None => table
                    .columns
                    .iter()
                    .find(|column| column.bare_name.eq_ignore_ascii_case(&name.name)),
            };
            match (column.cloned(), &found) {
                (None, _) => {}
                (Some(column), None) => found = Some((table_name.clone(), table, column)),
                // The same table twice.
                (Some(_), Some((other, _, _))) if other.text == table_name.text => {}
                (Some(_), Some(_)) => return Ok(None),
            }
        }
        Ok(found)
    }

    fn table(&mut self, text: &str) -> Result<Option<Table>, ControlError> {
        if let Some(table) = self.tables.get(text) {
            return Ok(table.clone());
        }
        let table = self.read_table(text)?;
        self.tables.insert(text.to_owned(), table.clone());
        Ok(table)
    }

    fn read_table(&mut self, text: &str) -> Result<Option<Table>, ControlError> {
        let (columns, rows, name) = match self.dialect {
            SqlDialect::PostgreSql => (POSTGRES_COLUMNS, POSTGRES_ROWS, text.to_owned()),
            SqlDialect::MySql => (MYSQL_COLUMNS, MYSQL_ROWS, unquoted(text).to_owned()),
            SqlDialect::TransactSql => (SQL_SERVER_COLUMNS, SQL_SERVER_ROWS, text.to_owned()),
        };
        let columns = match self.control.query_with(columns, &[&name]) {
            // The text is no name of a table, or a right is missing.
            Err(ControlError::Statement(error)) if !error.is_fatal() => return Ok(None),
            columns => columns?,
        };
        let columns: Vec<Column> = columns
            .into_iter()
            .filter_map(|row| {
                let [name, data_type, is_key] = row.try_into().ok()?;
                let bare_name: String = name?;
                Some(Column {
                    name: self.dialect.quote_identifier(&bare_name),
                    bare_name,
                    data_type: data_type?.to_lowercase(),
                    is_key: is_key.is_some_and(|flag| flag == "t" || flag == "1"),
                })
            })
            .collect();
        if columns.is_empty() {
            return Ok(None);
        }
        let facts = self.control.query_with(rows, &[&name])?;
        let fact = |column: usize| facts.first()?.get(column)?.clone();
        Ok(Some(Table {
            columns,
            rows: fact(0).and_then(|rows| rows.parse().ok()).unwrap_or(0),
            can_sample: fact(1).is_some_and(|flag| flag == "t" || flag == "1"),
        }))
    }
}

const POSTGRES_COLUMNS: &str = "SELECT attname, format_type(atttypid, NULL), EXISTS (SELECT 1 FROM pg_index i \
     WHERE i.indrelid = attrelid AND i.indisunique AND i.indkey[i.indnkeyatts - 1] = attnum) \
     FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
// A table that was never analyzed has -1; a row has more than a few bytes.
// The rows of a partitioned table are those of its partitions.
const POSTGRES_ROWS: &str = "WITH RECURSIVE parts AS (SELECT to_regclass($1)::oid AS part \
       UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = part) \
     SELECT sum(CASE WHEN relkind = 'p' THEN 0 WHEN reltuples < 0 THEN pg_relation_size(oid) / 50 ELSE reltuples END)::bigint, \
       bool_and(relkind IN ('r', 'm', 'p')) FROM pg_class JOIN parts ON oid = part";
const MYSQL_COLUMNS: &str = "SELECT column_name, data_type, EXISTS (SELECT 1 FROM information_schema.statistics s \
     WHERE s.table_schema = database() AND s.table_name = c.table_name AND s.non_unique = 0 AND s.column_name = c.column_name \
     AND s.seq_in_index = (SELECT max(l.seq_in_index) FROM information_schema.statistics l WHERE l.table_schema = database() \
       AND l.table_name = s.table_name AND l.index_name = s.index_name)) \
     FROM information_schema.columns c WHERE table_schema = database() AND table_name = $1 ORDER BY ordinal_position";
const MYSQL_ROWS: &str = "SELECT coalesce(table_rows, 0), 1 FROM information_schema.tables \
     WHERE table_schema = database() AND table_name = $1";
const SQL_SERVER_COLUMNS: &str = "SELECT c.name, TYPE_NAME(c.system_type_id), CASE WHEN EXISTS (SELECT 1 FROM sys.indexes i \
     JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id WHERE i.object_id = c.object_id \
     AND i.is_unique = 1 AND k.column_id = c.column_id AND k.key_ordinal = (SELECT MAX(l.key_ordinal) FROM sys.index_columns l \
       WHERE l.object_id = i.object_id AND l.index_id = i.index_id)) THEN 1 ELSE 0 END \
     FROM sys.columns c WHERE c.object_id = OBJECT_ID($1) ORDER BY c.column_id";
const SQL_SERVER_ROWS: &str = "SELECT SUM(p.rows), MAX(CASE o.type WHEN 'U' THEN 1 ELSE 0 END) FROM sys.objects o \
     LEFT JOIN sys.partitions p ON p.object_id = o.object_id AND p.index_id < 2 WHERE o.object_id = OBJECT_ID($1)";

/// The last part of a name without its quotes.
pub(super) fn unquoted(name: &str) -> &str {
    let is_quote = |letter: char| matches!(letter, '"' | '`' | '[' | ']');
    let name = name.trim_end_matches(is_quote);
    let start = name
        .rfind(['"', '`', '[', '.'])
        .map_or(0, |quote| quote + 1);
    &name[start..]
}
