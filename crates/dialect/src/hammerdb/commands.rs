//! The hammerdbcli commands that remedies print.
//!
//! Must never: print a size, because scripts set sizes before the command.

use prony_workload::remedy::{Commands, LoadSpec};

/// The commands of hammerdbcli. They take sizes from settings.
pub struct HammerdbCommands;

impl Commands for HammerdbCommands {
    fn load_command(&self, _: &LoadSpec) -> String {
        "buildschema".to_owned()
    }

    fn clean_command(&self, _: &LoadSpec) -> String {
        "deleteschema".to_owned()
    }

    fn check_command(&self, _: &LoadSpec) -> Option<String> {
        Some("checkschema".to_owned())
    }

    /// `vurun` sets them itself, where HammerDB leaves them so.
    fn repair_sequences_command(&self) -> Option<String> {
        None
    }

    fn load_replaces_tables(&self) -> bool {
        false
    }

    fn continue_condition<'a>(&self, _: &'a str) -> Option<&'a str> {
        Some("with the same settings")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_workload::remedy::Remedy;

    #[test]
    fn printed_commands_contain_no_sizes() {
        let load = LoadSpec::of("tpcc", vec![("scale", "2".to_owned())]);
        assert_eq!(
            Remedy::Continue(load, "").render(&HammerdbCommands),
            "`buildschema` with the same settings continues it; `deleteschema` drops the tables"
        );
        assert_eq!(
            Remedy::RepairSequences.render(&HammerdbCommands),
            "set each of these d_next_o_id to the highest o_id of its district plus 1"
        );
    }
}
