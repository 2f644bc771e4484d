//! Gives the parser of pgbench's arguments access to this process and its files, and stores the scripts that
//! the parser reads.

use crate::output::eprint;
use prony_dialect::pgbench::{Host, Level, Messages};
use prony_plan::system_error;
use prony_server::Environment;
use prony_workload::script::{Script, VariableNames};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// This process, for the parser of arguments.
pub struct ProcessHost<'a> {
    messages: &'a Messages,
    level: &'a Level,
    pub script_files: ScriptFiles,
}

/// The scripts of `-f`.
pub struct ScriptFiles {
    /// The scripts in the order of the options; builtin scripts are not included.
    pub scripts: Vec<Script>,
    /// Their texts.
    pub texts: Vec<String>,
    /// The variables of these scripts, which builtin scripts share.
    pub variable_names: VariableNames,
}

impl<'a> ProcessHost<'a> {
    /// A host without scripts.
    pub fn new(messages: &'a Messages, level: &'a Level) -> Self {
        ProcessHost {
            messages,
            level,
            script_files: ScriptFiles {
                scripts: Vec::new(),
                texts: Vec::new(),
                variable_names: VariableNames::new(),
            },
        }
    }
}

impl Host for ProcessHost<'_> {
    fn env_var(&self, name: &str) -> Option<String> {
        crate::process::env_var(name)
    }

    fn print_stderr(&mut self, text: &str) {
        eprint(text);
    }

    fn load_script(&mut self, path: &Path) -> Result<(), String> {
        let name = path.to_string_lossy();
        let file_error = |action: &str, error: &io::Error| {
            let reason = system_error(error);
            self.messages
                .fatal(&format!("could not {action} file \"{name}\": {reason}"))
        };
        let mut bytes = Vec::new();
        let read = if path == Path::new("-") {
            io::stdin().lock().read_to_end(&mut bytes)
        } else {
            let mut file = File::open(path).map_err(|error| file_error("open", &error))?;
            file.read_to_end(&mut bytes)
        };
        read.map_err(|error| file_error("read", &error))?;
        // Do not replace bytes that are not UTF-8, because the statements would differ from the file.
        let text = String::from_utf8(bytes).map_err(|_| {
            self.messages.fatal(&format!(
                "could not read file \"{name}\": it is not text in UTF-8"
            ))
        })?;
        let level = u32::from(self.level.major());
        let names = &mut self.script_files.variable_names;
        let script = Script::parse(names, &name, &text, level)
            .map_err(|error| error.pgbench_stderr(self.messages.progname(), level))?;
        self.script_files.scripts.push(script);
        self.script_files.texts.push(text);
        Ok(())
    }

    fn open_file_limits(&self) -> Option<(u64, u64)> {
        let limit = getrlimit(Resource::Nofile);
        // `getrlimit` returns `None` for unlimited.
        let count = |value: Option<u64>| value.unwrap_or(u64::MAX);
        Some((count(limit.current), count(limit.maximum)))
    }

    fn raise_open_file_limit(&mut self, soft_limit: u64) -> Result<(), String> {
        let limit = Rlimit {
            current: Some(soft_limit),
            ..getrlimit(Resource::Nofile)
        };
        setrlimit(Resource::Nofile, limit).map_err(|error| system_error(&error))
    }

    fn time_seed(&self) -> u64 {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
        elapsed.map_or(0, |elapsed| elapsed.as_micros() as u64)
    }

    fn strong_seed(&self) -> Option<u64> {
        let mut seed = [0; 8];
        let mut source = File::open("/dev/urandom").ok()?;
        source.read_exact(&mut seed).ok()?;
        Some(u64::from_ne_bytes(seed))
    }

    fn user_name(&self) -> Result<String, String> {
        Environment::from_process().user.ok_or_else(|| {
            let uid = rustix::process::geteuid().as_raw();
            format!("could not look up effective user ID {uid}: user does not exist")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn scripts_are_loaded_in_order_and_errors_name_the_file() {
        let level = Level::parse("15").expect("known");
        let messages = Messages::new("pgbench", &level);
        let mut host = ProcessHost::new(&messages, &level);
        let absent = std::env::temp_dir().join(format!("prony-absent-{}.sql", std::process::id()));
        let reason = "No such file or directory";
        assert_eq!(
            host.load_script(&absent).expect_err("missing file"),
            format!(
                "pgbench: error: could not open file \"{}\": {reason}\n",
                absent.display()
            )
        );
        assert_eq!(
            host.load_script(Path::new("/")).expect_err("a folder"),
            "pgbench: error: could not read file \"/\": Is a directory\n"
        );
        let path = std::env::temp_dir().join(format!("prony-host-{}.sql", std::process::id()));
        for text in ["select 1;", "select 2;"] {
            std::fs::write(&path, text).expect("a file");
            host.load_script(&path).expect("a script");
        }
        std::fs::write(&path, "\\set x 1 +").expect("a file");
        let broken = host.load_script(&path).expect_err("no expression");
        broken.assert_contains(": syntax error");
        std::fs::remove_file(&path).expect("the file exists");
        assert_eq!(host.script_files.scripts.len(), 2);
    }

    #[test]
    fn open_file_limits_and_seeds_come_from_the_system() {
        let level = Level::default();
        let messages = Messages::new("pgbench", &level);
        let mut host = ProcessHost::new(&messages, &level);
        let (soft, hard) = host.open_file_limits().expect("Linux has them");
        assert!(soft <= hard);
        host.raise_open_file_limit(soft).expect("unchanged limit");
        assert_ne!(host.strong_seed(), host.strong_seed());
        assert!(host.time_seed() > 1_600_000_000_000_000);
    }
}
