//! A cache of compiled Lua chunks, shared by all states of a script.

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Result};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
pub struct ChunkCache {
    chunks: Mutex<HashMap<String, Arc<[u8]>>>,
}

impl ChunkCache {
    /// Loads a chunk as a function of this state. `name` is Lua's chunk name: `@` and a file, or `=` and a
    /// word.
    pub fn load(&self, lua: &Lua, name: &str, text: &[u8]) -> Result<Function> {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = chunks.get(name).cloned();
        drop(chunks);
        if let Some(code) = cached {
            let chunk = lua.load(&code[..]).set_name(name);
            return chunk.set_mode(ChunkMode::Binary).into_function();
        }
        let function = lua.load(text).set_name(name).into_function()?;
        // `false` keeps debug information, because messages contain names and lines.
        let code = function.dump(false);
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.insert(name.to_owned(), code.into());
        Ok(function)
    }
}
