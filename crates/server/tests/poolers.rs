//! Poolers that cannot be installed here, by canned answers: each is a thread that speaks as that product does.

use prony_assertions::TextAssertions;
use prony_document::{FoundPooler, Pooler};
use prony_server::{Control, Environment, read_server_facts, resolve};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// What a canned server of PostgreSQL's protocol answers.
#[derive(Clone, Copy, Default)]
struct Postgres {
    version: &'static str,
    /// The error for a start-up parameter that it does not know.
    parameter: Option<&'static str>,
    /// The error for a database that it does not have.
    database: Option<&'static str>,
    /// Whether a session executes the statements that the log-in does not name.
    is_pooled: bool,
    /// Whether all connections have one session.
    shares: bool,
    /// Whether it refuses to say which session executes a statement.
    hides_sessions: bool,
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

fn error_message(severity: &str, code: &str, text: &str) -> Vec<u8> {
    message(
        b'E',
        format!("S{severity}\0C{code}\0M{text}\0\0").as_bytes(),
    )
}

fn read(stream: &mut TcpStream, count: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Serves connections; the thread ends with the test.
fn serve(connection: impl Fn(TcpStream, u32) -> Option<()> + Send + Clone + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for number in 1.. {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            let connection = connection.clone();
            std::thread::spawn(move || connection(stream, number));
        }
    });
    port
}

/// One connection; returns when the client closes it.
fn serve_postgres(canned: Postgres, mut stream: TcpStream, number: u32) -> Option<()> {
    let length = u32::from_be_bytes(read(&mut stream, 4)?.try_into().unwrap());
    let start_up = read(&mut stream, length as usize - 4)?;
    let start_up = String::from_utf8_lossy(&start_up[4..]).into_owned();
    let words: Vec<&str> = start_up.split('\0').collect();
    let value = |name| {
        words
            .chunks(2)
            .find(|pair| pair[0] == name)
            .map(|pair| pair[1])
    };
    let refusal = match (value("database"), value("prony.probe")) {
        (Some("prony.probe"), _) => canned.database,
        (_, Some(_)) => canned.parameter,
        _ => None,
    };
    if let Some(text) = refusal {
        return stream
            .write_all(&error_message("FATAL", "08P01", text))
            .ok();
    }
    let key = [1_000 + number, 77].map(u32::to_be_bytes).concat();
    let version = format!("server_version\0{}\0", canned.version);
    let welcome = [
        message(b'R', &[0; 4]),
        message(b'S', version.as_bytes()),
        message(b'K', &key),
        message(b'Z', b"I"),
    ];
    stream.write_all(&welcome.concat()).ok()?;
    loop {
        let tag = read(&mut stream, 1)?[0];
        let length = u32::from_be_bytes(read(&mut stream, 4)?.try_into().unwrap());
        let body = read(&mut stream, length as usize - 4)?;
        assert_eq!(
            tag, b'Q',
            "control connections send their own statements as text"
        );
        let text = String::from_utf8_lossy(&body);
        let session = match (canned.is_pooled, canned.shares) {
            (false, _) => 1_000 + number,
            (true, true) => 42,
            (true, false) => 2_000 + number,
        };
        let reply = if text.starts_with("select pg_backend_pid()") && !canned.hides_sessions {
            let value = session.to_string();
            let column = b"\0\x01pid\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
            let row = [&[0, 1, 0, 0, 0, value.len() as u8], value.as_bytes()].concat();
            let complete = message(b'C', b"SELECT 1\0");
            [message(b'T', column), message(b'D', &row), complete].concat()
        } else {
            error_message("ERROR", "42501", "not in the canned answers")
        };
        stream.write_all(&reply).ok()?;
        stream.write_all(&message(b'Z', b"I")).ok()?;
    }
}

fn found(url: &str) -> Option<FoundPooler> {
    let target = resolve(url, &Environment::without_home("ann")).unwrap();
    let mut control = Control::connect(&target).unwrap();
    read_server_facts(&mut control).unwrap().pooler
}

#[test]
fn a_server_that_does_not_tell_its_sessions_is_not_taken_for_one_without_a_pooler() {
    let server = Postgres {
        version: "15.4",
        hides_sessions: true,
        ..Postgres::default()
    };
    let port = serve(move |stream, number| serve_postgres(server, stream, number));
    let url = format!("postgres://ann@127.0.0.1:{port}/d?sslmode=disable");
    let target = resolve(&url, &Environment::without_home("ann")).unwrap();
    let facts = read_server_facts(&mut Control::connect(&target).unwrap()).unwrap();
    assert_eq!(facts.pooler, None);
    let reason = facts
        .setting("pooler")
        .expect("it says that it is not known");
    reason.assert_contains("(not readable: ");
}

#[test]
fn poolers_of_postgresql_are_named_by_their_errors() {
    let server = Postgres {
        version: "15.4",
        database: Some("database \"prony.probe\" does not exist"),
        ..Postgres::default()
    };
    let pooler = Postgres {
        is_pooled: true,
        ..server
    };
    for (name, canned, expected) in [
        ("a server", server, None),
        (
            "PgBouncer 1.24",
            Postgres {
                parameter: Some("unsupported startup parameter: prony.probe"),
                shares: true,
                ..pooler
            },
            Some((Some(Pooler::PgBouncer), true)),
        ),
        (
            "Odyssey",
            Postgres {
                database: Some("odyssey: c9259f9e10ce1: route for 'prony.probe.ann' is not found"),
                ..pooler
            },
            Some((Some(Pooler::Odyssey), false)),
        ),
        (
            "pgcat",
            Postgres {
                database: Some("No pool configured for database: \"prony.probe\", user: \"ann\""),
                shares: true,
                ..pooler
            },
            Some((Some(Pooler::PgCat), true)),
        ),
        (
            "RDS Proxy",
            Postgres {
                parameter: Some(
                    "Feature not supported: RDS Proxy currently doesn't support the option prony.probe",
                ),
                ..pooler
            },
            Some((Some(Pooler::RdsProxy), false)),
        ),
        ("a pooler without a sign", pooler, Some((None, false))),
        (
            "an engine whose processes have other numbers",
            Postgres {
                version: "13.0.0 CockroachDB CCL v23.2.0",
                ..pooler
            },
            None,
        ),
    ] {
        let port = serve(move |stream, number| serve_postgres(canned, stream, number));
        let url = format!("host=127.0.0.1 port={port} user=ann dbname=d sslmode=disable");
        let found = found(&url);
        let signs = found
            .as_ref()
            .map(|found| (found.product, found.shares_sessions));
        assert_eq!(signs, expected, "{name}: {found:?}");
        assert!(found.is_none_or(|found| !found.sign.is_empty()));
    }
}

/// What a canned server of MySQL's protocol answers.
#[derive(Clone, Copy)]
struct Mysql {
    version: &'static str,
    /// The answer to the text that MySQL's client sends first.
    comment: &'static str,
    is_pooled: bool,
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

fn read_packet(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let header = read(stream, 4)?;
    read(stream, usize::from(header[0]) | usize::from(header[1]) << 8)
}

fn text_result(value: &str) -> Vec<u8> {
    let column = b"\x03def\0\0\0\x01v\0\x0c\x21\0\x40\0\0\0\xfd\0\0\0\0\0";
    let end = b"\xfe\0\0\x02\0";
    let row = [&[value.len() as u8], value.as_bytes()].concat();
    [
        packet(1, &[1]),
        packet(2, column),
        packet(3, end),
        packet(4, &row),
        packet(5, end),
    ]
    .concat()
}

fn serve_mysql(canned: Mysql, mut stream: TcpStream, number: u32) -> Option<()> {
    let greeting = [
        b"\x0a",
        canned.version.as_bytes(),
        b"\0",
        &(1_000 + number).to_le_bytes(),
        b"\x01\x02\x03\x04\x05\x06\x07\x08\0\xff\xf7\xff\x02\0\xff\xdf\x15",
        &[0; 10],
        b"\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\0mysql_native_password\0",
    ];
    // Without CLIENT_DEPRECATE_EOF, as its results have none.
    let mut greeting = greeting.concat();
    let capabilities = 1 + canned.version.len() + 1 + 4 + 9;
    greeting[capabilities + 6] &= !0x01;
    stream.write_all(&packet(0, &greeting)).ok()?;
    read_packet(&mut stream)?;
    stream.write_all(&packet(2, b"\0\0\0\x02\0\0\0")).ok()?;
    loop {
        let request = read_packet(&mut stream)?;
        let text = String::from_utf8_lossy(&request[1..]).to_lowercase();
        let session = if canned.is_pooled { 42 } else { 1_000 + number };
        let reply = if text == "select @@version_comment limit 1" {
            text_result(canned.comment)
        } else if text.contains("connection_id() + 0") {
            text_result(&session.to_string())
        } else {
            packet(1, b"\xff\xa9\x04#HY000not in the canned answers")
        };
        stream.write_all(&reply).ok()?;
    }
}

#[test]
fn poolers_of_mysql_are_named_by_version_and_comment() {
    let server = Mysql {
        version: "8.0.36",
        comment: "MySQL Community Server - GPL",
        is_pooled: false,
    };
    let pooler = Mysql {
        is_pooled: true,
        ..server
    };
    for (name, canned, expected) in [
        ("a server", server, None),
        (
            "ProxySQL",
            Mysql {
                comment: "(ProxySQL)",
                ..pooler
            },
            Some(Some(Pooler::ProxySql)),
        ),
        (
            "MaxScale",
            Mysql {
                version: "5.5.5-10.2.12 2.5.0-maxscale",
                ..pooler
            },
            Some(Some(Pooler::MaxScale)),
        ),
        ("a pooler without a sign", pooler, Some(None)),
        (
            "an engine whose connections have other numbers",
            Mysql {
                version: "8.0.11-TiDB-v7.5.0",
                ..pooler
            },
            None,
        ),
    ] {
        let port = serve(move |stream, number| serve_mysql(canned, stream, number));
        let url = format!("mysql://ann:secret@127.0.0.1:{port}/?ssl-mode=DISABLED");
        let found = found(&url);
        let product = found.as_ref().map(|found| found.product);
        assert_eq!(product, expected, "{name}: {found:?}");
    }
}
