//! Every error is at most three lines of 100 columns: the problem, the place, and what to do.
//!
//! Wrong command lines of all commands, without a server and on real ones; and the recorded errors.

use prony_assertions::{TestFolder, TextAssertions};
use prony_test_servers::{TestDatabase, shared_mariadb, shared_postgres};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const MAX_LINES: usize = 3;
const MAX_COLUMNS: usize = 100;

/// A store.
struct Home(TestFolder);

impl Home {
    fn prony(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(line.split(' ')).stdin(Stdio::null());
        command
            .current_dir(&self.0)
            .env("PRONY_HOME", &self.0)
            .env("HOME", &self.0);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PG") || text.starts_with("MYSQL") {
                command.env_remove(&name);
            }
        }
        command.output().unwrap()
    }

    fn error(&self, line: &str) -> Vec<String> {
        let output = self.prony(line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code().is_some_and(|code| code != 0),
            "{line}: {stderr}"
        );
        let lines = stderr.lines();
        let lines = lines.skip_while(|line| !line.starts_with("prony: "));
        lines.map(str::to_owned).collect()
    }
}

/// Checks the form of an error. `quoted`: a text of the server or a path that a line may quote at any length.
fn assert_form(subject: &str, lines: &[String], quoted: &str) {
    assert!(!lines.is_empty(), "{subject}: no error");
    assert!(lines.len() <= MAX_LINES, "{subject}: {lines:#?}");
    for line in lines {
        let is_quotation = !quoted.is_empty() && line.contains(quoted);
        assert!(
            is_quotation || line.chars().count() <= MAX_COLUMNS,
            "{subject}: {line}"
        );
    }
    let hints = lines.iter().filter(|line| line.starts_with("  hint: "));
    assert_eq!(hints.count(), 1, "{subject}: {lines:#?}");
}

#[test]
fn errors_without_a_server_have_three_lines_and_a_hint() {
    let home = Home(TestFolder::create());
    let write = |name: &str, text: &str| std::fs::write(home.0.join(name), text).unwrap();
    write(
        "rate.toml",
        "[workload]\nname = \"tpcb\"\n[run]\nrate = 1e300\n",
    );
    write("broken.toml", "[workload\n");
    write(
        "option.toml",
        "[workload]\nname = \"tpcc\"\nmax_tries = 1e300\n",
    );
    write("empty.toml", "");
    let long = "9".repeat(300);
    let long = format!("run tpcb --clients {long}");
    for line in [
        // Commands and options.
        "rnu tpcb",
        "tpcb",
        "runs delet 1",
        "plan chck x",
        "run",
        "run tpcb --cleints 3",
        "run tpcb --jobs 3",
        "load tpcc -j 3",
        "report last -o x.html",
        "report last",
        "show last --json --csv",
        "demo --full --json",
        "diff-settings a",
        "run tpcb -o",
        // Values.
        "run tpcb --protocol prepard",
        "run tpcb --duration 1e300",
        "run tpcb --rate 1e300",
        "run tpcb --rate 1e400",
        "run tpcb --scale 1e300",
        "run tpcb --clients abc",
        &long,
        "run tpcb --clients 0",
        "run tpcb --threads 9",
        "run tpcb --duration 0s",
        "run tpcb --arrival even",
        "run tpcb --duration 1s --transactions 1",
        "load tpcb --jobs 0",
        "load tpcb --seed -1",
        "load tpcb --cached 1e300",
        "runs --since yesterday",
        "runs --verdict god",
        "doctor --clients 0",
        "demo --duration 0s",
        "price --rate abc",
        "run tpcb --metrics-listen 99999999",
        "run tpcb --server-metrics x",
        "reproduce tpcb-cached --shrink 3",
        "reproduce tpcb-cached --duration 0s",
        // Names.
        "run tpcd",
        "workloads xyzzy",
        "reproduce tpcb-cachd",
        "scenarios xyzzy",
        "show lasst",
        "run tpcb -o foo=1",
        "run oltp_read_only -o tabel_size=1",
        "run tpcc -o mode=procedure",
        "run tpcc -o max_tries=1e300",
        "run script",
        "run script --builtin tpcbb",
        // Files.
        "run nofile.toml",
        "run /tmp",
        "plan check rate.toml",
        "plan check broken.toml",
        "plan check option.toml",
        "plan check empty.toml",
        "run script --file nofile.sql",
        "show /etc/passwd",
        "verify /etc/passwd",
        "audit /etc/passwd",
        "audit nofile",
        "verify nofile",
        "price last --sheet nofile",
        "report last --output /nodir/x.html",
        // Addresses.
        "run tpcb --url foo://x",
        "run tpcb --url postgres://h:99999/d",
        "run tpcb --url hots=h",
        "run tpcb --url mysql://h/d?ssl-mod=x",
        "run tpcb postgres://u@h/d",
        "demo --url x",
        "check tpcb --url postgres://u:x@127.0.0.1:1/d",
        "check tpcc --url mysql://u:x@127.0.0.1:1/d",
        "doctor --url sqlserver://u:x@127.0.0.1:1?database=d",
        "load tpcb --url postgres://u@h.invalid/d",
        "clean tpcc --url mysql://u@h.invalid/d",
        "reproduce tpcb-cached --url postgres://u@127.0.0.1:1/d",
    ] {
        assert_form(line, &home.error(line), "");
    }
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_not_only_blamed_on_firewalls() {
    let home = Home(TestFolder::create());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for url in [
        format!("mysql://u:p@127.0.0.1:{port}/d?connect-timeout=2"),
        format!("postgres://u:p@127.0.0.1:{port}/d?connect_timeout=2"),
    ] {
        let lines = home.error(&format!("check tpcc --url {url}"));
        assert_form(&url, &lines, "");
        lines[2].assert_contains("host, port and kind of server");
    }
}

/// The text of an error without its line breaks.
fn words(lines: &[String]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}

#[test]
fn errors_on_postgresql_have_three_lines_and_commands_for_that_server() {
    let home = Home(TestFolder::create());
    let server = shared_postgres();
    TestDatabase::at(&server.url())
        .execute_all("CREATE DATABASE wrong; CREATE ROLE weak LOGIN; CREATE DATABASE loaded");
    let url = server.url_for("wrong");
    let weak = url.replace("postgres@", "weak@");
    let missing = server.url_for("nosuch");
    let loaded = server.url_for("loaded");
    let load = home.prony(&format!("load tpcb --url {loaded}"));
    assert!(load.status.success(), "{load:?}");
    let weak_loaded = loaded.replace("postgres@", "weak@");
    for (line, expected) in [
        (
            format!("run tpcb --url {url}"),
            "prony load tpcb --scale N --url URL",
        ),
        (
            format!("run tpcc --url {url}"),
            "prony load tpcc --scale N --url URL",
        ),
        (
            format!("run oltp_read_only --url {url}"),
            "prony load oltp_read_only --url URL",
        ),
        (format!("check tpcc --url {url}"), "see table-missing above"),
        (
            format!("check oltp_read_only --url {url}"),
            "see tables above",
        ),
        (format!("run tpcb --url {missing}"), "createdb"),
        (
            format!("load tpcb --url {weak}"),
            "GRANT USAGE, CREATE ON SCHEMA public TO weak; then load again",
        ),
        (
            format!("load tpcb --url {weak_loaded}"),
            "pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history",
        ),
        (
            format!("clean tpcb --url {weak_loaded}"),
            "pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history",
        ),
        (format!("check tpcb --url {weak_loaded}"), ""),
        (format!("run tpcb --url {weak_loaded}"), ""),
        (
            format!("run tpcb --scale 7 --url {loaded}"),
            "prony load tpcb --scale 7 --url URL",
        ),
        (
            format!("run tpcb --clients 900 --duration 1s --url {loaded}"),
            "use fewer clients",
        ),
        (
            format!("load tpcb --scale 2000000000 --url {url}"),
            "use --scale ",
        ),
        (format!("load script --url {url}"), "prony load tpcb"),
    ] {
        let lines = home.error(&line);
        assert_form(&line, &lines, ".s.PGSQL");
        assert!(words(&lines).contains(expected), "{line}: {lines:#?}");
    }
}

#[test]
fn errors_on_mariadb_have_three_lines_and_commands_for_that_server() {
    let home = Home(TestFolder::create());
    let server = shared_mariadb();
    TestDatabase::at(&server.url()).execute_all("CREATE DATABASE wrong; CREATE USER weak@localhost; GRANT SELECT ON wrong.* TO weak@localhost",
    );
    let url = server.url_for("root", "wrong");
    let weak = server.url_for("weak", "wrong");
    let unknown = server.url_for("nosuch", "wrong");
    for (line, expected) in [
        (
            format!("run tpcc --url {url}"),
            "prony load tpcc --scale N --url URL",
        ),
        (
            format!("run ycsb --url {url}"),
            "prony load ycsb --scale N --url URL",
        ),
        (format!("check tpcc --url {url}"), "see table-missing above"),
        (format!("run tpcb --url {url}"), "run there"),
        (format!("load tpcb --url {url}"), "run there"),
        (format!("reproduce tpcb-cached --url {url}"), "run there"),
        (
            format!("load tpcc --url {weak}"),
            "left behind: nothing (the database is unchanged)",
        ),
        (
            format!("load oltp_read_write --url {weak}"),
            "TO 'weak'@'localhost'; then load again",
        ),
        (
            format!("load oltp_read_only -o table_size=0 --url {url}"),
            "1 to",
        ),
        (format!("run oltp_read_only --url {unknown}"), "MYSQL_PWD"),
    ] {
        let lines = home.error(&line);
        // The server's own message may be longer.
        assert_form(&line, &lines, "ERROR 1142");
        assert!(words(&lines).contains(expected), "{line}: {lines:#?}");
        assert!(!lines[0].contains("so far"), "{line}: {lines:#?}");
    }
}

/// The recorded errors have the same form; the lines of a list of problems have that of one problem each.
#[test]
fn recorded_errors_have_three_lines() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let mut errors = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "trycmd")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("\n$ prony ") {
            let Some((_, after)) = block.split_once("\nprony: ") else {
                continue;
            };
            let is_list = after
                .lines()
                .next()
                .is_some_and(|line| line.ends_with(" problems"));
            let is_failure = block.contains("\n? ");
            if is_list || !is_failure {
                continue;
            }
            let error = format!("prony: {after}");
            let lines = error.lines();
            let lines = lines.take_while(|line| !line.is_empty() && *line != "```");
            let lines: Vec<String> = lines.map(str::to_owned).collect();
            assert_form(&format!("{}: {block}", path.display()), &lines, "");
            errors += 1;
        }
    }
    assert!(errors > 20, "{errors}");
}

/// `-d` asked for debugging output up to pgbench 16, and names the database since 17.
#[test]
fn the_meaning_of_d_is_told_where_two_databases_are_named() {
    let home = Home(TestFolder::create());
    let stderr_of = |line: &str| String::from_utf8(home.prony(line).stderr).unwrap();
    let surplus = "too many command-line arguments (first is \"4\")";
    let hint = "use --debug or set PRONY_PGBENCH_COMPAT=16";
    let stderr = stderr_of("pgbench -d -c 4 bench");
    stderr.assert_contains(surplus);
    stderr.assert_contains(hint);
    stderr_of("pgbench --dbname=a 4 bench")
        .assert_contains(surplus)
        .assert_lacks(hint);
}
