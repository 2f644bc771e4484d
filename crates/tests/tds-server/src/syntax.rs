//! Parses T-SQL.
//!
//! Must never: accept what SQL Server does not, beyond what the parser itself accepts.

use sqlparser::dialect::MsSqlDialect;
use sqlparser::parser::Parser;

/// What the parser lacks, and the most similar text that it has. Options are only replaced as a whole, with their values.
const LACKING: [(&str, &str); 19] = [
    ("create clustered index ", "create index "),
    ("create unique clustered index ", "create unique index "),
    (" primary key clustered (", " primary key ("),
    (" with (allow_row_locks = on, allow_page_locks = off)", ""),
    (" with (allow_row_locks = off, allow_page_locks = on)", ""),
    (" default next value for ", " default "),
    (" option (maxdop 1)", ""),
    ("alter sequence ", "create sequence "),
    (" restart with ", " start with "),
    ("alter database ", "drop database "),
    (" set single_user with rollback immediate", ""),
    (" set multi_user", ""),
    ("INSERT BULK ", "create table "),
    (" WITH (TABLOCK, KEEP_NULLS)", ""),
    ("ALTER DATABASE CURRENT SET ", "SET "),
    ("ALTER DATABASE SCOPED CONFIGURATION SET ", "SET "),
    (" WITH NO_WAIT", ""),
    ("; RECONFIGURE", "; EXEC reconfigure"),
    ("EXEC @result =", "EXEC"),
];

/// Why a text is not valid T-SQL.
pub fn syntax_error(sql: &str) -> Option<String> {
    let mut text = String::new();
    for (index, piece) in sql.split("if @@rowcount").enumerate() {
        if index > 0 {
            let separator = if text.trim_end().ends_with(';') { "" } else { ";" };
            text = text + separator + "if @@rowcount";
        }
        text += piece;
    }
    let text = text.replace(" continue;", " return;");
    let mut text = text.replace("exec @result =", "exec");
    for (lacking, similar) in LACKING {
        text = text.replace(lacking, similar);
    }
    // It wants parentheses around the parameters of a procedure.
    if let Some((head, body)) = text.split_once(" as ")
        && let Some(procedure) = head.strip_prefix("create procedure ")
        && let Some((name, parameters)) = procedure.split_once(" @")
    {
        text = format!("create procedure {name} (@{parameters}) as {body}");
    }
    let parsed = Parser::parse_sql(&MsSqlDialect {}, &text);
    parsed.err().map(|error| format!("{error} in {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_found() {
        for wrong in [
            "create procedure p as begin update t set a == 3 where b = 2 end",
            "select a from t union all select from where",
            "select cast(a as) from t",
            "select a from t with (updlock",
            "exec p @result = = 1",
            "create unique clustered index i on t a, b)",
            "alter table t add constraint k primary key clustered (a) with (allow_row_locks = often)",
            "create procedure p @a int as select @a from from t",
            "INSERT BULK t ([a] int WITH (TABLOCK, KEEP_NULLS)",
            "ALTER DATABASE CURRENT SET DELAYED_DURABILITY = = FORCED",
            "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH WAIT",
            "ALTER DATABASE SCOPED CONFIGURATION SET = 4",
            "EXEC sp_configure 'fill factor (%)', 90; RECONFIGURE, 1",
        ] {
            assert!(syntax_error(wrong).is_some(), "{wrong}");
        }
        for right in [
            "ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT",
            "ALTER DATABASE CURRENT SET RECOVERY SIMPLE",
            "SET TRANSACTION ISOLATION LEVEL SNAPSHOT",
            "SET lock_timeout 5000",
        ] {
            assert_eq!(syntax_error(right), None);
        }
        assert_eq!(
            syntax_error("update t set @a = b = b + 1 where c = 2 if @@rowcount = 0 continue;"),
            None
        );
    }
}
