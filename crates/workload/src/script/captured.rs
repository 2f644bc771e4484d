//! What a run of a plan that `prony capture` wrote observed, to be compared with what was captured.

use super::ast::{CommandKind, Script, SqlCommand};
use super::stats::CommandStats;
use prony_document::{ObservedShare, ROWS_OF_CALLS, TIME_OF_CALLS, name_of_statement};

/// The rows a call of a transaction, and the rows and times of its statements if it has several.
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
        let word = sql.text.split([' ', '\n', ';']).next().unwrap_or_default();
        let controls = ["begin", "start", "commit", "end", "rollback"];
        controls
            .iter()
            .any(|control| word.eq_ignore_ascii_case(control))
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
