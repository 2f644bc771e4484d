//! temporary
use prony_dialect::pgbench::{Host, Voice};
use prony_workload::script::{Names, Script};
use std::path::Path;

pub struct Process {
    pub scripts: Vec<Script>,
    pub names: Names,
    pub level: u32,
    pub voice: Voice,
}

impl Host for Process {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
    fn say(&mut self, text: &str) {
        super::call::say(text);
    }
    fn load_script(&mut self, path: &Path) -> Result<(), String> {
        let name = path.to_string_lossy().into_owned();
        let text = if name == "-" {
            std::io::read_to_string(std::io::stdin())
        } else {
            std::fs::read_to_string(path)
        };
        let text = text.map_err(|e| {
            self.voice.fatal(&format!(
                "could not open file \"{name}\": {}",
                prony_report::text::system_error(&e)
            ))
        })?;
        let script = Script::parse(&mut self.names, &name, &text, self.level)
            .map_err(|e| e.as_pgbench(self.voice.progname(), self.level))?;
        self.scripts.push(script);
        Ok(())
    }
    fn open_files(&self) -> Option<(u64, u64)> {
        None
    }
    fn raise_open_files(&mut self, _: u64) -> Result<(), String> {
        Ok(())
    }
    fn time_seed(&self) -> u64 {
        1
    }
    fn strong_seed(&self) -> Option<u64> {
        Some(7)
    }
    fn user_name(&self) -> Result<String, String> {
        Ok("root".into())
    }
}
