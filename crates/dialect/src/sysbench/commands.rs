//! The sysbench commands that remedies print.
//!
//! Must never: name a command that sysbench does not have.

use prony_workload::remedy::{Commands, LoadOption, LoadSpec};

/// The commands of sysbench. Remedies drop the tables first, because `prepare` fails if tables exist.
pub struct SysbenchCommands;

impl Commands for SysbenchCommands {
    fn load_command(&self, load: &LoadSpec) -> String {
        format!(
            "sysbench {}{} prepare",
            load.workload,
            options(&load.options)
        )
    }

    fn clean_command(&self, load: &LoadSpec) -> String {
        let mut tables = load.options.clone();
        tables.retain(|(name, _)| *name == "scale");
        format!("sysbench {}{} cleanup", load.dataset, options(&tables))
    }

    fn check_command(&self, _: &LoadSpec) -> Option<String> {
        None
    }

    fn repair_sequences_command(&self) -> Option<String> {
        None
    }

    fn load_replaces_tables(&self) -> bool {
        false
    }

    fn continue_condition<'a>(&self, _: &'a str) -> Option<&'a str> {
        None
    }
}

/// sysbench's options for those of a load, each after a blank; those that sysbench does not have are omitted.
fn options(load_options: &[LoadOption]) -> String {
    let option = |(name, value): &LoadOption| match *name {
        "scale" => format!(" --tables={value}"),
        "table_size" => format!(" --table-size={value}"),
        _ => String::new(),
    };
    load_options.iter().map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_workload::remedy::Remedy;

    #[test]
    fn an_interrupted_prepare_starts_over() {
        let sizes = [("scale", "4"), ("table_size", "100"), ("seed", "7")];
        let load = LoadSpec {
            workload: "oltp_read_only",
            dataset: "oltp_read_write",
            options: sizes.map(|(name, value)| (name, value.to_owned())).into(),
        };
        let text = |remedy: Remedy| remedy.render(&SysbenchCommands);
        let prepare = "sysbench oltp_read_only --tables=4 --table-size=100 prepare";
        let cleanup = "sysbench oltp_read_write --tables=4 cleanup";
        assert_eq!(text(Remedy::Load(load.clone())), prepare);
        let start_over = format!("`{cleanup}`, then `{prepare}`");
        assert_eq!(text(Remedy::Reload("", load.clone())), start_over);
        assert_eq!(text(Remedy::Check(load.clone())), start_over);
        assert_eq!(
            text(Remedy::Continue(load, "with the same seed")),
            format!("`{cleanup}` drops the existing tables, then `{prepare}` starts over")
        );
    }
}
