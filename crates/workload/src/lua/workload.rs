//! The workload under which runs of Lua scripts are stored. Never creates or drops tables, which the script's
//! commands do.

use crate::describe::OptionKind::Text;
use crate::describe::{Growth, LedgerEntries, OptionSpec};
use crate::option_reader::option_specs;
use crate::{Error, ReadyWorkload, Result, Workload};
use prony_plan::{QueryMode, WorkloadPlan};
use prony_server::Control;

pub static LUA: LuaWorkload = LuaWorkload;

pub struct LuaWorkload;

impl Workload for LuaWorkload {
    fn name(&self) -> &'static str {
        "lua"
    }

    fn title(&self) -> &'static str {
        "a Lua script, run as in sysbench"
    }

    fn options(&self) -> &'static [OptionSpec] {
        const OPTIONS: &[OptionSpec] = option_specs! { script: Text, None, "The script's name"; };
        OPTIONS
    }

    fn workload_to_load(&self, _: &WorkloadPlan) -> Option<&'static str> {
        None
    }

    fn growth(&self, _: &WorkloadPlan, _: u32) -> Growth {
        Growth::Uncounted("it is not known what the script writes")
    }

    /// Its scripts write them themselves.
    fn ledger_entries(&self, _: QueryMode) -> LedgerEntries {
        LedgerEntries::WithTexts
    }

    fn no_tables_error(&self) -> Error {
        Error::InvalidRequest {
            problem: "Lua scripts have their own commands".to_owned(),
            hint: "prony sysbench SCRIPT COMMAND".to_owned(),
        }
    }

    fn program(&self, _: &mut Control, _: &WorkloadPlan) -> Result<ReadyWorkload> {
        Err(self.no_tables_error())
    }
}
