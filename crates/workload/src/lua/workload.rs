//! What a script is called in the store.
//!
//! In: nothing. Out: a name. Must never: make or drop a table: the script's own commands do.

use crate::{CheckReport, Error, LoadReport, LoadRequest, Loaded, Progress, Workload};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use std::sync::atomic::AtomicBool;

/// A script in Lua, of whatever content.
pub static LUA: LuaWorkload = LuaWorkload;

/// The workload of scripts in Lua.
pub struct LuaWorkload;

impl Workload for LuaWorkload {
    fn name(&self) -> &'static str {
        "lua"
    }

    fn title(&self) -> &'static str {
        "a script in Lua, as sysbench runs it"
    }

    fn statements(&self) -> Vec<String> {
        Vec::new()
    }

    fn options(&self) -> &'static [&'static str] {
        &["script"]
    }

    fn loaded_by(&self, _: &WorkloadPlan) -> Option<&'static str> {
        None
    }

    fn load(
        &self,
        _: &LoadRequest<'_>,
        _: &dyn Progress,
        _: &AtomicBool,
    ) -> Result<LoadReport, Error> {
        Err(by_sysbench())
    }

    fn check(&self, _: &mut Control) -> Result<CheckReport, Error> {
        Err(by_sysbench())
    }

    fn clean(&self, _: &mut Control) -> Result<Vec<String>, Error> {
        Err(by_sysbench())
    }

    fn program(&self, _: &mut Control, _: &WorkloadPlan) -> Result<Loaded, Error> {
        Err(by_sysbench())
    }
}

fn by_sysbench() -> Error {
    Error::Asked {
        problem: "scripts in Lua have commands of their own".to_owned(),
        hint: "prony sysbench SCRIPT COMMAND".to_owned(),
    }
}
