//! The types that SQL Server infers for the parameters of own SQL.
//!
//! Without a declaration a parameter has the type of its value: nvarchar for a text, float for a number with a fraction.
//! To compare either with a varchar or decimal column, the server converts the column, and does not use its index.

use super::ast::{CommandKind, Script, SqlCommand};
use prony_server::Control;
use prony_server::control::TextRow;
use prony_wire::ParameterType;

/// The column of sp_describe_undeclared_parameters that has the number of the parameter, from 1.
const ORDINAL_COLUMN: usize = 0;
/// The column that has the name of the suggested type, such as `varchar(20)`.
const TYPE_COLUMN: usize = 3;
/// The longest varchar: with the lengths of their columns, parameters would only give a statement more plans.
const VARCHAR: ParameterType = ParameterType::VarChar(8000);

/// Sets the types of the parameters of all statements. A statement that the server cannot describe, such as one that uses a
/// temporary table, keeps the types of its values.
pub(super) fn infer_types(control: &mut Control, scripts: &mut [Script]) {
    let commands = scripts.iter_mut().flat_map(|script| &mut script.commands);
    for command in commands {
        let CommandKind::Sql(sql) = &mut command.kind else {
            continue;
        };
        let count = sql.parameters().len();
        if count == 0 {
            continue;
        }
        let describe = "EXEC sp_describe_undeclared_parameters $1";
        if let Ok(rows) = control.query_with(describe, &[&named_parameters(sql)]) {
            sql.set_types(types(&rows, count));
        }
    }
}

/// The text with `@P1`, `@P2`, ... for the variables.
fn named_parameters(sql: &SqlCommand) -> String {
    let mut text = sql.numbered_text().to_string();
    for position in sql.numbered_positions().iter().rev() {
        text.replace_range(position.start..=position.start, "@P");
    }
    text
}

fn types(rows: &[TextRow], count: usize) -> Vec<Option<ParameterType>> {
    let mut types = vec![None; count];
    for row in rows {
        let column = |index: usize| row.get(index).cloned().flatten().unwrap_or_default();
        let ordinal = column(ORDINAL_COLUMN).parse().unwrap_or(0_usize);
        if let Some(slot) = ordinal
            .checked_sub(1)
            .and_then(|index| types.get_mut(index))
        {
            *slot = parameter_type(&column(TYPE_COLUMN));
        }
    }
    types
}

/// The declared type for a suggested one; `None` if the type of the value is as good: integers of all sizes and the kinds of
/// nvarchar compare without a conversion of the column.
fn parameter_type(suggested: &str) -> Option<ParameterType> {
    let (name, arguments) = suggested.split_once('(').unwrap_or((suggested, ""));
    match name {
        "varchar" | "char" => Some(VARCHAR),
        "decimal" | "numeric" => format!("decimal({arguments}").parse().ok(),
        "money" => Some(ParameterType::Decimal {
            precision: 19,
            scale: 4,
        }),
        "smallmoney" => Some(ParameterType::Decimal {
            precision: 10,
            scale: 4,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_that_spare_the_column_a_conversion_are_declared() {
        let decimal = |precision, scale| Some(ParameterType::Decimal { precision, scale });
        for (suggested, expected) in [
            ("varchar(20)", Some(VARCHAR)),
            ("varchar(max)", Some(VARCHAR)),
            ("char(2)", Some(VARCHAR)),
            ("decimal(10,2)", decimal(10, 2)),
            ("numeric(38,0)", decimal(38, 0)),
            ("money", decimal(19, 4)),
            ("nvarchar(40)", None),
            ("int", None),
            ("datetime2(7)", None),
            ("decimal(", None),
            ("", None),
        ] {
            assert_eq!(parameter_type(suggested), expected, "{suggested}");
        }
        let row = |ordinal: &str, name: &str| -> TextRow {
            let cells = [ordinal, "@P2", "167", name];
            cells.iter().map(|cell| Some((*cell).to_owned())).collect()
        };
        let rows = [
            row("2", "char(3)"),
            row("0", "money"),
            row("9", "money"),
            Vec::new(),
        ];
        assert_eq!(types(&rows, 2), [None, Some(VARCHAR)]);
    }
}
