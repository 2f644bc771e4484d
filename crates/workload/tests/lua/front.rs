//! Connections of `init()`, which has no loop.

use crate::support::{Base, plain};

/// A script whose account lets no further connection in between `shut()` and `open()`.
const ACCOUNT: &str = "local drv = sysbench.sql.driver()\nlocal one = drv:connect()\n\
                       local me = 'select connection_id()'\n\
                       local function shut() one:query(\"set password = password('x')\") end\n\
                       local function open() one:query(\"set password = ''\") end\n";

fn printed(account: &str, init: &str) -> String {
    let base = Base::maria_as(account);
    let ran = plain(
        &base,
        &format!("function event() return true end\nfunction init()\n{ACCOUNT}{init}\nend"),
    );
    ran.text
}

#[test]
fn a_refused_connection_leaves_the_one_before_it_in_place() {
    let said = printed(
        "front_refused",
        "shut() print(pcall(drv.connect, drv)) print(one:query_row('select 7'))\n\
         open() local two = drv:connect() print(two:query_row(me) ~= one:query_row(me))",
    );
    assert!(
        said.contains("connection creation failed\n7\ntrue\n"),
        "{said}"
    );
}

#[test]
fn what_could_not_reconnect_stays_a_connection_of_its_own() {
    let said = printed(
        "front_held",
        "local two = drv:connect() shut() print(pcall(two.reconnect, two)) open()\n\
         local three = drv:connect() print(pcall(two.query_row, two, me))\n\
         print(three:query_row(me) ~= one:query_row(me))\n\
         print(two:reconnect(), two:query_row(me) ~= three:query_row(me))\n\
         two:disconnect() two = drv:connect() print(two:query_row('select 8'), three:query_row('select 9'))",
    );
    let (reconnect, after) = said
        .split_once("there is no server to ask here\n")
        .expect(&said);
    assert!(
        reconnect.contains("false\tSQL error, errno = 1045"),
        "{said}"
    );
    assert_eq!(after, "true\n0\ttrue\n8\t9\n", "{said}");
}
