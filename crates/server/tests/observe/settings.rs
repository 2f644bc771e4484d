//! Tests of reading the settings of a session.

use super::connect;
use prony_server::observe::read_server_facts;
use prony_test_servers::{TestControl, shared_postgres};

#[test]
fn custom_settings_of_the_session_are_read() {
    let mut control = connect(&shared_postgres().url());
    control.run("create database observe_custom");
    control.run("alter database observe_custom set app.mode = 'b'; alter database observe_custom set app.secret = 'geheim'");
    let conninfo = format!(
        "host='{}' port={} user=postgres dbname=observe_custom options='-c X.d=17 -c work_mem=3MB'",
        shared_postgres().socket_dir().display(),
        shared_postgres().port()
    );
    let mut session = connect(&conninfo);
    let facts = read_server_facts(&mut session).unwrap();
    let setting = |name| facts.setting(name);
    assert_eq!(
        (setting("X.d"), setting("work_mem")),
        (Some("17"), Some("3MB"))
    );
    assert_eq!(
        (setting("app.mode"), setting("app.secret")),
        (Some("b"), Some("(not stored)"))
    );
}
