//! The program of the script workload: what its users share, and how each begins.
//!
//! In: scripts, variables, a scale. Out: users. Must never: draw a client's random numbers in
//! another order than pgbench: values by client, the choice of scripts by thread.

use super::ast::{Script, SqlCommand};
use super::choice::Choice;
use super::eval::Evaluator;
use super::figures::{CommandFigures, Figures, Kept};
use super::manner::Manner;
use super::options::ScriptSet;
use super::run::{Client, run};
use super::value::Value;
use super::variables::Names;
use crate::random::{Random, RunSeeds};
use prony_session::{Db, Program, User, UserId};
use prony_wire::{Statement, Statements};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The scripts of a run.
pub struct Scripts {
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
    pub manner: Manner,
    /// None where no script has a weight, which the plan's check refuses.
    choice: Option<Choice>,
    starts: OnceLock<Starts>,
    /// Of the users that have ended.
    figures: Mutex<Figures>,
}

/// What a seed gives to all users of a run, computed once for all of them.
struct Starts {
    default_seed: i64,
    /// By client: for values.
    clients: Vec<Random>,
    /// By worker: for the choice of scripts. Only its worker's users lock one, and only where there
    /// are several scripts.
    choices: Vec<Mutex<Random>>,
}

impl Scripts {
    /// The program of these scripts; `scale` is the value of their variable of that name.
    pub fn new(asked: ScriptSet, scale: u32, manner: Manner) -> Self {
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
            figures: Mutex::new(no_figures(&asked.scripts, &manner)),
            manner,
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

    /// What was kept for each command, by script, of the users that have ended.
    pub fn figures(&self) -> Vec<Vec<CommandFigures>> {
        let figures = self.shared.figures.lock();
        figures.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

/// Empty sums, where the manner keeps any.
fn no_figures(scripts: &[Script], manner: &Manner) -> Figures {
    let kept = if manner.per_command { scripts } else { &[] };
    Figures::new(kept.iter().map(|script| script.commands.len()))
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
    /// Number of the script of the next transaction of one of this worker's users.
    #[inline]
    pub fn next_script(&self, worker: u32) -> usize {
        if self.scripts.len() == 1 {
            return 0;
        }
        let starts = self.starts.get();
        let random = starts.and_then(|starts| starts.choices.get(worker as usize));
        match (&self.choice, random) {
            (Some(choice), Some(random)) => {
                choice.pick(&mut random.lock().unwrap_or_else(PoisonError::into_inner))
            }
            // A worker beyond their number is nobody who runs.
            _ => 0,
        }
    }

    /// Adds what a user kept.
    pub fn keep(&self, figures: &Figures) {
        let sums = self.figures.lock();
        sums.unwrap_or_else(PoisonError::into_inner).add(figures);
    }

    /// A user before its first transaction.
    fn client(self: &Arc<Self>, id: UserId) -> Client {
        let starts = self.starts.get_or_init(|| self.starts(id));
        let drawn = starts.clients.get(id.client as usize).cloned();
        // A client beyond their number is nobody whom a worker starts.
        let random = drawn.unwrap_or(Random::new(id.seed));
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
            let _ = evaluator.define("option", name, text, self.manner.level);
        }
        let figures = no_figures(&self.scripts, &self.manner);
        let kept = Kept::new(figures, Arc::clone(self));
        Client::new(evaluator, id.client, id.worker, kept)
    }

    fn starts(&self, id: UserId) -> Starts {
        let given = self.defines.iter().any(|(name, _)| name == "default_seed");
        let dealt = RunSeeds::deal(id.seed, id.clients, !given, id.workers);
        let threads = dealt.threads.into_iter();
        Starts {
            // A defined one replaces it.
            default_seed: dealt.default_seed.unwrap_or_default(),
            clients: dealt.clients,
            choices: threads.map(|thread| Mutex::new(thread.choice)).collect(),
        }
    }
}
