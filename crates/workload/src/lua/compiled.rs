//! Lua chunks, compiled once for all states of a script.

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytecode by chunk name.
#[derive(Default)]
pub struct Compiled {
    chunks: Mutex<HashMap<String, Arc<[u8]>>>,
}

impl Compiled {
    /// Loads a chunk as a function of this state. `name` is Lua's chunk name: `@` and a file, or `=` and a
    /// word.
    ///
    /// # Errors
    /// The text is not valid Lua.
    pub fn load(&self, lua: &Lua, name: &str, text: &[u8]) -> Result<Function> {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let known = chunks.get(name).cloned();
        drop(chunks);
        if let Some(code) = known {
            let chunk = lua.load(&code[..]).set_name(name);
            return chunk.set_mode(ChunkMode::Binary).into_function();
        }
        let function = lua.load(text).set_name(name).into_function()?;
        // Keep names and lines: messages need them.
        let code = function.dump(false);
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.insert(name.to_owned(), code.into());
        Ok(function)
    }
}
