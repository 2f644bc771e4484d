//! The control connection against a real PostgreSQL.

mod common;

use common::{Server, certify, target, with_password};
use prony_server::control::{Control, Error, quote_identifier, quote_literal};
use prony_server::{Address, ChannelBinding, SessionAttrs, SslMode};
use std::time::Duration;

/// What a failed attempt says.
fn text(result: Result<Control, Error>) -> String {
    match result {
        Ok(_) => panic!("connected"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn trust_over_a_unix_socket() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    assert!(control.server_version() >= 130_000);
    assert_eq!(control.tls(), None);
    assert!(matches!(control.endpoint().address, Address::Unix(_)));
    let pid = control
        .query_value("SELECT pg_backend_pid()")
        .unwrap()
        .unwrap();
    assert_eq!(pid, control.backend_pid().to_string());
    assert_eq!(control.parameter("application_name"), Some("prony"));
    control.execute("SET application_name = 'other'").unwrap();
    assert_eq!(control.parameter("application_name"), Some("other"));
}

#[test]
fn every_password_method() {
    let server = Server::shared();
    for user in ["clear_user", "md5_user", "scram_user"] {
        let target = server.unix(user);
        let mut control = Control::connect(&with_password(target.clone(), "sesame")).unwrap();
        let who = control.query_value("SELECT current_user").unwrap();
        assert_eq!(who.as_deref(), Some(user));

        let wrong = text(Control::connect(&with_password(target.clone(), "open")));
        let words = format!("failed: FATAL:  password authentication failed for user \"{user}\"");
        assert!(
            wrong.contains(&words) && wrong.contains("PGPASSWORD"),
            "{wrong}"
        );
        assert!(!wrong.contains("open"), "{wrong}");
        let error = Control::connect(&with_password(target.clone(), "open"))
            .err()
            .unwrap();
        assert_eq!(error.sqlstate(), Some("28P01"));

        let none = text(Control::connect(&target));
        assert!(none.contains("fe_sendauth: no password supplied"), "{none}");
    }
}

#[test]
fn a_hint_is_given_once() {
    let server = Server::shared();
    let target = with_password(server.tcp("scram_user", "localhost", "prefer"), "open");
    // Refused over TLS, then, as libpq does, without.
    let both = text(Control::connect(&target));
    assert_eq!(
        both.matches("password authentication failed").count(),
        2,
        "{both}"
    );
    assert_eq!(both.matches("Check the password").count(), 1, "{both}");
}

#[test]
fn scram_plus_over_tls_with_a_verified_name() {
    let server = Server::shared();
    let mut target = with_password(
        server.tcp("scram_user", "localhost", "verify-full"),
        "sesame",
    );
    target.channel_binding = ChannelBinding::Require;
    let mut control = Control::connect(&target).unwrap();
    assert!(
        control.tls().unwrap().starts_with("TLSv1.3 TLS_"),
        "{:?}",
        control.tls()
    );
    let seen = control
        .query("SELECT version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        .unwrap();
    let seen: Vec<&str> = seen[0]
        .iter()
        .map(|value| value.as_deref().unwrap())
        .collect();
    assert_eq!(control.tls().unwrap(), seen.join(" "));

    let wrong = text(Control::connect(&with_password(target.clone(), "open")));
    assert!(wrong.contains("password authentication failed"), "{wrong}");
    target.tls.mode = SslMode::Disable;
    target.tls.config = None;
    let plain = text(Control::connect(&target));
    assert!(
        plain.contains("channel binding is required, but SSL is not in use"),
        "{plain}"
    );
}

#[test]
fn wrong_name_and_unknown_authority_are_refused() {
    let server = Server::shared();
    let wrong = text(Control::connect(&server.tcp(
        "postgres",
        "example.org",
        "verify-full",
    )));
    assert!(
        wrong.contains("The certificate is for another host name"),
        "{wrong}"
    );
    assert!(
        wrong.starts_with("connection to server at \"example.org\" (127.0.0.1), port"),
        "{wrong}"
    );

    let other = server.embedded.directory().join("other.pem");
    std::fs::write(&other, certify("Somebody else").0).unwrap();
    let mut target = server.tcp_trusting("postgres", "localhost", "verify-ca", &other);
    let unknown = text(Control::connect(&target));
    assert!(unknown.contains("sslrootcert=FILE"), "{unknown}");
    let any_name = server.tcp("postgres", "example.org", "verify-ca");
    assert!(Control::connect(&any_name).unwrap().tls().is_some());
    // With `prefer` a failed TLS leads to a connection without.
    target.tls.mode = SslMode::Prefer;
    let control = Control::connect(&target).unwrap();
    assert_eq!(control.tls(), None);
}

#[test]
fn allow_and_prefer_fall_back_both_ways() {
    let server = Server::shared();
    let tls = |user, mode| {
        let control = Control::connect(&server.tcp(user, "localhost", mode)).unwrap();
        control.tls().is_some()
    };
    assert!(tls("tls_only", "allow"));
    assert!(tls("tls_only", "prefer"));
    assert!(!tls("plain_only", "allow"));
    assert!(!tls("plain_only", "prefer"));
    assert!(!tls("postgres", "allow"));
    assert!(tls("postgres", "prefer"));
    assert!(!tls("postgres", "disable"));
    let refused = text(Control::connect(&server.tcp(
        "tls_only",
        "localhost",
        "disable",
    )));
    assert!(refused.contains("no encryption") && refused.contains("\n\tThe server's pg_hba.conf"));
}

#[test]
fn a_server_without_tls() {
    let server = Server::start(&[("ssl", "off")]);
    let target = server.tcp("postgres", "localhost", "require");
    let error = text(Control::connect(&target));
    assert!(
        error.contains("server does not support SSL, but SSL was required"),
        "{error}"
    );
    let prefer = server.tcp("postgres", "localhost", "prefer");
    assert_eq!(Control::connect(&prefer).unwrap().tls(), None);
}

#[test]
fn unknown_database_and_no_server() {
    let server = Server::shared();
    let mut target = server.unix("postgres");
    target.database = "nowhere".into();
    let error = text(Control::connect(&target));
    assert!(
        error.contains("FATAL:  database \"nowhere\" does not exist\n\tCreate it"),
        "{error}"
    );

    let mut target = server.tcp("postgres", "127.0.0.1", "prefer");
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    target.endpoints[0].address = Address::Tcp(free);
    target.endpoints[0].port = free.port();
    let error = text(Control::connect(&target));
    let expected = format!(
        "connection to server at \"127.0.0.1\", port {} failed: Connection refused\n\tIs the \
         server running on that host and accepting TCP/IP connections?",
        free.port()
    );
    assert_eq!(error, expected);

    // A second address is tried when the first is dead.
    let alive = server
        .tcp("postgres", "localhost", "prefer")
        .endpoints
        .remove(0);
    target.endpoints.push(alive);
    assert_eq!(
        Control::connect(&target).unwrap().endpoint().host,
        "localhost"
    );

    target.endpoints[0].address = Address::Unix("/nonexistent/.s.PGSQL.1".into());
    target.endpoints.truncate(1);
    let error = text(Control::connect(&target));
    assert_eq!(
        error,
        "connection to server on socket \"/nonexistent/.s.PGSQL.1\" failed: No such file or \
         directory\n\tIs the server running locally and accepting connections on that socket?"
    );
}

#[test]
fn session_attributes_choose_the_server() {
    let server = Server::shared();
    let mut target = server.unix("postgres");
    for session in [
        SessionAttrs::ReadWrite,
        SessionAttrs::Primary,
        SessionAttrs::PreferStandby,
    ] {
        target.session = session;
        Control::connect(&target).unwrap();
    }
    target.session = SessionAttrs::Standby;
    let error = text(Control::connect(&target));
    assert!(
        error.contains("server is not in hot standby mode"),
        "{error}"
    );
    target.session = SessionAttrs::ReadOnly;
    assert!(text(Control::connect(&target)).contains("session is not read-only"));
    target
        .parameters
        .push(("default_transaction_read_only".into(), "on".into()));
    Control::connect(&target).unwrap();
    target.session = SessionAttrs::ReadWrite;
    assert!(text(Control::connect(&target)).contains("session is read-only"));
}

#[test]
fn too_many_connections() {
    let server = Server::start(&[
        ("max_connections", "5"),
        ("superuser_reserved_connections", "1"),
    ]);
    let target = server.tcp("tls_only", "localhost", "require");
    let mut open = Vec::new();
    let error = loop {
        match Control::connect(&target) {
            Ok(control) => open.push(control),
            Err(error) => break error,
        }
        assert!(open.len() < 10);
    };
    assert_eq!(error.sqlstate(), Some("53300"));
    assert!(error.to_string().contains("max_connections"), "{error}");
}

#[test]
fn statements_rows_and_errors() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    control
        .execute("CREATE TEMP TABLE t (a int, b text)")
        .unwrap();
    let many = "INSERT INTO t SELECT i, nullif(i, 2)::text FROM generate_series(1, 3) i";
    assert_eq!(control.execute(many).unwrap(), 3);
    let rows = control.query("SELECT a, b FROM t ORDER BY a").unwrap();
    assert_eq!(rows[0], [Some("1".to_owned()), Some("1".to_owned())]);
    assert_eq!(rows[1], [Some("2".to_owned()), None]);
    assert_eq!(
        control
            .query("SELECT 1; SELECT 2 UNION SELECT 3 ORDER BY 1")
            .unwrap()
            .len(),
        2
    );
    assert_eq!(control.query_value("SELECT NULL").unwrap(), None);
    assert_eq!(control.query_value("SELECT 1 WHERE false").unwrap(), None);
    assert_eq!(control.execute("").unwrap(), 0);

    let odd = "it's \\ \"odd\"";
    let sql = format!("SELECT {} AS {}", quote_literal(odd), quote_identifier(odd));
    assert_eq!(control.query_value(&sql).unwrap().as_deref(), Some(odd));
    let long = control
        .query_value("SELECT repeat('x', 3000000)")
        .unwrap()
        .unwrap();
    assert_eq!(long.len(), 3_000_000);

    let error = control.execute("SELECT * FROM nothing_there").unwrap_err();
    assert_eq!(
        error.to_string(),
        "ERROR:  relation \"nothing_there\" does not exist"
    );
    assert_eq!(error.sqlstate(), Some("42P01"));
    assert!(!error.is_lost());
    for copy in ["COPY t FROM STDIN", "COPY t TO STDOUT"] {
        let usage = control.execute(copy);
        assert_eq!(
            matches!(usage, Err(Error::Usage(_))),
            copy.contains("FROM"),
            "{usage:?}"
        );
    }
    assert!(matches!(
        control.execute("SELECT 1\0"),
        Err(Error::Usage(_))
    ));
    assert!(matches!(control.copy_in("SELECT 1"), Err(Error::Usage(_))));
    assert_eq!(
        control.query_value("SELECT 7").unwrap().as_deref(),
        Some("7")
    );

    control
        .execute("DO $$ BEGIN RAISE NOTICE 'careful'; END $$")
        .unwrap();
    let notices = control.take_notices();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].message, "careful");
}

#[test]
fn parameters_travel_beside_the_statement() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let odd = "it's \\ \"odd\"";
    let sql = "SELECT $1::text, $2::int + 1, NULL";
    let rows = control.query_with(sql, &[odd, "41"]).unwrap();
    let expected = [Some(odd.to_owned()), Some("42".to_owned()), None];
    assert_eq!(rows, [expected]);
    assert_eq!(
        control
            .query_with("SELECT 1 WHERE false", &[])
            .unwrap()
            .len(),
        0
    );
    assert_eq!(
        control
            .query_with("SET work_mem = 1024", &[])
            .unwrap()
            .len(),
        0
    );
    let error = control.query_with("SELECT $1::int", &["x"]).unwrap_err();
    assert_eq!(error.sqlstate(), Some("22P02"));
    for values in [&[][..], &["a", "b"]] {
        let error = control.query_with("SELECT $1::text", values);
        assert!(matches!(error, Err(Error::Usage(_))), "{error:?}");
    }
    assert_eq!(
        control.query_value("SELECT 7").unwrap().as_deref(),
        Some("7")
    );
}

#[test]
fn copy_in_with_and_without_tls() {
    let server = Server::shared();
    for target in [
        server.unix("postgres"),
        server.tcp("postgres", "localhost", "disable"),
        server.tcp("postgres", "localhost", "require"),
    ] {
        let mut control = Control::connect(&target).unwrap();
        control
            .execute("CREATE TEMP TABLE t (n int, filler text)")
            .unwrap();
        let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
        let filler = "x".repeat(80);
        for n in 0..50_000 {
            copy.write(format!("{n}\t{filler}\n").as_bytes()).unwrap();
        }
        for n in 50_000..60_000 {
            copy.buffer()
                .extend_from_slice(format!("{n}\t{filler}\n").as_bytes());
            copy.flush_if_full().unwrap();
        }
        copy.write(format!("60000\t{}\n", "y".repeat(1_000_000)).as_bytes())
            .unwrap();
        assert_eq!(copy.finish().unwrap(), 60_001);
        let sum = control.query_value("SELECT sum(n) || ' ' || sum(length(filler)) FROM t");
        assert_eq!(sum.unwrap().as_deref(), Some("1800030000 5800000"));

        control
            .copy_in("COPY t FROM STDIN")
            .unwrap()
            .write(b"1\tlost\n")
            .unwrap();
        let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
        copy.write(b"1\tlost\n").unwrap();
        copy.abort("on purpose").unwrap();
        assert_eq!(
            control
                .copy_in("COPY t FROM STDIN")
                .unwrap()
                .finish()
                .unwrap(),
            0
        );
        let count = control.query_value("SELECT count(*) FROM t").unwrap();
        assert_eq!(
            count.as_deref(),
            Some("60001"),
            "what was dropped or aborted left no row"
        );
    }
}

#[test]
fn copy_in_notices_an_error_while_it_sends() {
    let server = Server::shared();
    for mode in ["disable", "require"] {
        let mut control = Control::connect(&server.tcp("postgres", "localhost", mode)).unwrap();
        control.execute("CREATE TEMP TABLE t (n int)").unwrap();
        let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
        copy.write(b"1\n2\nnonsense\n").unwrap();
        let more = b"3\n".repeat(100_000);
        // The first messages may be on their way before the server reads them; far more than its
        // buffers hold cannot be.
        let error = (0..10_000)
            .find_map(|_| copy.write(&more).err())
            .expect("an error");
        assert_eq!(error.sqlstate(), Some("22P02"));
        assert!(
            error.to_string().contains("CONTEXT:  COPY t, line 3"),
            "{error}"
        );
        assert!(matches!(copy.write(&more), Err(Error::Usage(_))));
        assert!(matches!(copy.finish(), Err(Error::Usage(_))));
        assert_eq!(
            control.query_value("SELECT 1").unwrap().as_deref(),
            Some("1")
        );

        // An error that only the end brings.
        control
            .execute("ALTER TABLE t ADD UNIQUE (n) DEFERRABLE INITIALLY DEFERRED")
            .unwrap();
        let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
        copy.write(b"1\n1\n").unwrap();
        assert_eq!(copy.finish().unwrap_err().sqlstate(), Some("23505"));
        assert!(control.copy_in("COPY nothing FROM STDIN").is_err());
        assert_eq!(
            control
                .query_value("SELECT count(*) FROM t")
                .unwrap()
                .as_deref(),
            Some("0")
        );
    }
}

#[test]
fn notices_during_copy_cannot_block_it() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    control
        .execute(
            "CREATE TEMP TABLE t (filler text);
             CREATE FUNCTION pg_temp.shout() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE NOTICE '%', repeat('loud', 1000); RETURN NEW; END $$;
             CREATE TRIGGER shout BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION pg_temp.shout()",
        )
        .unwrap();
    let mut copy = control.copy_in("COPY t FROM STDIN").unwrap();
    // One message of 3 MB that provokes 12 MB of notices: both sides' buffers are full at once.
    let mut row = vec![b'x'; 1000];
    row.push(b'\n');
    copy.write(&row.repeat(3000)).unwrap();
    assert_eq!(copy.finish().unwrap(), 3000);
    assert_eq!(control.take_notices().len(), 1000);
}

#[test]
fn cancel_from_another_thread() {
    let server = Server::shared();
    for mode in ["disable", "require"] {
        let mut control = Control::connect(&server.tcp("postgres", "localhost", mode)).unwrap();
        let canceller = control.canceller();
        let other = std::thread::spawn({
            let canceller = canceller.clone();
            let watch = server.unix("postgres");
            let pid = control.backend_pid();
            move || {
                let mut watch = Control::connect(&watch).unwrap();
                let sql = format!(
                    "SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'"
                );
                while watch.query_value(&sql).unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                canceller.cancel().unwrap();
            }
        });
        let error = control.execute("SELECT pg_sleep(600)").unwrap_err();
        assert_eq!(error.sqlstate(), Some("57014"));
        other.join().unwrap();
        assert_eq!(
            control.query_value("SELECT 1").unwrap().as_deref(),
            Some("1")
        );
    }
}

#[test]
fn a_session_ended_by_the_server() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let mut other = Control::connect(&server.unix("postgres")).unwrap();
    let end = format!(
        "SELECT pg_terminate_backend({}, 60000)",
        other.backend_pid()
    );
    control.execute(&end).unwrap();
    let error = other.execute("SELECT 1").unwrap_err();
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
    assert!(error.is_lost());
    assert!(matches!(other.execute("SELECT 1"), Err(Error::Dead)));

    let mut other = Control::connect(&server.unix("postgres")).unwrap();
    other.execute("CREATE TEMP TABLE t (n int)").unwrap();
    let end = format!(
        "SELECT pg_terminate_backend({}, 60000)",
        other.backend_pid()
    );
    let mut copy = other.copy_in("COPY t FROM STDIN").unwrap();
    control.execute(&end).unwrap();
    let more = b"3\n".repeat(100_000);
    let error = (0..1000)
        .find_map(|_| copy.write(&more).err())
        .expect("an error");
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
}

#[test]
fn a_server_that_crashes_under_a_statement() {
    let server = Server::start(&[]);
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let pid = control.backend_pid();
    let waiting = std::thread::spawn(move || control.execute("SELECT pg_sleep(600)"));
    let mut watch = Control::connect(&server.unix("postgres")).unwrap();
    let sql =
        format!("SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'");
    while watch.query_value(&sql).unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.embedded.kill();
    let error = waiting.join().unwrap().unwrap_err();
    assert!(error.is_lost(), "{error}");
    let refused = text(Control::connect(&server.unix("postgres")));
    assert!(
        refused.contains("Is the server running locally"),
        "{refused}"
    );
}

#[test]
fn require_auth_keeps_the_password_back() {
    let server = Server::shared();
    let socket = server.embedded.socket_dir();
    let with = |user: &str, methods: &str| {
        let (host, port) = (socket.display(), server.embedded.port());
        let conninfo =
            format!("host='{host}' port={port} user={user} dbname=postgres require_auth={methods}");
        Control::connect(&with_password(target(&conninfo), "sesame"))
    };
    with("scram_user", "scram-sha-256").unwrap();
    with("md5_user", "!password").unwrap();
    for (user, methods) in [
        ("clear_user", "scram-sha-256,md5"),
        ("md5_user", "!md5"),
        ("postgres", "scram-sha-256"),
    ] {
        let refused = text(with(user, methods));
        assert!(
            refused.contains("requirement failed: server requested"),
            "{refused}"
        );
    }
}
