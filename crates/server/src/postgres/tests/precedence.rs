//! Precedence: URL, service file, environment, defaults.

use super::super::{Environment, gather};
use super::Folder;

const SERVICES: &str = "\
# comment
[other]
host=nowhere
[first]
host=/tmp/svc
port=7777
dbname=svcdb
user=svcuser
application_name=from svc
password=svcpw
  sslmode=disable  \t

[first]
port=1
";

const SHOWN: [&str; 8] = [
    "host",
    "port",
    "user",
    "dbname",
    "password",
    "sslmode",
    "application_name",
    "options",
];

/// Names and values.
type Variables = &'static [(&'static str, &'static str)];

/// The non-empty options, in the order of `SHOWN`, or the error.
fn gathered(env: &Environment, url: &str) -> String {
    match gather(&[], "the command line", url, env) {
        Ok(options) => {
            let shown = SHOWN.iter().filter_map(|name| {
                options
                    .non_empty(name)
                    .map(|value| format!("{name}={value}"))
            });
            shown.collect::<Vec<_>>().join("|")
        }
        Err(error) => format!("ERR {error}"),
    }
}

/// A home with both service files, and variables.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write(".pg_service.conf", SERVICES);
    folder.write(
        "sys/pg_service.conf",
        "[sysone]\ndbname=sysdb\n[first]\ndbname=hidden\n",
    );
    folder
}

#[test]
fn an_earlier_source_overrides_later_ones() {
    let folder = folder();
    let svc = "host=/tmp/svc|port=7777|user=svcuser|dbname=svcdb|password=svcpw|sslmode=disable|application_name=from svc";
    let table: [(Variables, &str, &str); 13] = [
        (&[], "", ""),
        (
            &[
                ("PGHOST", "/tmp/x"),
                ("PGPORT", "9"),
                ("PGUSER", "eu"),
                ("PGDATABASE", "ed"),
                ("PGPASSWORD", "ep"),
            ],
            "",
            "host=/tmp/x|port=9|user=eu|dbname=ed|password=ep",
        ),
        (
            &[("PGHOST", "/tmp/x"), ("PGPORT", "9"), ("PGUSER", "eu")],
            "user=cu port=8",
            "host=/tmp/x|port=8|user=cu",
        ),
        (
            &[
                ("PGSERVICE", "first"),
                ("PGPORT", "9"),
                ("PGSSLMODE", "require"),
            ],
            "user=cu",
            "host=/tmp/svc|port=7777|user=cu|dbname=svcdb|password=svcpw|sslmode=disable|application_name=from svc",
        ),
        (&[("PGSERVICE", "other")], "service=first", svc),
        (&[("PGSERVICE", "other")], "postgres://?service=first", svc),
        (&[("PGSERVICE", "sysone")], "", "dbname=sysdb"),
        (
            &[("PGSERVICE", "sysone"), ("PGDATABASE", "ed")],
            "dbname=ud",
            "dbname=ud",
        ),
        (&[("PGREQUIRESSL", "1")], "", "sslmode=require"),
        (
            &[("PGREQUIRESSL", "1"), ("PGSSLMODE", "allow")],
            "",
            "sslmode=allow",
        ),
        (&[("PGOPTIONS", "-c a=b")], "options=''", ""),
        (&[("PGSSLROOTCERT", "system")], "", "sslmode=verify-full"),
        (&[("PGUSER", "")], "", ""),
    ];
    for (variables, url, expected) in table {
        let env = variables
            .iter()
            .fold(folder.env(), |env, (name, value)| env.with(name, value));
        assert_eq!(gathered(&env, url), expected, "{variables:?} {url}");
    }
}

#[test]
fn the_system_folder_can_be_named() {
    let folder = folder();
    folder.write("elsewhere/pg_service.conf", "[far]\nuser=far\n");
    let dir = folder.0.join("elsewhere").display().to_string();
    let env = folder.env().with("PGSYSCONFDIR", &dir);
    assert_eq!(gathered(&env, "service=far"), "user=far");
    assert!(
        gathered(&env, "service=sysone").contains("definition of service \"sysone\" not found")
    );
}

#[test]
fn any_service_file_is_read_without_panic() {
    let folder = folder();
    for text in [
        "",
        "[",
        "[s",
        "[s]",
        "[s]\n=",
        "[s]\n=x",
        "[s]\nhost==",
        "\u{0}[s]\n\u{0}",
        "]\n[[s]]",
    ] {
        let path = folder.write("odd.conf", text).display().to_string();
        let _ = gathered(&folder.env().with("PGSERVICEFILE", &path), "service=s");
    }
    let path = folder
        .write("odd.conf", b"[s]\nuser=\xff\n")
        .display()
        .to_string();
    let env = folder.env().with("PGSERVICEFILE", &path);
    assert_eq!(gathered(&env, "service=s"), "user=\u{fffd}");
}

#[test]
fn mistakes_in_service_files_are_reported() {
    let folder = folder();
    let file = |text: &str| {
        let path = folder.write("named.conf", text).display().to_string();
        folder.env().with("PGSERVICEFILE", &path)
    };
    let table = [
        ("[s]\nhost\n", "syntax error", "line 2"),
        ("[s]\nport=1\nhosst=x\n", "did you mean \"host\"?", "line 3"),
        ("[s]\nservice=t\n", "nested service", "line 2"),
        ("[s]\nldap://x/y\n", "LDAP", "line 2"),
        ("[s]x\nhost\n", "syntax error", "line 2"),
        (
            "[t]\nhost=x\n",
            "definition of service \"s\" not found",
            "named.conf",
        ),
    ];
    for (text, problem, place) in table {
        let error = gathered(&file(text), "service=s");
        assert!(
            error.contains(problem) && error.contains(place),
            "{text}: {error}"
        );
    }
    // A mistake in another section does not matter.
    assert_eq!(
        gathered(&file("[t]\nhost\n[s]\nuser=x\n[u]\nzzz\n"), "service=s"),
        "user=x"
    );

    let absent = folder.0.join("absent");
    let absent = absent.to_str().unwrap();
    let env = folder.env().with("PGSERVICEFILE", absent);
    let error = gathered(&env, "service=s");
    assert!(
        error.contains(absent) && error.contains("PGSERVICEFILE"),
        "{error}"
    );
}

#[test]
fn further_options_come_after_the_url_and_before_the_service_file() {
    let folder = folder();
    let env = folder.env().with("PGSERVICE", "first").with("PGUSER", "eu");
    let before = [("host", "/b"), ("port", "5"), ("user", "")];
    let options = gather(&before, "the command line", "host=/u", &env).unwrap();
    let shown = ["host", "port", "user"].map(|name| options.get(name).unwrap_or(""));
    assert_eq!(shown, ["/u", "5", "svcuser"]);
    let error = gather(&[("hosst", "x")], "the command line", "", &env)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("\"hosst\" in the command line") && error.contains("\"host\""),
        "{error}"
    );
}
