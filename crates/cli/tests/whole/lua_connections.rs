//! sysbench scripts and their connections: none at all, several, over TLS, refused; and messages to other
//! connections of the same thread.

use crate::common::control;
use crate::lua::LuaBench;
use prony_server::embedded::{MariaDb, MariaDbOptions, shared_mariadb};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::path::Path;

/// An address without a server.
const NOWHERE: [&str; 2] = ["--mysql-host=127.0.0.1", "--mysql-port=1"];

fn nowhere(name: &str) -> LuaBench {
    let arguments = NOWHERE.map(str::to_owned).to_vec();
    // The server requests no password; this one is in no output.
    LuaBench::new(name, arguments, "sesame-0815".to_owned())
}

#[test]
fn a_script_that_does_not_connect_needs_no_server() {
    let bench = nowhere("lua_nowhere");
    bench.write(
        "none.lua",
        "sysbench.cmdline.commands = { hi = { function() print('hi') end }, \
         all = { function() print('all') end, sysbench.cmdline.PARALLEL_COMMAND } }\n\
         sysbench.cmdline.options = { connect = { 'Connect', false } }\n\
         function thread_init()\n  if sysbench.opt.connect then\n    sysbench.sql.driver():connect()\n  end\nend\n\
         function event() end",
    );
    // Neither a server, nor a name for one, nor a driver.
    for words in [
        "",
        "--mysql-host=h.invalid",
        "--db-driver=foo",
        "--db-ps-mode=foo",
        "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1",
    ] {
        let run = format!("{words} ./none.lua --threads=2 --events=100 --time=0 run");
        let (status, out, err) = bench.sysbench(&run);
        // A thread that got no CPU for that long looks like one that ran on.
        let ran_on = |line: &&str| line.starts_with("prony: the script ran for ");
        let messages: Vec<&str> = err.lines().filter(|line| !ran_on(line)).collect();
        assert_eq!((status, messages), (0, vec![]), "{words} {out}");
        assert!(
            out.contains("Threads started!\n\n\nGeneral statistics:\n"),
            "{out}"
        );
        assert!(
            out.contains("total number of events:              100\n"),
            "{out}"
        );
        let (status, out, _) = bench.sysbench(&format!("{words} ./none.lua hi"));
        assert_eq!((status, out.ends_with("\n\nhi\n")), (0, true), "{out}");
        let (status, out, _) = bench.sysbench(&format!("{words} --threads=3 ./none.lua all"));
        assert_eq!((status, out.matches("all\n").count()), (0, 3), "{out}");
    }
    let failed = "FATAL: `thread_init' function failed: ./none.lua:5:";
    for (words, expected) in [
        (
            "",
            "FATAL: unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...\nFATAL: error \
             2002: Can't connect to server on '127.0.0.1' (111)\n@ connection creation failed\n",
        ),
        (
            "--mysql-host=h.invalid",
            "FATAL: error 2005: Unknown server host 'h.invalid' (-2)\n@ connection creation failed\n",
        ),
        (
            "--db-driver=foo",
            "FATAL: invalid database driver name: 'foo'\n@ failed to initialize the DB driver\n",
        ),
        (
            "--db-ps-mode=foo",
            "FATAL: Invalid value for db-ps-mode: foo\n@ failed to initialize the DB driver\n",
        ),
        (
            "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1",
            "Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?\n\n@ \
             connection creation failed\n",
        ),
    ] {
        let (status, out, _) = bench.sysbench(&format!("{words} ./none.lua --connect run"));
        assert_eq!(status, 1, "{out}");
        let expected = expected.replace('@', failed) + "FATAL: Thread initialization failed!\n";
        assert!(out.ends_with(&expected), "{words}: {out}\n{expected}");
    }
}

#[test]
fn thread_init_timeout_limits_the_wait_of_a_script() {
    let bench = nowhere("lua_silent");
    bench.write(
        "one.lua",
        "function thread_init() sysbench.sql.driver():connect() end function event() end",
    );
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let words = format!("--mysql-port={port} --threads=2 --thread-init-timeout=1 ./one.lua run");
    let (status, out, _) = bench.sysbench_with(&words, &[("PRONY_SYSBENCH_COMPAT", "1.1")]);
    let line = "FATAL: Worker threads failed to initialize within 1 seconds!\n";
    assert!(out.ends_with(line) && status == 2, "{status} {out}");
}

#[test]
fn a_legacy_script_connects_at_its_first_query() {
    let bench = nowhere("lua_late");
    bench.write("late.lua", "function event()\n  db_query('select 1')\nend");
    let (status, out, _) = bench.sysbench("./late.lua run");
    assert_eq!(status, 1);
    let expected =
        "FATAL: `thread_run' function failed: ./late.lua:2: Failed to connect to the database\n";
    assert!(
        out.contains("Threads started!\n\nFATAL: unable to connect") && out.ends_with(expected),
        "{out}"
    );
}

#[test]
fn connections_are_opened_and_closed_within_events() {
    for bench in [
        LuaBench::maria("lua_within_my"),
        LuaBench::postgres("lua_within_pg"),
    ] {
        bench.write(
            "within.lua",
            "function thread_init() drv = sysbench.sql.driver() one = drv:connect() end\n\
             function event()\n  local two = drv:connect()\n  two:query('select 1') one:query('select 2')\n  \
             two:disconnect()\nend",
        );
        let words = "./within.lua --threads=3 --events=30 --time=0 run";
        let (status, out, _) = bench.sysbench(words);
        assert_eq!(status, 0, "{out}");
        assert!(
            out.contains("read:                            60\n"),
            "{out}"
        );
        assert!(
            out.contains("reconnects:                          0 "),
            "{out}"
        );
    }
}

#[test]
fn init_and_done_have_their_own_connections() {
    let bench = LuaBench::maria("lua_front");
    bench.write(
        "front.lua",
        "local function both()\n  local drv = sysbench.sql.driver()\n  local one, two = drv:connect(), drv:connect()\n  \
         local me = 'select connection_id()'\n  print(one:query_row(me) ~= two:query_row(me), one:query_row('select 7'))\n  \
         print(pcall(one.query, one, 'select \"\\233\"'))\n  one:disconnect()\n  print(pcall(one.query, one, me))\nend\n\
         function init() both() end\nfunction done() both() end\nfunction event() return true end",
    );
    let (status, out, _) = bench.sysbench("./front.lua run");
    assert_eq!(status, 0, "{out}");
    // A text is sent in its own encoding.
    let expected = "true\t7\ntrue\t<sql_result>\nALERT: attempt to use an already closed connection\n\
                false\t./front.lua:8: SQL API error\n";
    assert_eq!(out.matches(expected).count(), 2, "{out}");
    for option in ["--mysql-dry-run", "--mysql-compression=on"] {
        let (status, out, _) = bench.sysbench(&format!("{option} ./front.lua run"));
        assert!(
            status == 1 && out.contains(option.trim_end_matches("=on")),
            "{out}"
        );
    }
}

#[test]
fn a_script_that_blocks_its_thread_gets_one_warning() {
    let bench = nowhere("lua_waiting");
    bench.write(
        "waits.lua",
        // In a way that cannot be detected in advance.
        "local wait = os['exec' .. 'ute']\nfunction event() wait('sleep 0.8') end",
    );
    let expected = "prony: the script ran for at least 0.1 s without a database query (os.execute";
    // More users than any machine has workers.
    let (status, out, err) = bench.sysbench("./waits.lua --threads=64 --events=3 --time=0 run");
    assert_eq!(
        (status, err.matches(expected).count()),
        (0, 1),
        "{out}\n{err}"
    );
    let (status, _, err) = bench.sysbench("./waits.lua --threads=1 --events=2 --time=0 run");
    assert_eq!((status, err.as_str()), (0, ""));
}

#[test]
fn the_last_repeated_message_has_no_count() {
    let bench = nowhere("lua_again");
    bench.write(
        "again.lua",
        "function event() return true end\n\
         local function try(name) pcall(sysbench.sql.driver, name) end\n\
         function done() try('x') try('x') try('x') try('y') try('y') end",
    );
    let (status, out, _) = bench.sysbench("./again.lua run");
    assert_eq!(status, 0, "{out}");
    // As in sysbench: only the next message prints the count.
    let expected = "FATAL: invalid database driver name: 'x'\n(last message repeated 2 times)\n\
                FATAL: invalid database driver name: 'y'\n";
    assert!(out.ends_with(expected), "{out}");
}

/// A CA of this name, and a certificate for `localhost` signed by it with its key; all PEM.
fn certify(name: &str) -> [String; 3] {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("signs");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("signs");
    [issuer.pem(), certificate.pem(), key.serialize_pem()]
}

/// A file of the TLS tests.
fn pem(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/data/tls");
    std::fs::read_to_string(folder.join(name)).expect("it is there")
}

/// A MariaDB with TLS, whose account requires a client certificate.
fn secured() -> (MariaDb, LuaBench, [String; 3]) {
    let right = certify("right");
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned().into_bytes());
    // Client certificates may be signed by either.
    let authorities = format!("{}{}", right[0], pem("ca.crt"));
    let grant = "CREATE USER x509@'%' IDENTIFIED BY 'sesame-0815' REQUIRE X509;";
    let server = MariaDb::start(MariaDbOptions {
        files: vec![
            file("ssl-ca", &authorities),
            file("ssl-cert", &right[1]),
            file("ssl-key", &right[2]),
        ],
        statements: vec![grant.to_owned(), "GRANT ALL ON *.* TO x509@'%';".to_owned()],
        ..MariaDbOptions::default()
    });
    let server = server.expect("it starts");
    let arguments = [
        "--mysql-host=127.0.0.1".to_owned(),
        format!("--mysql-port={}", server.port()),
        "--mysql-user=x509".to_owned(),
        "--mysql-password=sesame-0815".to_owned(),
        "--mysql-db=test".to_owned(),
    ];
    let bench = LuaBench::new("lua_tls", arguments.to_vec(), "sesame-0815".to_owned());
    (server, bench, right)
}

const TLS: &str = "function thread_init()\n  con = sysbench.sql.driver():connect()\n  \
                   print(con:query_row(\"show status like 'Ssl_version'\"))\nend\n\
                   function event() con:query('select 1') end";

/// One test, because its parts share a server that ends with it.
#[test]
fn tls_follows_the_mysql_options() {
    let (server, bench, [authority, certificate, key]) = secured();
    bench.write("tls.lua", TLS);
    let words = "./tls.lua --events=2 --time=0 run";
    let at = "FATAL: `thread_init' function failed: ./tls.lua:2: connection creation failed\n";
    let refused = |out: &str, expected: &str| {
        let failed = out.contains(at) || out.contains("failed: connection creation failed\n");
        assert!(failed && out.contains(expected), "{expected}: {out}");
    };
    // 1.0: three files with these names in the current folder.
    let (status, out, _) = bench.sysbench(&format!("--mysql-ssl=on {words}"));
    assert_eq!(status, 1);
    refused(&out, "FATAL: error 2026: ");
    refused(&out, "cacert.pem");
    bench.write("cacert.pem", &authority);
    bench.write("client-cert.pem", &certificate);
    bench.write("client-key.pem", &key);
    for (option, noted) in [
        ("", ""),
        (
            "--mysql-ssl-cipher=AES128-SHA",
            "prony: --mysql-ssl-cipher=AES128-SHA is ignored: ",
        ),
    ] {
        let (status, out, err) = bench.sysbench(&format!("--mysql-ssl=on {option} {words}"));
        assert_eq!(status, 0, "{out}");
        assert!(out.contains("Ssl_version\tTLSv1.3\n"), "{out}");
        assert!(
            err.starts_with(noted) && err.is_empty() == noted.is_empty(),
            "{err}"
        );
    }
    // An X.509 version 1 certificate, as the steps of MySQL's manual create it; and a key that does
    // not match.
    bench.write("client-cert.pem", &pem("v1.crt"));
    bench.write("client-key.pem", &pem("v1.key"));
    let (status, out, _) = bench.sysbench(&format!("--mysql-ssl=on {words}"));
    assert_eq!(status, 0, "{out}");
    bench.write("client-cert.pem", &certificate);
    let (status, out, _) = bench.sysbench(&format!("--mysql-ssl=on {words}"));
    assert_eq!(status, 1);
    refused(&out, "ssl-cert and ssl-key must belong together");
    bench.write("client-key.pem", &key);
    // The bundled tests, which load over separate connections.
    let sizes = "--mysql-ssl=on --tables=2 --table-size=100 --threads=2 oltp_point_select";
    for command in ["prepare", "--events=20 --time=0 run", "cleanup"] {
        let (status, out, _) = bench.sysbench(&format!("{sizes} {command}"));
        assert_eq!(status, 0, "{command}: {out}");
    }
    // Without TLS, or with a CA that is not the server's.
    for (options, code) in [(words.to_owned(), "1045"), (format!("{sizes} run"), "2026")] {
        if code == "2026" {
            bench.write("cacert.pem", &certify("right")[0]);
        }
        let (status, out, _) = bench.sysbench(&options);
        assert_eq!(status, 1);
        refused(&out, &format!("FATAL: error {code}: "));
    }
    let (_, out, _) = bench.sysbench(&format!("--mysql-ssl=on {words}"));
    refused(&out, "FATAL: error 2026: ");
    newer_modes(&bench, &authority, &refused);
    let waiting =
        control(&server.url()).query_value("select count(*) from mysql.user where user = 'x509'");
    assert_eq!(waiting.expect("it is up").as_deref(), Some("1"));
    a_server_without_tls(&authority, &certificate, &key);
}

/// 1.1: modes, and files given by name.
fn newer_modes(bench: &LuaBench, authority: &str, refused: &dyn Fn(&str, &str)) {
    bench.write("right.pem", authority);
    let newer = [("PRONY_SYSBENCH_COMPAT", "1.1")];
    let mine = "--mysql-ssl-cert=client-cert.pem --mysql-ssl-key=client-key.pem";
    let words = "./tls.lua --events=2 --time=0 run";
    for (options, is_let_in) in [
        ("--mysql-ssl=required", true),
        ("--mysql-ssl=VERIFY_CA --mysql-ssl-ca=right.pem", true),
        ("--mysql-ssl=verify_ca --mysql-ssl-ca=cacert.pem", false),
        // The server is reached by its IP address.
        (
            "--mysql-ssl=verify_identity --mysql-ssl-ca=right.pem",
            false,
        ),
        ("--mysql-ssl=verify_ca", false),
    ] {
        let (status, out, _) = bench.sysbench_with(&format!("{options} {mine} {words}"), &newer);
        assert_eq!(status, i32::from(!is_let_in), "{options}: {out}");
        match is_let_in {
            true => assert!(out.contains("Ssl_version\tTLSv1.3\n"), "{out}"),
            false => refused(&out, "FATAL: error 2026: "),
        }
    }
    let (status, out, _) = bench.sysbench_with(&format!("--mysql-ssl=often {words}"), &newer);
    assert_eq!(status, 1);
    refused(&out, "often");
}

/// If TLS is requested and the server does not support it, the error says so.
fn a_server_without_tls(authority: &str, certificate: &str, key: &str) {
    let bench = LuaBench::maria("lua_no_tls");
    bench.write("tls.lua", TLS);
    bench.write("cacert.pem", authority);
    bench.write("client-cert.pem", certificate);
    bench.write("client-key.pem", key);
    assert!(shared_mariadb().port() > 0);
    let (status, out, _) = bench.sysbench("--mysql-ssl=on ./tls.lua run");
    assert_eq!(status, 1);
    let expected = "FATAL: error 2026: ";
    assert!(
        out.contains(expected) && out.contains("does not support SSL"),
        "{out}"
    );
    let (status, out, _) = bench.sysbench("./tls.lua --events=1 --time=0 run");
    assert_eq!(status, 0, "{out}");
}
