//! Ways to give a script to the console, and a script of the guides.

use crate::hammer::world::Fake;
use prony_dialect::hammerdb::{Console, Session, Settings};

/// Feeds a script by standard input, as `hammerdbcli << EOF` does.
pub fn input(world: &mut Fake, settings: Settings, script: &str) -> (Console, Option<u8>) {
    let mut console = Console::new(Session::new(settings), false);
    for line in script.lines() {
        if let Some(status) = console.line(world, line) {
            return (console, Some(status));
        }
    }
    (console, None)
}

pub fn auto(script: &str) -> (Fake, u8) {
    let mut world = Fake::default();
    world
        .memory
        .files
        .insert("s.tcl".to_owned(), script.to_owned());
    let mut console = Console::new(Session::default(), false);
    let status = console.run_file(&mut world, "s.tcl");
    (world, status)
}

/// The lines of an output, without the carriage returns and the empty ones.
pub fn lines(out: &str) -> Vec<&str> {
    let all = out.lines().map(|line| line.trim_matches('\r'));
    all.filter(|line| !line.is_empty()).collect()
}

/// Builds a schema, as the guides do it.
pub const BUILD: &str = "
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
