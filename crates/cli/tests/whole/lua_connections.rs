//! Connections of sysbench scripts: no connection, several connections, TLS, refused connections.

use crate::common::*;
use crate::logins::create_certificates;
use crate::sysbench::Sysbench;

/// Options of an address without a server.
const NO_SERVER: [&str; 2] = ["--mysql-host=127.0.0.1", "--mysql-port=1"];

/// A bench whose server does not exist.
pub fn without_server() -> Sysbench {
    let arguments = NO_SERVER.map(str::to_owned).to_vec();
    // No server requests this password; the bench asserts that no output contains it.
    Sysbench::with_login(arguments, "sesame-0815".to_owned())
}

#[test]
fn a_script_that_does_not_connect_needs_no_server() {
    let bench = without_server();
    bench.write(
        "none.lua",
        "sysbench.cmdline.commands = { hi = { function() print('hi') end }, \
         all = { function() print('all') end, sysbench.cmdline.PARALLEL_COMMAND } }\n\
         sysbench.cmdline.options = { connect = { 'Connect', false } }\n\
         function thread_init()\n  if sysbench.opt.connect then\n    sysbench.sql.driver():connect()\n  end\nend\n\
         function event() end",
    );
    // Connection settings are not used, so invalid ones are accepted.
    for arguments in [
        "",
        "--mysql-host=h.invalid",
        "--db-driver=foo",
        "--db-ps-mode=foo",
        "--db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=1",
    ] {
        let run = format!("{arguments} ./none.lua --threads=2 --events=100 --time=0 run");
        let (out, err) = bench.sysbench(&run).texts(0);
        // On a busy machine, a thread without CPU time is reported as one that blocks.
        let is_block_warning = |line: &&str| line.starts_with("prony: the script ran for ");
        let messages: Vec<&str> = err.lines().filter(|line| !is_block_warning(line)).collect();
        assert!(messages.is_empty(), "{arguments} {messages:?}");
        out.assert_contains("Threads started!\n\n\nGeneral statistics:\n");
        out.assert_contains("total number of events:              100\n");
        let out = bench.ok(&format!("{arguments} ./none.lua hi"));
        out.assert_ends_with("\n\nhi\n");
        let out = bench.ok(&format!("{arguments} --threads=3 ./none.lua all"));
        assert_eq!(out.matches("all\n").count(), 3, "{out}");
    }
    let failed = "FATAL: `thread_init' function failed: ./none.lua:5:";
    for (arguments, expected) in [
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
        let out = bench.failed(&format!("{arguments} ./none.lua --connect run"));
        let expected = expected.replace('@', failed) + "FATAL: Thread initialization failed!\n";
        assert!(out.ends_with(&expected), "{arguments}: {out}\n{expected}");
    }
}

#[test]
fn thread_init_timeout_limits_the_wait_of_a_script() {
    let bench = without_server();
    bench.write(
        "one.lua",
        "function thread_init() sysbench.sql.driver():connect() end function event() end",
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let arguments =
        format!("--mysql-port={port} --threads=2 --thread-init-timeout=1 ./one.lua run");
    let ended = bench.sysbench_with(&arguments, &[("PRONY_SYSBENCH_COMPAT", "1.1")]);
    let line = "FATAL: Worker threads failed to initialize within 1 seconds!\n";
    ended.failed_stdout(2).assert_ends_with(line);
}

#[test]
fn a_legacy_script_connects_at_its_first_query() {
    let bench = without_server();
    bench.write("late.lua", "function event()\n  db_query('select 1')\nend");
    let out = bench.failed("./late.lua run");
    let expected =
        "FATAL: `thread_run' function failed: ./late.lua:2: Failed to connect to the database\n";
    out.assert_contains("Threads started!\n\nFATAL: unable to connect");
    out.assert_ends_with(expected);
}

#[test]
fn connections_are_opened_and_closed_within_events() {
    for bench in [
        Sysbench::maria("lua_within_my"),
        Sysbench::postgres("lua_within_pg"),
    ] {
        bench.write(
            "within.lua",
            "function thread_init() drv = sysbench.sql.driver() one = drv:connect() end\n\
             function event()\n  local two = drv:connect()\n  two:query('select 1') one:query('select 2')\n  \
             two:disconnect()\nend",
        );
        let arguments = "./within.lua --threads=3 --events=30 --time=0 run";
        let out = bench.ok(arguments);
        out.assert_contains("read:                            60\n");
        out.assert_contains("reconnects:                          0 ");
    }
}

#[test]
fn init_and_done_have_their_own_connections() {
    let bench = Sysbench::maria("lua_front");
    bench.write(
        "front.lua",
        "local function both()\n  local drv = sysbench.sql.driver()\n  local one, two = drv:connect(), drv:connect()\n  \
         local me = 'select connection_id()'\n  print(one:query_row(me) ~= two:query_row(me), one:query_row('select 7'))\n  \
         print(pcall(one.query, one, 'select \"\\233\"'))\n  one:disconnect()\n  print(pcall(one.query, one, me))\nend\n\
         function init() both() end\nfunction done() both() end\nfunction event() return true end",
    );
    let out = bench.ok("./front.lua run");
    // Bytes that are not UTF-8 are sent unchanged.
    let expected = "true\t7\ntrue\t<sql_result>\nALERT: attempt to use an already closed connection\n\
                false\t./front.lua:8: SQL API error\n";
    assert_eq!(out.matches(expected).count(), 2, "{out}");
    for option in ["--mysql-dry-run", "--mysql-compression=on"] {
        let out = bench.failed(&format!("{option} ./front.lua run"));
        out.assert_contains(option.trim_end_matches("=on"));
    }
}

#[test]
fn the_last_repeated_message_has_no_count() {
    let bench = without_server();
    bench.write(
        "again.lua",
        "function event() return true end\n\
         local function try(name) pcall(sysbench.sql.driver, name) end\n\
         function done() try('x') try('x') try('x') try('y') try('y') end",
    );
    let out = bench.ok("./again.lua run");
    // As in sysbench, the count is printed before the next message only.
    let expected = "FATAL: invalid database driver name: 'x'\n(last message repeated 2 times)\n\
                FATAL: invalid database driver name: 'y'\n";
    out.assert_ends_with(expected);
}

/// Reads a file of the TLS tests of the server crate.
fn read_pem(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/data/tls");
    std::fs::read_to_string(folder.join(name)).expect("a file of the tests")
}

/// A MariaDB with TLS, whose account requires a client certificate.
fn start_tls_server() -> (MariaDb, Sysbench, [String; 3]) {
    let certificates = create_certificates("Authority of the tests");
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned().into_bytes());
    // The server accepts client certificates signed by either CA.
    let authorities = format!("{}{}", certificates[0], read_pem("ca.crt"));
    let grant = "CREATE USER x509@'%' IDENTIFIED BY 'sesame-0815' REQUIRE X509;";
    let server = MariaDb::start(MariaDbOptions {
        files: vec![
            file("ssl-ca", &authorities),
            file("ssl-cert", &certificates[1]),
            file("ssl-key", &certificates[2]),
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
    let bench = Sysbench::with_login(arguments.to_vec(), "sesame-0815".to_owned());
    (server, bench, certificates)
}

const TLS_SCRIPT: &str = "function thread_init()\n  con = sysbench.sql.driver():connect()\n  \
                   print(con:query_row(\"show status like 'Ssl_version'\"))\nend\n\
                   function event() con:query('select 1') end";

/// One test for all options, so that only one server is started.
#[test]
fn tls_follows_the_mysql_options() {
    let (server, bench, [authority, certificate, key]) = start_tls_server();
    bench.write("tls.lua", TLS_SCRIPT);
    let arguments = "./tls.lua --events=2 --time=0 run";
    let connect_error =
        "FATAL: `thread_init' function failed: ./tls.lua:2: connection creation failed\n";
    let assert_refused = |out: &str, expected: &str| {
        let failed =
            out.contains(connect_error) || out.contains("failed: connection creation failed\n");
        assert!(failed && out.contains(expected), "{expected}: {out}");
    };
    // Version 1.0 reads three files with fixed names in the current folder.
    let out = bench.failed(&format!("--mysql-ssl=on {arguments}"));
    assert_refused(&out, "FATAL: error 2026: ");
    assert_refused(&out, "cacert.pem");
    bench.write("cacert.pem", &authority);
    bench.write("client-cert.pem", &certificate);
    bench.write("client-key.pem", &key);
    for (option, notice) in [
        ("", ""),
        (
            "--mysql-ssl-cipher=AES128-SHA",
            "prony: --mysql-ssl-cipher=AES128-SHA is ignored: ",
        ),
    ] {
        let (out, err) = bench
            .sysbench(&format!("--mysql-ssl=on {option} {arguments}"))
            .texts(0);
        out.assert_contains("Ssl_version\tTLSv1.3\n");
        assert!(
            err.starts_with(notice) && err.is_empty() == notice.is_empty(),
            "{err}"
        );
    }
    // An X.509 version 1 certificate, which the steps in MySQL's manual create; then a key that does not
    // match the certificate.
    bench.write("client-cert.pem", &read_pem("v1.crt"));
    bench.write("client-key.pem", &read_pem("v1.key"));
    bench.ok(&format!("--mysql-ssl=on {arguments}"));
    bench.write("client-cert.pem", &certificate);
    let out = bench.failed(&format!("--mysql-ssl=on {arguments}"));
    assert_refused(&out, "ssl-cert and ssl-key must belong together");
    bench.write("client-key.pem", &key);
    // The bundled tests load over separate connections.
    let sizes = "--mysql-ssl=on --tables=2 --table-size=100 --threads=2 oltp_point_select";
    for command in ["prepare", "--events=20 --time=0 run", "cleanup"] {
        bench.ok(&format!("{sizes} {command}"));
    }
    // The server refuses a login without TLS; the client refuses a server whose certificate another CA
    // signed.
    for (options, code) in [
        (arguments.to_owned(), "1045"),
        (format!("{sizes} run"), "2026"),
    ] {
        if code == "2026" {
            let [other, ..] = create_certificates("Authority of the tests");
            bench.write("cacert.pem", &other);
        }
        let out = bench.failed(&options);
        assert_refused(&out, &format!("FATAL: error {code}: "));
    }
    let out = bench.failed(&format!("--mysql-ssl=on {arguments}"));
    assert_refused(&out, "FATAL: error 2026: ");
    check_version_1_1(&bench, &authority, &assert_refused);
    let account_count =
        connect(&server.url()).query_value("select count(*) from mysql.user where user = 'x509'");
    assert_eq!(
        account_count.expect("the server is up").as_deref(),
        Some("1")
    );
    check_server_without_tls(&authority, &certificate, &key);
}

/// Checks version 1.1, which has TLS modes and options for the files.
fn check_version_1_1(bench: &Sysbench, authority: &str, assert_refused: &dyn Fn(&str, &str)) {
    bench.write("ca.pem", authority);
    let run = |arguments: &str| bench.sysbench_with(arguments, &[("PRONY_SYSBENCH_COMPAT", "1.1")]);
    let client_options = "--mysql-ssl-cert=client-cert.pem --mysql-ssl-key=client-key.pem";
    let arguments = "./tls.lua --events=2 --time=0 run";
    for (options, is_accepted) in [
        ("--mysql-ssl=required", true),
        ("--mysql-ssl=VERIFY_CA --mysql-ssl-ca=ca.pem", true),
        ("--mysql-ssl=verify_ca --mysql-ssl-ca=cacert.pem", false),
        // The certificate is for `localhost`, but the client connects to the IP address.
        ("--mysql-ssl=verify_identity --mysql-ssl-ca=ca.pem", false),
        ("--mysql-ssl=verify_ca", false),
    ] {
        let ended = run(&format!("{options} {client_options} {arguments}"));
        let out = ended.failed_stdout(i32::from(!is_accepted));
        if is_accepted {
            out.assert_contains("Ssl_version\tTLSv1.3\n");
        } else {
            assert_refused(&out, "FATAL: error 2026: ");
        }
    }
    let ended = run(&format!("--mysql-ssl=often {arguments}"));
    assert_refused(&ended.failed_stdout(1), "often");
}

/// Asserts the error if TLS is requested from a server that does not support it.
fn check_server_without_tls(authority: &str, certificate: &str, key: &str) {
    let bench = Sysbench::maria("lua_no_tls");
    bench.write("tls.lua", TLS_SCRIPT);
    bench.write("cacert.pem", authority);
    bench.write("client-cert.pem", certificate);
    bench.write("client-key.pem", key);
    assert!(shared_mariadb().port() > 0);
    let out = bench.failed("--mysql-ssl=on ./tls.lua run");
    let expected = "FATAL: error 2026: ";
    out.assert_contains(expected);
    out.assert_contains("does not support SSL");
    bench.ok("./tls.lua --events=1 --time=0 run");
}
