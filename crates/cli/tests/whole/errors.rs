//! Every error is at most three lines of 100 columns: the problem, the place, and what to do.
//!
//! Wrong command lines of all commands, without a server and on real ones; and the recorded errors.

use crate::common::*;
use prony_test_servers::TestDatabase;
use std::net::TcpListener;

const MAX_LINES: usize = 3;
const MAX_COLUMNS: usize = 100;

/// A store.
struct Home(TestFolder);

impl Home {
    fn prony(&self, line: &str) -> Output {
        let mut command = prony_command(line, &self.0);
        command.current_dir(&self.0).output().unwrap()
    }

    fn error(&self, line: &str) -> Vec<String> {
        let output = self.prony(line);
        let stderr = stderr_text(&output);
        assert!(!output.status.success(), "{line}: {stderr}");
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
    for (name, text) in [
        ("rate.toml", "workload.name = 'tpcb'\nrun.rate = 1e300\n"),
        ("broken.toml", "[workload\n"),
        (
            "option.toml",
            "workload = {name = 'tpcc', max_tries = 1e300}\n",
        ),
        ("empty.toml", ""),
    ] {
        home.0.write(name, text);
    }
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

#[test]
fn errors_on_postgresql_have_three_lines_and_commands_for_that_server() {
    let home = Home(TestFolder::create());
    let server = shared_postgres();
    TestDatabase::at(&server.url())
        .execute_all("CREATE DATABASE wrong; CREATE ROLE weak LOGIN; CREATE DATABASE loaded");
    // Urls of an empty database, of a role without rights and of none; and of a loaded one.
    let url = server.url_for("wrong");
    let loaded = server.url_for("loaded");
    let as_weak = |url: &str| url.replace("postgres@", "weak@");
    ok_stdout(&home.prony(&format!("load tpcb --url {loaded}")));
    let urls = [
        ("WRONG", url.clone()),
        ("WEAK-LOADED", as_weak(&loaded)),
        ("WEAK", as_weak(&url)),
        ("LOADED", loaded),
        ("MISSING", server.url_for("nosuch")),
    ];
    let tables = "pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history";
    let grant = "GRANT USAGE, CREATE ON SCHEMA public TO weak; then load again";
    for (line, expected) in [
        ("run tpcb WRONG", "prony load tpcb --scale N --url "),
        ("run tpcc WRONG", "prony load tpcc --scale N --url "),
        (
            "run oltp_read_only WRONG",
            "prony load oltp_read_only --url ",
        ),
        ("check tpcc WRONG", "see table-missing above"),
        ("check oltp_read_only WRONG", "see tables above"),
        ("run tpcb MISSING", "createdb"),
        ("load tpcb WEAK", grant),
        ("load tpcb WEAK-LOADED", tables),
        ("clean tpcb WEAK-LOADED", tables),
        ("check tpcb WEAK-LOADED", ""),
        ("run tpcb WEAK-LOADED", ""),
        (
            "run tpcb --scale 7 LOADED",
            "prony load tpcb --scale 7 --url ",
        ),
        (
            "run tpcb --clients 900 --duration 1s LOADED",
            "use fewer clients",
        ),
        ("load tpcb --scale 2000000000 WRONG", "use --scale "),
        ("load script WRONG", "prony load tpcb"),
    ] {
        assert_error(&home, line, &urls, ".s.PGSQL", expected);
    }
}

/// Checks the error of a line whose last word is the name of one of these URLs; returns its lines.
fn assert_error(
    home: &Home,
    line: &str,
    urls: &[(&str, String)],
    quoted: &str,
    expected: &str,
) -> Vec<String> {
    let (command, name) = line.rsplit_once(' ').expect(line);
    let mut urls = urls.iter();
    let (_, url) = urls.find(|(known, _)| *known == name).expect(line);
    let lines = home.error(&format!("{command} --url {url}"));
    assert_form(line, &lines, quoted);
    let text = lines.join(" ").unwrapped();
    assert!(text.contains(expected), "{line}: {lines:#?}");
    lines
}

#[test]
fn errors_on_mariadb_have_three_lines_and_commands_for_that_server() {
    let home = Home(TestFolder::create());
    let server = shared_mariadb();
    TestDatabase::at(&server.url()).execute_all("CREATE DATABASE wrong; CREATE USER weak@localhost; GRANT SELECT ON wrong.* TO weak@localhost",
    );
    let urls = [("WRONG", "root"), ("WEAK", "weak"), ("UNKNOWN", "nosuch")];
    let urls = urls.map(|(name, user)| (name, server.url_for(user, "wrong")));
    let unchanged = "left behind: nothing (the database is unchanged)";
    for (line, expected) in [
        ("run tpcc WRONG", "prony load tpcc --scale N --url "),
        ("run ycsb WRONG", "prony load ycsb --scale N --url "),
        ("check tpcc WRONG", "see table-missing above"),
        ("run tpcb WRONG", "run there"),
        ("load tpcb WRONG", "run there"),
        ("reproduce tpcb-cached WRONG", "run there"),
        ("load tpcc WEAK", unchanged),
        (
            "load oltp_read_write WEAK",
            "TO 'weak'@'localhost'; then load again",
        ),
        ("load oltp_read_only -o table_size=0 WRONG", "1 to"),
        ("run oltp_read_only UNKNOWN", "MYSQL_PWD"),
    ] {
        // The server's own message may be longer.
        let lines = assert_error(&home, line, &urls, "ERROR 1142", expected);
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
        if path.extension().is_none_or(|it| it != "trycmd") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for block in text.split("\n$ prony ") {
            let Some((_, after)) = block.split_once("\nprony: ") else {
                continue;
            };
            let first = after.lines().next().unwrap_or_default();
            let is_list = first.ends_with(" problems");
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
    let stderr_of = |line: &str| stderr_text(&home.prony(line));
    let surplus = "too many command-line arguments (first is \"4\")";
    let hint = "use --debug or set PRONY_PGBENCH_COMPAT=16";
    stderr_of("pgbench -d -c 4 bench")
        .assert_contains(surplus)
        .assert_contains(hint);
    stderr_of("pgbench --dbname=a 4 bench")
        .assert_contains(surplus)
        .assert_lacks(hint);
}
