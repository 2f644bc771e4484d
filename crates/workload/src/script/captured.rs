//! The rows and times that a run of a captured plan observed, to be compared with the captured ones.

use super::ast::{CommandKind, Script, SqlCommand};
use super::stats::CommandStats;
use prony_document::{ObservedShare, ROWS_OF_CALLS, TIME_OF_CALLS, name_of_statement};

/// The rows per call of a transaction, and the rows and times of its statements if it has several.
pub(super) fn captured_shares(script: &Script, commands: &[CommandStats]) -> Vec<ObservedShare> {
    let share = |name: String, base: &str, count, total| ObservedShare {
        name,
        base: base.to_owned(),
        count,
        total,
        ..ObservedShare::default()
    };
    let commands = script.commands.iter().zip(commands);
    let queries = commands.filter_map(|(command, stats)| match &command.kind {
        CommandKind::Sql(sql) => Some((sql, stats)),
        _ => None,
    });
    let queries: Vec<(&SqlCommand, &CommandStats)> = queries.collect();
    let microseconds = |sum_ns: u128| u64::try_from(sum_ns / 1000).unwrap_or(u64::MAX);
    let all_us = microseconds(queries.iter().map(|(_, stats)| stats.sum_ns).sum());
    let mut shares = vec![share(
        script.name.clone(),
        ROWS_OF_CALLS,
        queries.iter().map(|(_, stats)| stats.rows).sum(),
        queries.first().map_or(0, |(_, stats)| stats.count),
    )];
    let is_control = |sql: &SqlCommand| {
        let controls = ["begin", "start", "commit", "end", "rollback"];
        let verb = sql.first_word();
        controls.iter().any(|word| verb.eq_ignore_ascii_case(word))
    };
    let statements = queries.iter().filter(|(sql, _)| !is_control(sql));
    let statements: Vec<&CommandStats> = statements.map(|(_, stats)| *stats).collect();
    if statements.len() > 1 {
        for (stats, number) in statements.into_iter().zip(1..) {
            let name = name_of_statement(&script.name, number);
            shares.push(share(name.clone(), ROWS_OF_CALLS, stats.rows, stats.count));
            shares.push(share(
                name,
                TIME_OF_CALLS,
                microseconds(stats.sum_ns),
                all_us,
            ));
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::VariableNames;
    use prony_document::SqlDialect;

    #[test]
    fn statements_that_control_the_transaction_are_no_statements_of_it() {
        let mut names = VariableNames::new();
        for (begin, shares) in [
            ("begin\tisolation level serializable;", 1),
            ("BEGIN/* a */;", 1),
            ("beginning();", 5),
        ] {
            let text = format!("{begin}\nselect 1;\nCOMMIT;\n");
            let script = Script::parse_sql(&mut names, "a", &text, SqlDialect::PostgreSql);
            let script = script.expect("a script");
            let stats = vec![CommandStats::default(); script.commands.len()];
            assert_eq!(captured_shares(&script, &stats).len(), shares, "{begin}");
        }
    }
}
