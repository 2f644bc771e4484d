//! What lies outside of the reading of sysbench's arguments: files, and where Lua looks for them.
//!
//! In: names. Out: paths and texts. Must never: decide anything.

use prony_dialect::sysbench::Host;
use prony_report::text::system_error;
use prony_workload::lua::search_path;
use std::path::{Path, PathBuf};

/// This process, as the reader of arguments sees it.
pub struct System {
    /// Patterns of paths, separated by semicolons.
    search: String,
}

impl Default for System {
    fn default() -> Self {
        let variable =
            |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let (home, path) = (variable("HOME"), variable("LUA_PATH"));
        System {
            search: search_path(home.as_deref(), path.as_deref()),
        }
    }
}

impl System {
    /// Where Lua looks for modules.
    pub fn search(&self) -> &str {
        &self.search
    }
}

impl Host for System {
    fn find_script(&self, name: &str) -> Option<PathBuf> {
        let path = PathBuf::from(name);
        if path.is_file() {
            return Some(path);
        }
        let module = name.replace('.', "/");
        let patterns = self.search.split(';').filter(|one| !one.is_empty());
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
        let host = System {
            search: format!(";{}/?.lua", folder.display()),
        };
        assert_eq!(host.find_script("mine.test"), Some(file.clone()));
        let path = file.to_str().expect("UTF-8");
        assert_eq!(host.find_script(path), Some(file.clone()));
        assert_eq!(host.find_script("mine.other"), None);
        let missing = host.read_file(&folder.join("none"));
        assert_eq!(missing.expect_err("missing"), "No such file or directory");
        std::fs::remove_dir_all(folder).expect("there");
    }
}
