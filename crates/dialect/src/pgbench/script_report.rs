//! The blocks of a report for each script and each command.
//!
//! Must never: print a block if one script runs without `-r`.

use super::level::Level;
use super::moments::Moments;
use super::number::{format_fixed, percent};
use super::report::{
    Counts, RunReport, tps, write_failure_details, write_latency, write_percentiles,
};

/// A script's part of the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptReport {
    /// A builtin's description, or the file's name as typed.
    pub description: String,
    /// The weight of the script.
    pub weight: u32,
    /// The counts of the script's transactions.
    pub counts: Counts,
    /// The script's commands in order, for `-r`.
    pub commands: Vec<CommandReport>,
}

/// A command's part of the report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandReport {
    /// The first line of the command, as pgbench prints it.
    pub first_line: String,
    /// The durations of the command.
    pub latency: Moments,
    /// Errors that were not retried.
    pub failures: u64,
    /// Errors that were retried.
    pub retries: u64,
}

pub(crate) fn write_script_block(
    text: &mut String,
    level: &Level,
    run: &RunReport,
    number: usize,
    script: &ScriptReport,
) {
    let has_several_scripts = run.scripts.len() > 1;
    if has_several_scripts {
        write_script_header(text, level, run, number, script);
    }
    if run.per_command {
        write_commands(
            text,
            level,
            run,
            if has_several_scripts { " - " } else { "" },
            script,
        );
    }
}

fn write_script_header(
    text: &mut String,
    level: &Level,
    run: &RunReport,
    number: usize,
    script: &ScriptReport,
) {
    const PREFIX: &str = " - ";
    let counts = &script.counts;
    let weights: u64 = run
        .scripts
        .iter()
        .map(|script| u64::from(script.weight))
        .sum();
    *text += &format!(
        "SQL script {number}: {}\n - weight: {} (targets {}% of total)\n",
        script.description,
        script.weight,
        format_fixed(percent(u64::from(script.weight), weights), 1)
    );
    let script_tps = format_fixed(tps(level, run, counts.succeeded), 6);
    // "N transactions" counts all transactions, but at levels 15 to 17 only the successful ones.
    let (part, total) = match level.major() {
        15..=17 => (counts.succeeded, run.counts.succeeded),
        _ => (counts.scheduled(), run.counts.scheduled()),
    };
    let share = format_fixed(percent(part, total), 1);
    if level.at_least(18) {
        *text += &format!(" - {part} transactions ({share}% of total)\n");
        if counts.scheduled() > 0 {
            *text += &format!(
                " - number of transactions actually processed: {} (tps = {script_tps})\n",
                counts.succeeded
            );
        }
    } else {
        *text += &format!(" - {part} transactions ({share}% of total, tps = {script_tps})\n");
    }
    if level.at_least(15) && (counts.scheduled() > 0 || !level.at_least(18)) {
        *text += &format!(
            " - number of failed transactions: {} ({}%)\n",
            counts.failures(),
            format_fixed(percent(counts.failures(), counts.scheduled()), 3)
        );
        write_failure_details(text, PREFIX, level, run, counts);
    }
    if run.can_skip() && counts.scheduled() > 0 {
        *text += &format!(
            " - number of transactions skipped: {} ({}%)\n",
            counts.skipped,
            format_fixed(percent(counts.skipped, counts.scheduled()), 3)
        );
    }
    write_latency(text, PREFIX, counts);
    write_percentiles(text, PREFIX, counts);
}

fn write_commands(
    text: &mut String,
    level: &Level,
    run: &RunReport,
    prefix: &str,
    script: &ScriptReport,
) {
    let has_retries = run.max_tries != 1;
    let heading = match (level.at_least(15), has_retries) {
        (false, _) => "",
        (true, false) => " and failures",
        (true, true) => ", failures and retries",
    };
    *text += &format!("{prefix}statement latencies in milliseconds{heading}:\n");
    for command in &script.commands {
        let mean = format_fixed(command.latency.mean_ms(), 3);
        let line = &command.first_line;
        let (failures, retries) = (command.failures, command.retries);
        *text += &match (level.major(), has_retries) {
            (..=14, _) => format!("   {mean:>11}  {line}\n"),
            (15..=17, false) => format!("   {mean:>11}  {failures:>10}  {line}\n"),
            (15..=17, true) => {
                format!("   {mean:>11}  {failures:>10}  {retries:>10}  {line}\n")
            }
            (_, false) => format!("   {mean:>11}  {failures:>10} {line}\n"),
            (_, true) => format!("   {mean:>11}  {failures:>10} {retries:>10} {line}\n"),
        };
    }
}
