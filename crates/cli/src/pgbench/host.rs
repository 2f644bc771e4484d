//! What lies outside of the reading of pgbench's arguments: this process and its files.
//!
//! In: questions of the reader. Out: answers; the scripts that it had read. Must never: decide
//! anything.

use prony_dialect::pgbench::{Host, Level, Voice};
use prony_report::text::system_error;
use prony_server::Environment;
use prony_workload::script::{Names, Script};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// This process, as the reader of arguments sees it.
pub struct System<'a> {
    voice: &'a Voice,
    level: &'a Level,
    /// The scripts of `-f`, in the order given; builtins stand between them in the options.
    pub scripts: Vec<Script>,
    /// The variables of these scripts, for those that are still to be read.
    pub names: Names,
}

impl<'a> System<'a> {
    /// Nothing is read yet.
    pub fn new(voice: &'a Voice, level: &'a Level) -> Self {
        System {
            voice,
            level,
            scripts: Vec::new(),
            names: Names::new(),
        }
    }
}

/// An environment variable; what is not UTF-8 in it is replaced.
pub fn variable(name: &str) -> Option<String> {
    Some(std::env::var_os(name)?.to_string_lossy().into_owned())
}

impl Host for System<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        variable(name)
    }

    fn say(&mut self, text: &str) {
        super::call::say(text);
    }

    fn load_script(&mut self, path: &Path) -> Result<(), String> {
        let name = path.to_string_lossy();
        let failed = |doing: &str, error: &io::Error| {
            let reason = system_error(error);
            self.voice
                .fatal(&format!("could not {doing} file \"{name}\": {reason}"))
        };
        let mut bytes = Vec::new();
        let read = if path == Path::new("-") {
            io::stdin().lock().read_to_end(&mut bytes)
        } else {
            let mut file = File::open(path).map_err(|error| failed("open", &error))?;
            file.read_to_end(&mut bytes)
        };
        read.map_err(|error| failed("read", &error))?;
        // Sent otherwise than it was written, a statement would do other work.
        let text = String::from_utf8(bytes).map_err(|_| {
            self.voice.fatal(&format!(
                "could not read file \"{name}\": it is not text in UTF-8"
            ))
        })?;
        let level = u32::from(self.level.major());
        let script = Script::parse(&mut self.names, &name, &text, level)
            .map_err(|error| error.as_pgbench(self.voice.progname(), level))?;
        self.scripts.push(script);
        Ok(())
    }

    fn open_files(&self) -> Option<(u64, u64)> {
        let limit = getrlimit(Resource::Nofile);
        // None stands for no limit.
        let count = |value: Option<u64>| value.unwrap_or(u64::MAX);
        Some((count(limit.current), count(limit.maximum)))
    }

    fn raise_open_files(&mut self, to: u64) -> Result<(), String> {
        let limit = Rlimit {
            current: Some(to),
            ..getrlimit(Resource::Nofile)
        };
        setrlimit(Resource::Nofile, limit).map_err(|error| system_error(&error.into()))
    }

    fn time_seed(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_micros() as u64)
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

    #[test]
    fn scripts_are_kept_in_order_and_missing_files_are_named() {
        let level = Level::parse("15").expect("known");
        let voice = Voice::new("pgbench", &level);
        let mut host = System::new(&voice, &level);
        let missing = host.load_script(Path::new("/nonexistent/x.sql"));
        assert_eq!(
            missing.expect_err("missing"),
            "pgbench: error: could not open file \"/nonexistent/x.sql\": No such file or directory\n"
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
        assert!(broken.contains(": syntax error"), "{broken}");
        std::fs::remove_file(&path).expect("there");
        assert_eq!(host.scripts.len(), 2);
    }

    #[test]
    fn the_machine_answers() {
        let level = Level::default();
        let voice = Voice::new("pgbench", &level);
        let mut host = System::new(&voice, &level);
        let (soft, hard) = host.open_files().expect("Linux has them");
        assert!(soft <= hard);
        host.raise_open_files(soft).expect("as it is");
        assert_ne!(host.strong_seed(), host.strong_seed());
        assert!(host.time_seed() > 1_600_000_000_000_000);
    }
}
