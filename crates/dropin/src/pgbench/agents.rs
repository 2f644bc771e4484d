//! A run of pgbench that agents drive.
//!
//! In: scripts, options. Out: the same program on each agent; what its clients print, here. Must never: let an agent run a
//! shell command.

use super::bench::ScriptMessages;
use super::bench::logs::{Logs, SampleLogger, uses_default_seed};
use super::call::PgbenchCall;
use super::connection::libpq_options;
use super::host::ScriptFiles;
use crate::agents::{self, Coordinator, decode, encode, refusal, too_few};
use crate::output::{eprint, lock};
use prony_dialect::pgbench::{
    Level, LogOptions, Logger, Messages, RunOptions, ScriptSource, script_policy,
};
use prony_document::SqlDialect;
use prony_drive::clients_of_thread;
use prony_fleet::{
    Fleet, NewSampleListener, ToolCoordinator, ToolListening, ToolOutput, ToolProgram, ToolRequest,
    ToolServer,
};
use prony_plan::ErrorParts;
use prony_server::Target;
use prony_workload::ReadyWorkload;
use prony_workload::random::RunSeeds;
use prony_workload::script::{
    CommandKind, CommandStats, MessageListener, Script, ScriptProgram, ScriptSet, VariableNames,
    find_builtin,
};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

pub const TOOL: &str = "pgbench";

/// What an agent's program is made of: what the scripts do, and what the clients print.
#[derive(Serialize, Deserialize)]
struct SentProgram {
    argv0: String,
    major: u16,
    scripts: Vec<SentScript>,
    scale: u32,
    options: RunOptions,
}

#[derive(Serialize, Deserialize)]
struct SentScript {
    name: String,
    /// Absent for a builtin script.
    text: Option<String>,
    weight: u32,
}

/// What an agent sends to the coordinator.
#[derive(Serialize, Deserialize)]
enum SentMessage {
    /// Lines for standard error.
    Stderr(String),
    /// This client cannot continue.
    Aborted(u32),
    /// By script and command.
    Commands(Vec<Vec<SentStats>>),
    /// Lines of the log of this thread of the run.
    Log(u32, String),
}

/// Executions of a command, their time in nanoseconds, failures and retries.
type SentStats = (u64, u64, u64, u64);

/// The sums of each command, by script and command.
type Commands = Vec<Vec<CommandStats>>;

/// The figures of commands that each agent has sent.
#[derive(Default)]
pub struct AgentCommands(Mutex<Vec<Commands>>);

/// Starts the agents of the environment; `None` if it names none.
///
/// # Errors
/// The text for stderr.
pub fn start(
    call: &PgbenchCall,
    options: &RunOptions,
    files: &ScriptFiles,
) -> Result<Option<Fleet>, String> {
    let started = match problem(options, files) {
        Some(problem) => Err(problem),
        // Until the run listens to signals, they end the process, and the agents with it.
        None => agents::start(&AtomicBool::new(false)).map_err(|error| error.to_string()),
    };
    started.map_err(|problem| call.messages.fatal(&problem))
}

/// Why agents cannot drive this run, in one sentence; `None` if they can, or there are none.
fn problem(options: &RunOptions, files: &ScriptFiles) -> Option<String> {
    let is_shell =
        |kind: &CommandKind| matches!(kind, CommandKind::Shell(_) | CommandKind::SetShell { .. });
    let mut commands = files.scripts.iter().flat_map(|script| &script.commands);
    too_few(options.threads, "threads", "set -j").or_else(|| {
        let has_shell = commands.any(|command| is_shell(&command.kind));
        refusal(has_shell, "agents execute no \\shell or \\setshell")
    })
}

/// pgbench's side at the coordinator. `logs`: where the lines of agents are written.
pub fn coordinator<'a>(
    call: &PgbenchCall,
    options: &RunOptions,
    texts: Vec<String>,
    scale: u32,
    target: &Target,
    script_messages: Arc<ScriptMessages>,
    (logs, commands): (&'a Logs, &'a AgentCommands),
) -> impl ToolCoordinator + use<'a> {
    let mut texts = texts.into_iter();
    let scripts = options.scripts.iter().map(|choice| {
        let (name, text) = match &choice.source {
            ScriptSource::Builtin(builtin) => (builtin.name.to_owned(), None),
            ScriptSource::File(path) => (path.to_string_lossy().into_owned(), texts.next()),
        };
        SentScript {
            name,
            text,
            weight: choice.weight,
        }
    });
    let program = SentProgram {
        argv0: call.messages.progname().to_owned(),
        major: call.level.major(),
        scripts: scripts.collect(),
        scale,
        options: options.clone(),
    };
    let connection = &options.connection;
    let named = libpq_options(connection, &call.messages);
    let server = ToolServer {
        database: connection.dbname.clone(),
        ..ToolServer::new(SqlDialect::PostgreSql, &named, target)
    };
    Coordinator::new(TOOL, &program, server, move |agent, message| {
        match message {
            SentMessage::Stderr(lines) => eprint(&lines),
            SentMessage::Aborted(client) => script_messages.client_aborted(client),
            SentMessage::Log(thread, lines) => logs.add_lines(thread, &lines)?,
            SentMessage::Commands(sent) => commands.set(agent, &sent)?,
        }
        Ok(())
    })
}

impl AgentCommands {
    /// The sums of each command over all agents.
    pub fn sums(&self) -> Commands {
        let agents = lock(&self.0);
        let mut agents = agents.iter();
        let mut sums = agents.next().cloned().unwrap_or_default();
        for commands in agents {
            // All have the same scripts: see `set`.
            let all = sums.iter_mut().flatten().zip(commands.iter().flatten());
            all.for_each(|(sum, stats)| sum.add(stats));
        }
        sums
    }

    fn set(&self, agent: usize, sent: &[Vec<SentStats>]) -> Result<(), String> {
        let of_command = |&(count, sum_ns, failures, retries): &SentStats| CommandStats {
            count,
            sum_ns: u128::from(sum_ns),
            failures,
            retries,
            ..CommandStats::default()
        };
        let mut agents = lock(&self.0);
        let lengths = |scripts: &Commands| scripts.iter().map(Vec::len).collect::<Vec<_>>();
        let mut known = agents.iter().map(lengths);
        let own: Vec<usize> = sent.iter().map(Vec::len).collect();
        if (known.find(|lengths| !lengths.is_empty())).is_some_and(|others| others != own) {
            return Err("it sent figures of other scripts".to_owned());
        }
        let count = agents.len().max(agent + 1);
        agents.resize_with(count, Vec::new);
        let scripts = sent.iter();
        let scripts = scripts.map(|script| script.iter().map(of_command).collect());
        agents[agent] = scripts.collect();
        Ok(())
    }
}

/// Prints the messages of clients at the coordinator.
struct AgentMessages {
    messages: Messages,
    output: ToolOutput,
}

impl AgentMessages {
    fn say(&self, message: &SentMessage) {
        self.output.say(encode(message));
    }
}

impl MessageListener for AgentMessages {
    fn error(&self, text: &str) {
        self.print(&self.messages.error(text));
    }

    fn info(&self, text: &str) {
        self.print(&self.messages.info(text));
    }

    fn print(&self, lines: &str) {
        self.say(&SentMessage::Stderr(lines.to_owned()));
    }

    fn client_aborted(&self, client: u32) {
        self.say(&SentMessage::Aborted(client));
    }
}

/// The program at an agent.
///
/// # Errors
/// The scripts are not those of this build.
pub fn make_program(request: ToolRequest<'_>) -> Result<ToolProgram, ErrorParts> {
    let sent: SentProgram = decode(request.program).map_err(ErrorParts::new)?;
    let level = Level::of_major(sent.major).unwrap_or_default();
    let major = u32::from(level.major());
    let options = sent.options;
    let log = options.log.clone().map(|log| {
        let has_default_seed = uses_default_seed(&options.defines);
        new_logs(log, &level, &options, has_default_seed, &request)
    });
    let mut names = VariableNames::new();
    // In the coordinator's order: files were read when their options were parsed, builtin scripts later.
    let mut parsed: Vec<Option<Script>> = sent.scripts.iter().map(|_| None).collect();
    for builtin in [false, true] {
        for (sent, script) in sent.scripts.iter().zip(&mut parsed) {
            let made = match &sent.text {
                Some(text) if !builtin => Script::parse(&mut names, &sent.name, text, major),
                None if builtin => {
                    find_builtin(&sent.name).and_then(|builtin| builtin.parse(&mut names, major))
                }
                _ => continue,
            };
            let mut made = made.map_err(|error| ErrorParts::new(error.to_string()))?;
            made.weight = sent.weight;
            *script = Some(made);
        }
    }
    let set = ScriptSet {
        has_builtin: sent.scripts.iter().any(|script| script.text.is_none()),
        scripts: parsed.into_iter().flatten().collect(),
        names,
        defines: options.defines.clone(),
    };
    let listener = Arc::new(AgentMessages {
        messages: Messages::new(&sent.argv0, &level),
        output: request.output,
    });
    let mut policy = script_policy(&level, &options, listener);
    policy.allows_shell = false;
    let program = Arc::new(ScriptProgram::new(set, sent.scale, policy));
    let ready = ReadyWorkload::new(program.clone(), sent.scale);
    let report = move || {
        let of_command = |stats: &CommandStats| {
            let sum_ns = u64::try_from(stats.sum_ns).unwrap_or(u64::MAX);
            (stats.count, sum_ns, stats.failures, stats.retries)
        };
        let stats = program.command_stats();
        let scripts = stats
            .iter()
            .map(|script| script.iter().map(of_command).collect());
        encode(&SentMessage::Commands(scripts.collect()))
    };
    Ok(ToolProgram {
        ready,
        listening: ToolListening {
            report: options
                .report_per_command
                .then(|| Box::new(report) as Box<_>),
            new_sample_listener: log,
            ..ToolListening::default()
        },
    })
}

/// What logs the transactions of each worker of an agent, as the threads of one machine would.
fn new_logs(
    log: LogOptions,
    level: &Level,
    options: &RunOptions,
    has_default_seed: bool,
    request: &ToolRequest<'_>,
) -> NewSampleListener {
    let (clients, threads) = (request.drive.clients, request.drive.workers());
    let seeds = RunSeeds::derive(request.seed, clients, has_default_seed, threads);
    let options = options.clone();
    let (level, output, first) = (level.clone(), request.output.clone(), request.first_worker);
    Box::new(move |worker| {
        let thread = first + worker as u32;
        let lines = LogLines {
            thread,
            output: output.clone(),
        };
        let random = seeds.threads.get(thread as usize);
        let logger = random.map(|random| {
            let clients = clients_of_thread(thread, clients, threads);
            let sampling = random.sampling.clone();
            Logger::new(lines, &level, &options, &log, clients, sampling)
        });
        Box::new(SampleLogger {
            logger,
            errors: Arc::default(),
        })
    })
}

/// Sends the lines of a thread's log.
struct LogLines {
    thread: u32,
    output: ToolOutput,
}

impl Write for LogLines {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(lines).into_owned();
        self.output
            .say(encode(&SentMessage::Log(self.thread, text)));
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
