//! Gives the parser of sysbench's arguments access to files and Lua's search path.

use crate::process::env_var;
use prony_dialect::sysbench::Host;
use prony_plan::system_error;
use prony_workload::lua::search_path;
use std::path::{Path, PathBuf};

/// This process, for the parser of arguments.
pub struct ProcessHost {
    /// Path patterns, separated by semicolons.
    search_path: String,
}

impl Default for ProcessHost {
    fn default() -> Self {
        let (home, path) = (env_var("HOME"), env_var("LUA_PATH"));
        ProcessHost {
            search_path: search_path(home.as_deref(), path.as_deref()),
        }
    }
}

impl ProcessHost {
    /// Lua's search path for modules.
    pub fn search_path(&self) -> &str {
        &self.search_path
    }
}

impl Host for ProcessHost {
    fn find_script(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(name);
        if path.is_file() {
            return Some(path);
        }
        let module = name.replace('.', "/");
        let patterns = self
            .search_path
            .split(';')
            .filter(|pattern| !pattern.is_empty());
        patterns
            .map(|pattern| PathBuf::from(pattern.replace('?', &module)))
            .find(|path| path.is_file())
    }

    fn read_file(&self, path: &Path) -> Result<String, String> {
        let bytes = std::fs::read(path).map_err(|error| system_error(&error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_a_file_or_a_module() {
        let folder = std::env::temp_dir().join(format!("prony-lua-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("mine")).expect("a folder");
        let file = folder.join("mine/test.lua");
        std::fs::write(&file, "").expect("a file");
        let host = ProcessHost {
            search_path: format!(";{}/?.lua", folder.display()),
        };
        assert_eq!(host.find_script("mine.test"), Some(file.clone()));
        let path = file.to_str().expect("UTF-8");
        assert_eq!(host.find_script(path), Some(file.clone()));
        assert_eq!(host.find_script("mine.other"), None);
        let missing = host.read_file(&folder.join("none"));
        assert_eq!(missing.expect_err("missing"), "No such file or directory");
        std::fs::remove_dir_all(folder).expect("the folder exists");
    }
}
