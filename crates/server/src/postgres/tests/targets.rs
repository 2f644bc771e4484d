//! Hosts, ports, parameters and the other fields of a target.

use super::super::{Environment, resolve as resolve_with_env};
use super::{Folder, error_text, postgres_options, resolve};
use crate::{AuthMethod, ChannelBinding, RequireAuth, SessionAttrs, TcpOptions};
use prony_assertions::TextAssertions;
use prony_plan::Spread;
use std::time::Duration;

#[test]
fn lists_of_hosts_become_endpoints() {
    let table = [
        ("hostaddr=127.0.0.1", "tcp:127.0.0.1:5432"),
        (
            "host=db.example hostaddr=127.0.0.1 port=6",
            "tcp:127.0.0.1:6 (db.example)",
        ),
        ("host=127.0.0.1", "tcp:127.0.0.1:5432"),
        ("postgres://[::1]:7/", "tcp:[::1]:7"),
        ("host=/run/pg port=' 8 '", "unix:/run/pg/.s.PGSQL.8"),
        ("postgres://%2Frun%2Fpg:9/d", "unix:/run/pg/.s.PGSQL.9"),
        (
            "host=/a,127.0.0.1,::1 port=1,,3",
            "unix:/a/.s.PGSQL.1, tcp:127.0.0.1:5432, tcp:[::1]:3",
        ),
        (
            "host=/a,127.0.0.1 port=4",
            "unix:/a/.s.PGSQL.4, tcp:127.0.0.1:4",
        ),
        (
            "host=x,y hostaddr=127.0.0.1,::1",
            "tcp:127.0.0.1:5432 (x), tcp:[::1]:5432 (y)",
        ),
        (
            "host=/a,/b hostaddr=,::1",
            "unix:/a/.s.PGSQL.5432, tcp:[::1]:5432 (/b)",
        ),
    ];
    for (url, expected) in table {
        assert_eq!(resolve(url).unwrap().describe(), expected, "{url}");
    }
}

#[test]
fn invalid_lists_are_refused() {
    let table = [
        (
            "host=a,b port=1,2,3",
            "could not match 3 port numbers to 2 hosts",
        ),
        (
            "hostaddr=1.1.1.1 host=a,b",
            "could not match 2 host names to 1 hostaddr values",
        ),
        ("host=/a port=0", "the connection string"),
        ("host=/a port=65536", "1 to 65535"),
        ("host=/a port=x", "1 to 65535"),
        (
            "hostaddr=localhost",
            "could not parse network address \"localhost\"",
        ),
        (
            "host=nosuch.invalid",
            "could not translate host name \"nosuch.invalid\"",
        ),
        ("host=@abstract", "abstract"),
    ];
    for (url, expected) in table {
        let error = error_text(url);
        assert!(error.contains(expected), "{url}: {error}");
    }
    let error = error_text(&format!("host=/{}", "x".repeat(100)));
    error.assert_contains("too long");

    let folder = Folder::new();
    let error = resolve_with_env("", &folder.env().with("PGPORT", "0x1"))
        .unwrap_err()
        .to_string();
    error.assert_contains("\"0x1\"");
    error.assert_contains("the variable PGPORT");
}

#[test]
fn one_unresolvable_host_of_several_is_a_warning() {
    let target = resolve("host=nosuch.invalid,127.0.0.1").unwrap();
    assert_eq!(target.describe(), "tcp:127.0.0.1:5432");
    target.warnings[0].assert_contains("nosuch.invalid");
}

#[test]
fn the_default_socket_folder_is_one_with_a_socket_or_else_the_first_that_exists() {
    let folder = Folder::new();
    let mut env = folder.env();
    env.socket_dirs = ["none", "first", "second"]
        .map(|name| folder.0.join(name))
        .into();
    folder.write("first/other", "");
    folder.write("second/.s.PGSQL.5433", "");
    let first_address = |port: &str| {
        let target = resolve_with_env(&format!("port={port}"), &env).unwrap();
        target
            .describe()
            .replace(&folder.0.display().to_string(), "")
    };
    assert_eq!(first_address("5433"), "unix:/second/.s.PGSQL.5433");
    assert_eq!(first_address("5432"), "unix:/first/.s.PGSQL.5432");
}

#[test]
fn user_and_database_have_libpqs_defaults() {
    let folder = Folder::new();
    let names = |url: &str| {
        let target = resolve_with_env(url, &folder.env()).unwrap();
        format!("{} {}", target.user, target.database)
    };
    assert_eq!(names(""), "os os");
    assert_eq!(names("user=u"), "u u");
    assert_eq!(names("shop"), "os shop");
    assert_eq!(names("user='' dbname=''"), "os os");
    let mut env = folder.env();
    env.user = None;
    let error = resolve_with_env("", &env).unwrap_err().to_string();
    error.assert_contains("no user name");
    error.assert_contains("PGUSER");
}

#[test]
fn startup_parameters_come_in_libpqs_order() {
    let folder = Folder::new();
    let env = folder
        .env()
        .with("PGOPTIONS", "-c work_mem=1MB")
        .with("PGDATESTYLE", "ISO, DMY")
        .with("PGTZ", "DEFAULT")
        .with("PGGEQO", "off")
        .with("PGCLIENTENCODING", "LATIN1");
    let parameters = |env: &Environment, url: &str| {
        let target = resolve_with_env(url, env).unwrap();
        let list = &postgres_options(&target).parameters;
        list.iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect::<Vec<_>>()
            .join("|")
    };
    assert_eq!(
        parameters(&env, ""),
        "options=-c work_mem=1MB|application_name=prony|client_encoding=LATIN1|\
         datestyle=ISO, DMY|geqo=off"
    );
    let env_without_variables = folder.env();
    assert_eq!(
        parameters(&env_without_variables, "fallback_application_name=y"),
        "application_name=y"
    );
    assert_eq!(
        parameters(
            &env_without_variables.clone().with("PGAPPNAME", "x"),
            "fallback_application_name=y"
        ),
        "application_name=x"
    );
    assert_eq!(
        parameters(&env_without_variables, "client_encoding=auto"),
        "application_name=prony|client_encoding=UTF8"
    );
}

#[test]
fn timeouts_and_keepalives_are_parsed_as_in_libpq() {
    let timeout = |text: &str| {
        resolve(&format!("connect_timeout={text}"))
            .unwrap()
            .connect_timeout
    };
    for no_limit in ["0", "-1", "-5"] {
        assert_eq!(timeout(no_limit), Some(Duration::MAX), "{no_limit}");
    }
    let unset = resolve("").unwrap();
    assert_eq!(unset.connect_timeout, None);
    assert_eq!(unset.connect_limit(), Duration::from_secs(10));
    assert_eq!(timeout("1"), Some(Duration::from_secs(2)));
    assert_eq!(timeout("3"), Some(Duration::from_secs(3)));

    assert_eq!(resolve("").unwrap().tcp, TcpOptions::default());
    let url = "keepalives=0 keepalives_idle=1 keepalives_interval=2 keepalives_count=-3 \
               tcp_user_timeout=4";
    let expected = TcpOptions {
        keepalive: false,
        keepalive_idle_s: Some(1),
        keepalive_interval_s: Some(2),
        keepalive_count: None,
        user_timeout_ms: Some(4),
        reply_timeout: None,
    };
    assert_eq!(resolve(url).unwrap().tcp, expected);
    for option in [
        "connect_timeout",
        "keepalives",
        "keepalives_idle",
        "tcp_user_timeout",
    ] {
        let error = error_text(&format!("{option}=x"));
        error.assert_contains(option);
        error.assert_contains("whole number");
    }
}

#[test]
fn tcp_options_reach_the_socket() {
    use std::os::fd::{AsFd, AsRawFd};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let options = resolve("keepalives_idle=77 tcp_user_timeout=1234")
        .unwrap()
        .tcp;
    options.apply(stream.as_fd()).unwrap();
    assert!(stream.nodelay().unwrap());
    let get = |name| {
        let (mut value, mut size) = (0i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: the descriptor is open, and the pointers are to values of the stated size.
        let status = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::IPPROTO_TCP,
                name,
                (&raw mut value).cast(),
                &raw mut size,
            )
        };
        assert_eq!(status, 0);
        value
    };
    assert_eq!(
        (get(libc::TCP_KEEPIDLE), get(libc::TCP_USER_TIMEOUT)),
        (77, 1234)
    );
    let longest = crate::TcpOptions {
        user_timeout_ms: Some(u32::MAX),
        ..options
    };
    longest.apply(stream.as_fd()).unwrap();
    assert_eq!(get(libc::TCP_USER_TIMEOUT), i32::MAX);
}

#[test]
fn invalid_choices_are_refused() {
    let target = resolve("channel_binding=require target_session_attrs=prefer-standby").unwrap();
    let options = postgres_options(&target);
    assert_eq!(options.channel_binding, ChannelBinding::Require);
    assert_eq!(options.session_attrs, SessionAttrs::PreferStandby);
    assert_eq!(target.session_attrs(), SessionAttrs::PreferStandby);
    let table = [
        ("sslmode=foo", "invalid sslmode value: \"foo\""),
        ("sslmode=''", "invalid sslmode value: \"\""),
        ("channel_binding=no", "use one of disable, prefer, require"),
        ("target_session_attrs=rw", "read-write"),
        ("load_balance_hosts=yes", "disable, random"),
        ("gssencmode=x", "invalid gssencmode value"),
        ("gssencmode=require", "GSS encryption"),
        ("requirepeer=postgres", "requirepeer"),
        ("min_protocol_version=3.2", "protocol 3.2"),
        (
            "max_protocol_version=4",
            "invalid max_protocol_version value",
        ),
        ("sslcertmode=x", "invalid sslcertmode value"),
        ("sslnegotiation=x", "postgres, direct"),
    ];
    for (url, expected) in table {
        let error = error_text(url);
        assert!(error.contains(expected), "{url}: {error}");
    }
    for harmless in [
        "gssencmode=prefer",
        "gssencmode=disable",
        "max_protocol_version=latest",
    ] {
        resolve(harmless).unwrap();
    }
}

#[test]
fn require_auth_allows_only_the_named_methods() {
    use AuthMethod::{Md5, Password, ScramSha256};
    let rule = |list: &str| {
        let target = resolve(&format!("require_auth={list}")).unwrap();
        postgres_options(&target).require_auth.clone()
    };
    let methods = [AuthMethod::None, Password, Md5, ScramSha256];
    let allowed = |rule: RequireAuth| methods.map(|method| rule.allows(method));
    assert_eq!(
        allowed(postgres_options(&resolve("").unwrap()).require_auth.clone()),
        [true; 4]
    );
    assert_eq!(allowed(rule("''")), [true; 4]);
    assert_eq!(
        allowed(rule("scram-sha-256,md5")),
        [false, false, true, true]
    );
    assert_eq!(allowed(rule("none")), [true, false, false, false]);
    assert_eq!(allowed(rule("!password,!none")), [false, false, true, true]);
    // libpq's messages: fe-connect.c, pqConnectOptions2.
    for (list, message) in [
        (
            "md5,!password",
            "negative require_auth method \"!password\" cannot be mixed with non-negative methods",
        ),
        (
            "!md5,password",
            "require_auth method \"password\" cannot be mixed with negative methods",
        ),
        (
            "md5,md5",
            "require_auth method \"md5\" is specified more than once",
        ),
        (
            "!none,!none",
            "require_auth method \"!none\" is specified more than once",
        ),
        ("foo", "invalid require_auth value: \"foo\""),
        ("md5,", "invalid require_auth value: \"\""),
        ("!!md5", "invalid require_auth value: \"!md5\""),
    ] {
        let error = error_text(&format!("require_auth={list}"));
        assert!(error.contains(message), "{list}: {error}");
    }
    let env = Environment::without_home("os").with("PGREQUIREAUTH", "scram-sha-256,none");
    let target = resolve_with_env("host=/tmp", &env).unwrap();
    let allowed = postgres_options(&target).require_auth.to_string();
    assert_eq!(allowed, "scram-sha-256,none");
    assert_eq!(rule("!gss,!sspi").to_string(), "!gss,!sspi");
}

#[test]
fn load_balancing_is_for_each_connection_and_keeps_the_order_of_the_hosts() {
    let url = "host=127.0.0.1,127.0.0.2,127.0.0.3 load_balance_hosts";
    for (value, expected) in [("random", Spread::Random), ("disable", Spread::First)] {
        let target = resolve(&format!("{url}={value}")).unwrap();
        assert_eq!(target.spread, expected);
        let hosts: Vec<&str> = target.endpoints.iter().map(|e| e.host.as_str()).collect();
        assert_eq!(hosts, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
        assert_eq!(target.hosts(), [0..1, 1..2, 2..3]);
        let ports: Vec<usize> = target
            .targets_of_hosts()
            .iter()
            .map(|t| t.endpoints.len())
            .collect();
        assert_eq!(ports, [1, 1, 1]);
    }
}

/// Workers number the addresses in 16 bits, and each is observed.
#[test]
fn a_list_of_hosts_has_a_limit() {
    let list = |count| vec!["127.0.0.1"; count].join(",");
    assert!(resolve(&format!("host={} port=1", list(1_000))).is_ok());
    let error = resolve(&format!("host={} port=1", list(70_000))).unwrap_err();
    let expected = "the hosts have 70000 addresses, more than 1000";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn debug_output_contains_no_password() {
    let folder = Folder::new();
    let env = folder.env().with("PGPASSWORD", "hunter2");
    let target = resolve_with_env("host=/tmp", &env).unwrap();
    assert_eq!(
        target.endpoints[0].password.as_ref().unwrap().reveal(),
        "hunter2"
    );
    let printed = format!("{env:?} {target:?} {}", target.describe());
    printed.assert_contains("PGPASSWORD");
    printed.assert_lacks("hunter2");
}
