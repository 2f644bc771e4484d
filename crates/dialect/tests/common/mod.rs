//! A host for the parser of pgbench's arguments, without environment, files and scripts.

use std::path::Path;

use prony_dialect::pgbench::Host;

/// A host without environment, files and scripts.
pub struct EmptyHost;

impl Host for EmptyHost {
    fn env_var(&self, _name: &str) -> Option<String> {
        None
    }
    fn print_stderr(&mut self, _text: &str) {}
    fn load_script(&mut self, _path: &Path) -> Result<(), String> {
        Ok(())
    }
    fn open_file_limits(&self) -> Option<(u64, u64)> {
        None
    }
    fn raise_open_file_limit(&mut self, _to: u64) -> Result<(), String> {
        Ok(())
    }
    fn time_seed(&self) -> u64 {
        0
    }
    fn strong_seed(&self) -> Option<u64> {
        None
    }
    fn user_name(&self) -> Result<String, String> {
        Ok("postgres".to_owned())
    }
}
