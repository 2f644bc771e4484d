//! The program of the script workload: what its users share, and how each begins.
//!
//! In: scripts, variables, a scale. Out: users. Must never: draw a client's random numbers in
//! another order than pgbench. Which script comes next is drawn by each user for itself; pgbench
//! draws it by thread, so that only with one client the order of several scripts is the same.

use super::ast::{Script, SqlCommand};
use super::eval::Evaluator;
use super::options::{Asked, LEVEL};
use super::run::{Client, run};
use super::value::Value;
use super::variables::Names;
use crate::random::Random;
use prony_session::{Db, Program, User, UserId};
use prony_wire::{Statement, Statements};
use std::sync::Arc;

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
    weights: i64,
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
        let weights = asked.scripts.iter().map(|script| i64::from(script.weight));
        let shared = Shared {
            weights: weights.sum(),
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
        // In pgbench's order: one generator a client, the default seed, the choice of scripts.
        let mut base = Random::new(id.seed);
        for _ in 0..id.clients {
            base.next_u64();
        }
        let default_seed = base.next_u64();
        for _ in 0..id.client {
            base.next_u64();
        }
        let choice = Random::new(base.next_u64());
        let random = Random::of_client(id.seed, id.client);
        let mut evaluator = Evaluator::new(Arc::clone(&self.names), random);
        for (variable, number) in [
            (Names::SCALE, i64::from(self.scale)),
            (Names::CLIENT_ID, i64::from(id.client)),
            (Names::RANDOM_SEED, id.seed as i64),
            (Names::DEFAULT_SEED, default_seed as i64),
        ] {
            evaluator.variables.set(variable, Value::Int(number));
        }
        for (name, text) in &self.defines {
            // The names were checked when the plan was read.
            let _ = evaluator.define("option", name, text, LEVEL);
        }
        Client::new(evaluator, choice)
    }

    /// The number of the next script, by the weights.
    pub fn choose(&self, random: &mut Random) -> usize {
        if self.scripts.len() == 1 {
            return 0;
        }
        let mut left = random.uniform(0, self.weights - 1);
        for (number, script) in self.scripts.iter().enumerate() {
            left -= i64::from(script.weight);
            if left < 0 {
                return number;
            }
        }
        0
    }
}
