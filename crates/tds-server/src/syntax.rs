//! Parses T-SQL.
//!
//! Must never: accept what SQL Server does not, beyond what the parser itself accepts.

use sqlparser::dialect::MsSqlDialect;
use sqlparser::parser::Parser;

/// Why a text is not valid T-SQL.
///
/// The parser lacks what is replaced here, and CLUSTERED and WITH in statements that create indexes.
pub fn syntax_error(sql: &str) -> Option<String> {
    let mut text = String::new();
    for (index, piece) in sql.split("if @@rowcount").enumerate() {
        if index > 0 {
            let separator = if text.trim_end().ends_with(';') {
                ""
            } else {
                ";"
            };
            text = text + separator + "if @@rowcount";
        }
        text += piece;
    }
    let text = text.replace(" continue;", " return;");
    let text = text.replace("exec @result =", "exec");
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
        ] {
            assert!(syntax_error(wrong).is_some(), "{wrong}");
        }
        assert_eq!(
            syntax_error("update t set @a = b = b + 1 where c = 2 if @@rowcount = 0 continue;"),
            None
        );
    }
}
