//! The program of the script workload: the state that its users share, and the creation of users. Random
//! generators are those of pgbench: one per client for values, one per thread for the choice of scripts.

use super::ast::{Command, CommandKind, Script, SqlCommand};
use super::captured::captured_shares;
use super::choice::ScriptChooser;
use super::eval::Evaluator;
use super::options::{ScriptSet, protocol_problem};
use super::policy::ScriptPolicy;
use super::run::{ScriptClient, run};
use super::samples::SampleRows;
use super::stats::{ClientStats, CommandStats, StatsByCommand};
use super::value::Value;
use super::variables::VariableNames;
use crate::parallel::lock;
use crate::random::{Random, RunSeeds};
use prony_document::ObservedShare;
use prony_session::{Db, Program, StatementTable, User, UserId};
use prony_wire::{QueryMode, Statement, StatementIds};
use std::sync::{Arc, Mutex, OnceLock};

/// The program whose users run the scripts of a run.
pub struct ScriptProgram {
    shared: Arc<ScriptRun>,
    kinds: Vec<&'static str>,
    settings: Vec<(&'static str, String)>,
}

/// The state that all users of a run share; read-only except for the sums and the generators.
pub(super) struct ScriptRun {
    pub scripts: Vec<Script>,
    /// The rows from which `\sample` draws, in the order of the plan.
    pub samples: Vec<SampleRows>,
    /// The statement of each SQL command, by script and command. Set before the first transaction if the run uses the
    /// extended protocol.
    statements: OnceLock<Vec<Vec<Option<Statement>>>>,
    names: Arc<VariableNames>,
    defines: Vec<(String, String)>,
    scale: u32,
    pub policy: ScriptPolicy,
    /// `None` if all weights are zero, which the check of the plan refuses.
    chooser: Option<ScriptChooser>,
    generators: OnceLock<RunGenerators>,
    /// The sums over the users that have ended.
    stats: Mutex<StatsByCommand>,
}

/// The generators that a run's seed yields, computed once for all users.
struct RunGenerators {
    default_seed: i64,
    by_client: Vec<Random>,
    /// The generator of each worker, for the choice of scripts. Only the worker's users lock it, and only if
    /// there are several scripts.
    by_worker: Vec<Mutex<Random>>,
}

impl ScriptProgram {
    /// The program of these scripts; `scale` is the value of their variable `scale`.
    pub fn new(set: ScriptSet, scale: u32, policy: ScriptPolicy) -> Self {
        // Leaked, because kinds are `'static`; a process runs one or two programs.
        let kinds = set
            .scripts
            .iter()
            .map(|script| &*Box::leak(script.name.clone().into_boxed_str()))
            .collect();
        let shared = ScriptRun {
            stats: Mutex::new(empty_stats(&set.scripts, &policy)),
            policy,
            chooser: ScriptChooser::new(&set.scripts),
            generators: OnceLock::new(),
            scripts: set.scripts,
            samples: Vec::new(),
            statements: OnceLock::new(),
            names: Arc::new(set.names),
            defines: set.defines,
            scale,
        };
        ScriptProgram {
            shared: Arc::new(shared),
            kinds,
            settings: Vec::new(),
        }
    }

    /// Sets what determines the meaning of the run's figures, for the document.
    #[must_use]
    pub(super) fn with_settings(mut self, settings: Vec<(&'static str, String)>) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the rows from which `\sample` draws.
    ///
    /// # Panics
    /// If the program already has users.
    #[must_use]
    pub(super) fn with_samples(mut self, samples: Vec<SampleRows>) -> Self {
        let shared = Arc::get_mut(&mut self.shared).expect("the program has no users yet");
        shared.samples = samples;
        self
    }

    pub fn scripts(&self) -> &[Script] {
        &self.shared.scripts
    }

    /// The sums of each command over the users that have ended, by script and command.
    pub fn command_stats(&self) -> Vec<Vec<CommandStats>> {
        lock(&self.shared.stats).0.clone()
    }
}

/// The texts for the document. A text that repeats very often in a row is listed once, with the number of times, because
/// the document is in memory during the run.
fn list_statements<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    const REPEATS_MIN: usize = 100;
    let mut listed: Vec<String> = Vec::new();
    let mut texts = texts.peekable();
    while let Some(text) = texts.next() {
        let mut count = 1;
        while texts.next_if_eq(&text).is_some() {
            count += 1;
        }
        match count {
            ..REPEATS_MIN => listed.extend(std::iter::repeat_n(text.to_owned(), count)),
            _ => listed.push(format!("{text} -- {count} times")),
        }
    }
    listed
}

/// Empty sums; without commands if the policy does not record them.
fn empty_stats(scripts: &[Script], policy: &ScriptPolicy) -> StatsByCommand {
    let recorded_scripts = if policy.records_command_stats { scripts } else { &[] };
    StatsByCommand::new(recorded_scripts.iter().map(|script| script.commands.len()))
}

impl Program for ScriptProgram {
    fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    fn statements(&self) -> Vec<String> {
        let statements = self.shared.scripts.iter().flat_map(Script::statements);
        list_statements(statements.map(|sql| &*sql.text))
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        self.settings.clone()
    }

    /// The rows and times of a captured plan's transactions, which are compared with the captured ones.
    fn action_shares(&self) -> Vec<ObservedShare> {
        if self.shared.policy.dialect.is_none() {
            return Vec::new();
        }
        let scripts = self.shared.scripts.iter().zip(self.command_stats());
        scripts
            .flat_map(|(script, commands)| captured_shares(script, &commands))
            .collect()
    }

    fn commits_once(&self) -> bool {
        self.shared.scripts.iter().all(Script::commits_once)
    }

    fn only_reads(&self, kind: usize) -> bool {
        let script = &self.shared.scripts[kind];
        // For own SQL, only the user says so.
        script.only_reads || (self.shared.policy.dialect.is_none() && script.has_only_selects())
    }

    fn statement_table(&self) -> StatementTable {
        let run = &*self.shared;
        let statements = run.statements();
        let mut table = StatementTable::new();
        for (script, statements) in run.scripts.iter().zip(statements) {
            let commands = script.commands.iter().zip(statements).zip(1..);
            for ((command, statement), number) in commands {
                if let (super::CommandKind::Sql(sql), Some(statement)) = (&command.kind, statement)
                {
                    let name = format!("{}:{}, command {number}", script.name, command.line);
                    table.add(&name, &**sql.numbered_text(), statement);
                }
            }
        }
        table
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        if db.protocol_mode() != QueryMode::Simple || shared.policy.dialect.is_some() {
            shared.statements();
        }
        let client = shared.new_client(id);
        Box::pin(async move {
            let Err(exit) = run(&shared, client, db).await;
            exit
        })
    }
}

/// The statement of each SQL command, by script and command. `is_own_sql`: the positions of its parameters are known, as
/// engines other than PostgreSQL and the simple protocol need them.
fn statements_of(scripts: &[Script], is_own_sql: bool) -> Vec<Vec<Option<Statement>>> {
    let mut statement_ids = StatementIds::new();
    let mut add = |sql: &SqlCommand| {
        let text = Arc::clone(sql.numbered_text());
        let statement = if is_own_sql {
            let positions = sql.numbered_positions();
            let statement = statement_ids.add_with_placeholders(text, positions);
            match sql.types() {
                [] => statement,
                types => statement.with_suggested_types(types.iter().copied()),
            }
        } else {
            statement_ids.add_unparsed(text, sql.parameters().len() as u32)
        };
        match sql.store_command {
            Some(_) => statement.with_columns(),
            None => statement,
        }
    };
    let mut of_command = |command: &Command| match &command.kind {
        CommandKind::Sql(sql) => Some(add(sql)),
        _ => None,
    };
    let commands = scripts.iter().map(|script| script.commands.iter());
    commands
        .map(|commands| commands.map(&mut of_command).collect())
        .collect()
}

/// Sets the defined variables of own SQL: a text that is a whole number as a number, because engines other than PostgreSQL
/// take the type of the value.
pub(super) fn set_defines(evaluator: &mut Evaluator, defines: &[(String, String)]) {
    for (name, text) in defines {
        let Some(id) = evaluator.names().find(name) else {
            continue;
        };
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == *text => {
                evaluator.variables.set(id, Value::Int(number));
            }
            _ => evaluator.variables.set_text(id, text),
        }
    }
}

impl ScriptRun {
    /// The statement of each SQL command, by script and command.
    fn statements(&self) -> &[Vec<Option<Statement>>] {
        let is_own_sql = self.policy.dialect.is_some();
        self.statements
            .get_or_init(|| statements_of(&self.scripts, is_own_sql))
    }

    #[inline]
    pub fn statement(&self, script: usize, command: usize) -> Option<&Statement> {
        let statements = self.statements.get()?.get(script)?;
        statements.get(command)?.as_ref()
    }

    /// Why one of the scripts cannot run in this mode; `None` if all can.
    pub fn protocol_problem(&self, mode: QueryMode) -> Option<String> {
        let mut scripts = self.scripts.iter();
        scripts.find_map(|script| protocol_problem(script, mode))
    }

    /// Chooses the script of the next transaction of one of this worker's users.
    #[inline]
    pub fn next_script(&self, worker: u32) -> usize {
        if self.scripts.len() == 1 {
            return 0;
        }
        let generators = self.generators.get();
        let random = generators.and_then(|generators| generators.by_worker.get(worker as usize));
        match (&self.chooser, random) {
            (Some(chooser), Some(random)) => chooser.pick(&mut lock(random)),
            // Never happens: every worker with users has a generator.
            _ => 0,
        }
    }

    pub fn add_stats(&self, stats: &StatsByCommand) {
        lock(&self.stats).add(stats);
    }

    /// Creates a user, before its first transaction.
    fn new_client(self: &Arc<Self>, id: UserId) -> ScriptClient {
        let generators = self.generators.get_or_init(|| self.new_generators(id));
        let random = generators.by_client.get(id.client as usize).cloned();
        // Never `None`: every client has a generator.
        let random = random.unwrap_or(Random::new(id.seed));
        let mut evaluator = Evaluator::new(Arc::clone(&self.names), random);
        for (variable, number) in [
            (VariableNames::SCALE, i64::from(self.scale)),
            (VariableNames::CLIENT_ID, i64::from(id.client)),
            (VariableNames::RANDOM_SEED, id.seed as i64),
            (VariableNames::DEFAULT_SEED, generators.default_seed),
        ] {
            evaluator.variables.set(variable, Value::Int(number));
        }
        if self.policy.dialect.is_some() {
            set_defines(&mut evaluator, &self.defines);
        } else {
            for (name, text) in &self.defines {
                // The names were checked when the plan was read.
                let _ = evaluator.set_by_name("option", name, text, self.policy.pgbench_version);
            }
        }
        let stats = empty_stats(&self.scripts, &self.policy);
        let client_stats = ClientStats::new(stats, Arc::clone(self));
        ScriptClient::new(evaluator, id.client, id.worker, client_stats)
    }

    fn new_generators(&self, id: UserId) -> RunGenerators {
        let defines_default_seed = self.defines.iter().any(|(name, _)| name == "default_seed");
        let seeds = RunSeeds::derive(id.seed, id.clients, !defines_default_seed, id.workers);
        let threads = seeds.threads.into_iter();
        RunGenerators {
            // If the plan defines a default seed, that value replaces this one.
            default_seed: seeds.default_seed.unwrap_or_default(),
            by_client: seeds.clients,
            by_worker: threads
                .map(|thread| Mutex::new(thread.script_choice))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::list_statements;

    #[test]
    fn a_text_that_repeats_very_often_is_listed_once() {
        let texts = std::iter::repeat_n("select 1;", 1_000_000).chain(["select 2;"; 2]);
        let expected = ["select 1; -- 1000000 times", "select 2;", "select 2;"];
        assert_eq!(list_statements(texts), expected);
    }
}
