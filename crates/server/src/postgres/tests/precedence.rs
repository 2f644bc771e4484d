//! Precedence: URL, service file, environment, defaults.

use super::super::{Environment, collect_options};
use super::Folder;
use prony_assertions::TextAssertions;

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

const OPTION_NAMES: [&str; 8] = [
    "host",
    "port",
    "user",
    "dbname",
    "password",
    "sslmode",
    "application_name",
    "options",
];

/// Names and values of environment variables.
type Variables = &'static [(&'static str, &'static str)];

/// The non-empty options, in the order of `OPTION_NAMES`, or the error.
fn option_text(env: &Environment, url: &str) -> String {
    match collect_options(&[], "the command line", url, env) {
        Ok(options) => {
            let pairs = OPTION_NAMES.iter().filter_map(|name| {
                options
                    .non_empty(name)
                    .map(|value| format!("{name}={value}"))
            });
            pairs.collect::<Vec<_>>().join("|")
        }
        Err(error) => format!("ERR {error}"),
    }
}

fn home_with_service_files() -> Folder {
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
    let folder = home_with_service_files();
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
        assert_eq!(option_text(&env, url), expected, "{variables:?} {url}");
    }
}

#[test]
fn a_variable_names_the_folder_of_the_systems_service_file() {
    let folder = home_with_service_files();
    folder.write("elsewhere/pg_service.conf", "[far]\nuser=far\n");
    let dir = folder.0.join("elsewhere").display().to_string();
    let env = folder.env().with("PGSYSCONFDIR", &dir);
    assert_eq!(option_text(&env, "service=far"), "user=far");
    option_text(&env, "service=sysone")
        .assert_contains("definition of service \"sysone\" not found");
}

#[test]
fn reading_any_service_file_never_panics() {
    let folder = home_with_service_files();
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
        let _ = option_text(&folder.env().with("PGSERVICEFILE", &path), "service=s");
    }
    let path = folder
        .write("odd.conf", b"[s]\nuser=\xff\n")
        .display()
        .to_string();
    let env = folder.env().with("PGSERVICEFILE", &path);
    assert_eq!(option_text(&env, "service=s"), "user=\u{fffd}");
}

#[test]
fn errors_in_service_files_are_reported() {
    let folder = home_with_service_files();
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
    for (text, problem, location) in table {
        let error = option_text(&file(text), "service=s");
        assert!(
            error.contains(problem) && error.contains(location),
            "{text}: {error}"
        );
    }
    // An error in a different section is ignored.
    assert_eq!(
        option_text(&file("[t]\nhost\n[s]\nuser=x\n[u]\nzzz\n"), "service=s"),
        "user=x"
    );

    let absent = folder.0.join("absent");
    let absent = absent.to_str().unwrap();
    let env = folder.env().with("PGSERVICEFILE", absent);
    let error = option_text(&env, "service=s");
    error.assert_contains(absent);
    error.assert_contains("PGSERVICEFILE");
}

#[test]
fn additional_options_are_overridden_by_the_url_and_override_the_service_file() {
    let folder = home_with_service_files();
    let env = folder.env().with("PGSERVICE", "first").with("PGUSER", "eu");
    let additional = [("host", "/b"), ("port", "5"), ("user", "")];
    let options = collect_options(&additional, "the command line", "host=/u", &env).unwrap();
    let values = ["host", "port", "user"].map(|name| options.get(name).unwrap_or(""));
    assert_eq!(values, ["/u", "5", "svcuser"]);
    let error = collect_options(&[("hosst", "x")], "the command line", "", &env)
        .err()
        .unwrap()
        .to_string();
    error.assert_contains("\"hosst\" in the command line");
    error.assert_contains("\"host\"");
}
