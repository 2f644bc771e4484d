//! pgbench.
mod bench;
mod call;
mod connection;
mod host;

use call::Call;
use prony_dialect::pgbench::{Invocation, Level, Voice, list_text, read, show_text};
use std::ffi::OsString;
use std::process::ExitCode;

/// Whether a program name is pgbench's.
pub fn is_name(argv0: &str) -> bool {
    argv0
        .rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with("pgbench"))
}

pub fn main(argv0: &str, arguments: &[OsString]) -> ExitCode {
    let setting = std::env::var("PRONY_PGBENCH_COMPAT").ok();
    let level = match Level::choose(setting.as_deref(), argv0) {
        Ok(l) => l,
        Err(e) => {
            call::say(&format!("pgbench: error: {e}\n"));
            return ExitCode::from(1);
        }
    };
    let voice = Voice::new(argv0, &level);
    let mut process = host::Process {
        scripts: vec![],
        names: prony_workload::script::Names::new(),
        level: u32::from(level.major()),
        voice: voice.clone(),
    };
    let invocation = match read(argv0, arguments, &level, &mut process) {
        Ok(i) => i,
        Err(refused) => {
            call::say(&refused.stderr);
            return ExitCode::from(refused.exit_status);
        }
    };
    let shown = arguments
        .iter()
        .map(|a| crate::secrets::without(&a.to_string_lossy()))
        .collect();
    let call = Call {
        level,
        voice,
        shown,
    };
    let done = match invocation {
        Invocation::Help(t) | Invocation::Version(t) => {
            call.print(&t);
            Ok(0)
        }
        Invocation::ListBuiltins => {
            call.tell(&list_text());
            Ok(0)
        }
        Invocation::ShowScript(b) => {
            call.tell(&show_text(b));
            Ok(0)
        }
        Invocation::Initialize(_) => Err("pgbench: error: not yet\n".to_owned()),
        Invocation::Run(options) => connection::target(&options.connection)
            .map_err(|t| call.voice.fatal(&t))
            .and_then(|target| {
                bench::run(
                    &call,
                    &options,
                    target,
                    bench::Files {
                        scripts: process.scripts,
                        names: process.names,
                    },
                )
            }),
    };
    match done {
        Ok(s) => ExitCode::from(s),
        Err(t) => {
            call.tell(&t);
            ExitCode::from(1)
        }
    }
}
