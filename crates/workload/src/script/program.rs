//! The program of the script workload: what its users share, and how each begins.
//!
//! In: scripts, variables, a scale. Out: users. Must never: draw a client's random numbers in
//! another order than pgbench. Which script comes next is drawn by each user for itself, while
//! pgbench draws it by thread: the order of several scripts is that of pgbench with as many threads
//! as clients.

use super::ast::{Script, SqlCommand};
use super::choice::Choice;
use super::eval::Evaluator;
use super::options::{Asked, LEVEL};
use super::run::{Client, run};
use super::value::Value;
use super::variables::Names;
use crate::random::{Random, RunSeeds};
use prony_session::{Db, Program, User, UserId};
use prony_wire::{Statement, Statements};
use std::sync::{Arc, OnceLock};

/// The scripts of a run.
pub(super) struct Scripts {
    shared: Arc<Shared>,
    kinds: Vec<&'static str>,
}

/// What all users of a run share; read only.
pub(super) struct Shared {
    pub scripts: Vec<Script>,
    /// By script and command: the statement of an SQL command, for the extended protocol.
    pub statements: Vec<Vec<Option<Statement>>>,
    names: Arc<Names>,
    defines: Vec<(String, String)>,
    scale: u32,
    /// None where no script has a weight, which the plan's check refuses.
    pub choice: Option<Choice>,
    starts: OnceLock<Starts>,
}

/// What a seed gives to all users of a run, computed once for all of them.
struct Starts {
    seed: u64,
    default_seed: i64,
    /// By client: for values, and for the choice of scripts.
    clients: Vec<(Random, Random)>,
}

impl Scripts {
    /// The program of these scripts; `scale` is the value of their variable of that name.
    pub fn new(asked: Asked, scale: u32) -> Self {
        let mut set = Statements::new();
        let mut numbered = |sql: &SqlCommand| {
            let count = u16::try_from(sql.parameters().len()).unwrap_or(u16::MAX);
            let statement = set.add_raw(&sql.numbered, count);
            match sql.results {
                Some(_) => statement.with_columns(),
                None => statement,
            }
        };
        let statements = asked.scripts.iter().map(|script| {
            let commands = script.commands.iter();
            commands
                .map(|command| match &command.kind {
                    super::CommandKind::Sql(sql) => Some(numbered(sql)),
                    _ => None,
                })
                .collect()
        });
        let statements = statements.collect();
        // The kinds of a program live as long as the process, and a process runs one or two.
        let kinds = asked
            .scripts
            .iter()
            .map(|script| &*Box::leak(script.name.clone().into_boxed_str()))
            .collect();
        let shared = Shared {
            choice: Choice::new(&asked.scripts),
            starts: OnceLock::new(),
            scripts: asked.scripts,
            statements,
            names: Arc::new(asked.names),
            defines: asked.defines,
            scale,
        };
        Scripts {
            shared: Arc::new(shared),
            kinds,
        }
    }
}

impl Program for Scripts {
    fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    fn statements(&self) -> Vec<String> {
        let statements = self.shared.scripts.iter().flat_map(Script::statements);
        statements.map(|sql| sql.text.clone()).collect()
    }

    fn user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        let client = shared.client(id);
        Box::pin(async move {
            match run(&shared, client, db).await {
                Ok(never) => match never {},
                Err(ended) => ended,
            }
        })
    }
}

impl Shared {
    /// A user before its first transaction.
    fn client(&self, id: UserId) -> Client {
        let kept = self.starts.get_or_init(|| self.starts(id));
        let afresh;
        let starts = if (kept.seed, kept.clients.len()) == (id.seed, id.clients as usize) {
            kept
        } else {
            afresh = self.starts(id);
            &afresh
        };
        let drawn = starts.clients.get(id.client as usize).cloned();
        // A client beyond their number is nobody whom a worker starts.
        let (random, choice) = drawn.unwrap_or((Random::new(id.seed), Random::new(id.seed)));
        let mut evaluator = Evaluator::new(Arc::clone(&self.names), random);
        for (variable, number) in [
            (Names::SCALE, i64::from(self.scale)),
            (Names::CLIENT_ID, i64::from(id.client)),
            (Names::RANDOM_SEED, id.seed as i64),
            (Names::DEFAULT_SEED, starts.default_seed),
        ] {
            evaluator.variables.set(variable, Value::Int(number));
        }
        for (name, text) in &self.defines {
            // The names were checked when the plan was read.
            let _ = evaluator.define("option", name, text, LEVEL);
        }
        Client::new(evaluator, choice)
    }

    fn starts(&self, id: UserId) -> Starts {
        let mut seeds = RunSeeds::new(id.seed);
        let values: Vec<Random> = (0..id.clients).map(|_| seeds.client()).collect();
        let given = self.defines.iter().any(|(name, _)| name == "default_seed");
        let default_seed = if given { 0 } else { seeds.default_seed() };
        let clients = values.into_iter();
        Starts {
            seed: id.seed,
            default_seed,
            clients: clients
                .map(|random| (random, seeds.thread().choice))
                .collect(),
        }
    }
}
