//! Roles on the embedded PostgreSQL and on the servers listed in `PRONY_TEST_POSTGRES`, as managed services have them:
//! the account that creates them is no superuser.

use prony_server::{Control, Environment, database, resolve};
use prony_test_servers::{TestControl, shared_postgres};
use prony_wire::Secret;

fn connect(url: &str) -> Control {
    let target = resolve(url, &Environment::from_process()).expect("a URL");
    Control::connect(&target).expect("connects")
}

/// Since version 16, the membership that CREATE ROLE itself creates does not allow SET ROLE.
#[test]
fn an_account_that_creates_a_role_can_create_a_database_for_it() {
    let mut urls: Vec<String> = std::env::var("PRONY_TEST_POSTGRES")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    urls.push(shared_postgres().url_for("postgres"));
    for url in urls {
        let (admin, user) = ("Rds Admin", "owner \"of\" tables");
        let mut control = connect(&url);
        control.run("create role \"Rds Admin\" createdb createrole");
        control.run("set session authorization \"Rds Admin\"");
        // A second build finds the role.
        for _ in 0..2 {
            database::create_or_alter_role(&mut control, user, &Secret::new("sesame"))
                .expect("a role");
            database::grant_role(&mut control, user, admin).expect(&url);
        }
        database::create_owned_database(&mut control, "roles of a service", user, None)
            .expect(&url);
        for sql in [
            "drop database \"roles of a service\"",
            "reset session authorization",
            "drop role \"owner \"\"of\"\" tables\"",
            "drop role \"Rds Admin\"",
        ] {
            control.execute(sql).expect(sql);
        }
    }
}
