//! The commands that hints name, in the words of the program that Prony was called as.
//!
//! In: by what name Prony was called, once; a load. Out: the command that makes its tables, the one
//! that drops them, and what to do about a load that was broken off. Must never: name a command that
//! the caller does not have, or one that does something else than is said of it.

use std::sync::OnceLock;

/// The program that a person called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// Prony's own command line.
    #[default]
    Prony,
    /// `sysbench`. Its `prepare` continues nothing: it refuses tables that are there.
    Sysbench,
    /// `hammerdbcli`. Its commands take their sizes from settings.
    Hammerdb,
}

/// A fact of the process, as its arguments are.
static CALLER: OnceLock<Caller> = OnceLock::new();

/// Says by what name Prony was called. The first call counts; without one it is Prony's own.
pub fn called_as(caller: Caller) {
    // A second name would be a mistake of the program, and changes nothing.
    let _ = CALLER.set(caller);
}

/// By what name Prony was called.
pub fn caller() -> Caller {
    CALLER.get().copied().unwrap_or_default()
}

/// Sizes of a load: `scale`, `table_size`, `seed`, `profile` or `partitions`, with a value.
pub type Size<'a> = (&'a str, String);

impl Caller {
    /// The command that loads a workload.
    pub fn load(self, workload: &str, sizes: &[Size<'_>]) -> String {
        match self {
            Caller::Prony => {
                let mut command = format!("prony load {workload}");
                for (name, value) in sizes {
                    command += &match *name {
                        "table_size" => format!(" -o table_size={value}"),
                        name => format!(" --{name} {value}"),
                    };
                }
                command
            }
            Caller::Sysbench => format!("sysbench {workload}{} prepare", sysbench(sizes)),
            Caller::Hammerdb => "buildschema".to_owned(),
        }
    }

    /// The command that drops the tables of a workload; of so many as `sizes` says.
    pub fn clean(self, workload: &str, sizes: &[Size<'_>]) -> String {
        match self {
            Caller::Prony => format!("prony clean {workload}"),
            Caller::Sysbench => {
                let tables: Vec<_> = sizes.iter().filter(|(name, _)| *name == "scale").collect();
                let tables = tables.first().map(|size| std::slice::from_ref(*size));
                let tables = sysbench(tables.unwrap_or_default());
                format!("sysbench {workload}{tables} cleanup")
            }
            Caller::Hammerdb => "deleteschema".to_owned(),
        }
    }

    /// The command that checks the tables of a workload, where there is one.
    pub fn check(self, workload: &str) -> Option<String> {
        match self {
            Caller::Prony => Some(format!("prony check {workload}")),
            Caller::Sysbench => None,
            Caller::Hammerdb => Some("checkschema".to_owned()),
        }
    }

    /// What makes other tables of those that are there, for a hint. `data`: the workload whose
    /// `clean` drops them.
    pub fn anew(self, workload: &str, data: &str, sizes: &[Size<'_>]) -> String {
        let load = self.load(workload, sizes);
        match self {
            Caller::Prony => load,
            _ => format!("`{}`, then `{load}`", self.clean(data, sizes)),
        }
    }

    /// What to do about a load of these tables that did not come to its end. `like_it`: what the
    /// next one has in common with it, such as `with the same seed`, or nothing.
    pub fn unfinished(
        self,
        workload: &str,
        data: &str,
        sizes: &[Size<'_>],
        like_it: &str,
    ) -> String {
        let load = self.load(workload, sizes);
        let clean = self.clean(data, sizes);
        let space = if like_it.is_empty() { "" } else { " " };
        match self {
            Caller::Prony => {
                format!("`{load}`{space}{like_it} continues it; `{clean}` drops what is there")
            }
            Caller::Sysbench => format!("`{clean}` drops what is there, then `{load}` begins anew"),
            Caller::Hammerdb => {
                format!(
                    "`{load}` with the same settings continues it; `{clean}` drops what is there"
                )
            }
        }
    }
}

/// The sizes that sysbench has options for.
fn sysbench(sizes: &[Size<'_>]) -> String {
    let option = |(name, value): &Size<'_>| match *name {
        "scale" => format!(" --tables={value}"),
        "table_size" => format!(" --table-size={value}"),
        _ => String::new(),
    };
    sizes.iter().map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_reads_its_own_commands() {
        let sizes = [
            ("scale", "4".to_owned()),
            ("table_size", "100".to_owned()),
            ("seed", "7".to_owned()),
        ];
        let load = |caller: Caller| caller.load("oltp_read_only", &sizes);
        assert_eq!(
            [Caller::Prony, Caller::Sysbench, Caller::Hammerdb].map(load),
            [
                "prony load oltp_read_only --scale 4 -o table_size=100 --seed 7",
                "sysbench oltp_read_only --tables=4 --table-size=100 prepare",
                "buildschema",
            ]
        );
        let clean = |caller: Caller| caller.clean("oltp_read_write", &sizes);
        assert_eq!(
            [Caller::Prony, Caller::Sysbench, Caller::Hammerdb].map(clean),
            [
                "prony clean oltp_read_write",
                "sysbench oltp_read_write --tables=4 cleanup",
                "deleteschema",
            ]
        );
        assert_eq!(Caller::Sysbench.check("tpcc"), None);
    }

    #[test]
    fn a_broken_load_is_continued_only_where_that_is_possible() {
        let told = |caller: Caller| {
            let sizes = [("scale", "2".to_owned())];
            caller.unfinished("tpcc", "tpcc", &sizes, "with that seed")
        };
        assert_eq!(
            told(Caller::Prony),
            "`prony load tpcc --scale 2` with that seed continues it; `prony clean tpcc` drops \
             what is there"
        );
        assert_eq!(
            told(Caller::Sysbench),
            "`sysbench tpcc --tables=2 cleanup` drops what is there, then `sysbench tpcc --tables=2 \
             prepare` begins anew"
        );
        assert!(told(Caller::Hammerdb).starts_with("`buildschema` with the same settings"));
        let anew = Caller::Sysbench.anew("a", "b", &[]);
        assert_eq!(anew, "`sysbench b cleanup`, then `sysbench a prepare`");
    }
}
