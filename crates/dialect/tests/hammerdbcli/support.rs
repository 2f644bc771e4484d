//! Passes scripts to the console.

use crate::hammer::backend::FakeBackend;
use prony_dialect::hammerdb::{Console, Session, Settings};

/// Passes a script by standard input, as `hammerdbcli << EOF` does; returns the exit status if the script
/// ends the program.
pub fn run_input(
    backend: &mut FakeBackend,
    settings: Settings,
    script: &str,
) -> (Console, Option<u8>) {
    let mut console = Console::new(Session::new(settings), false);
    for line in script.lines() {
        if let Some(status) = console.run_line(backend, line) {
            return (console, Some(status));
        }
    }
    (console, None)
}

/// Passes a script by a file, as `hammerdbcli auto FILE` does; returns the exit status too.
pub fn run_file(script: &str) -> (FakeBackend, u8) {
    let mut backend = FakeBackend::default();
    backend
        .memory
        .files
        .insert("s.tcl".to_owned(), script.to_owned());
    let mut console = Console::new(Session::default(), false);
    let status = console.run_file(&mut backend, "s.tcl");
    (backend, status)
}

/// The lines of an output, without carriage returns and empty lines.
pub fn lines(out: &str) -> Vec<&str> {
    let lines = out.lines().map(|line| line.trim_matches('\r'));
    lines.filter(|line| !line.is_empty()).collect()
}

pub const BUILD_SCRIPT: &str = "
# Connection
dbset db pg
dbset bm tpc-c

# Where
diset connection pg_host 10.0.0.5
diset connection pg_port 5432

# Who and how much
diset tpcc pg_superuser postgres
diset tpcc pg_superuserpass AlloyDB#123
diset tpcc pg_user tpcc
diset tpcc pg_pass AlloyDB#123
diset tpcc pg_dbase tpcc
diset tpcc pg_count_ware 576
diset tpcc pg_num_vu 10

vuset logtotemp 1
print dict
buildschema
waittocomplete
vudestroy
quit
";
