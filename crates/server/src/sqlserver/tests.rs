//! Tests of resolving connection strings and environment to a target.

mod canceling;
mod databases;
mod instances;
mod observing;
mod settings;

use super::*;
use crate::target::SslMode;
use prony_assertions::{TestFolder, TextAssertions};

fn env() -> Environment {
    Environment::without_home("tester")
}

fn target_with_env(text: &str, env: &Environment) -> Target {
    crate::resolve(text, env).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The target of a connection string that trusts any certificate: this machine may trust no authority.
fn target(text: &str) -> Target {
    target_with_env(text, &env())
}

fn problem(text: &str) -> String {
    crate::resolve(text, &env()).unwrap_err().to_string()
}

fn options(target: &Target) -> &SqlServerOptions {
    match &target.protocol {
        ProtocolOptions::SqlServer(options) => options,
        ProtocolOptions::PostgreSql(_) | ProtocolOptions::MySql(_) => panic!("not SQL Server's"),
    }
}

fn password(target: &Target) -> &str {
    target.endpoints[0]
        .password
        .as_ref()
        .map_or("", Secret::reveal)
}

#[test]
fn every_form_names_the_same_server() {
    let forms = [
        "sqlserver://ann:s%3B%40%7Dme@127.0.0.1:1444?database=shop&TrustServerCertificate=true&app+name=till",
        "mssql://ann:s%3B%40%7Dme@127.0.0.1:1444?database=shop&TrustServerCertificate=true&app%20name=till",
        "jdbc:sqlserver://127.0.0.1:1444;databaseName=shop;user=ann;password={s;@}}me};\
         trustServerCertificate=true;applicationName=till",
        "Server=tcp:127.0.0.1,1444;Initial Catalog=shop;User ID=ann;Password=\"s;@}me\";\
         Trust Server Certificate=True;Application Name=till;Persist Security Info=False",
        "data source=127.0.0.1,1444;database=shop;uid=ann;pwd='s;@}me';TrustServerCertificate=yes;app=till",
        "Driver={ODBC Driver 18 for SQL Server};Server=tcp:127.0.0.1,1444;Database=shop;UID=ann;\
         PWD={s;@}}me};TrustServerCertificate=yes;APP=till",
        "odbc:server=127.0.0.1,1444;database=shop;user id=ann;password={s;@}}me};trustservercertificate=1;app name=till",
    ];
    for form in forms {
        let target = target(form);
        assert_eq!(
            (target.user.as_str(), target.database.as_str()),
            ("ann", "shop"),
            "{form}"
        );
        assert_eq!(
            target.endpoints[0].to_string(),
            "tcp:127.0.0.1:1444",
            "{form}"
        );
        assert_eq!(password(&target), "s;@}me", "{form}");
        assert_eq!(options(&target).program_name, "till", "{form}");
        assert_eq!(target.tls.mode, SslMode::Require, "{form}");
        assert!(!format!("{target:?}").contains("s;@"), "{form}");
        let shown = crate::redact(form);
        shown.assert_contains("***").assert_contains("till");
        shown.assert_lacks("me}").assert_lacks("s;@");
        shown.assert_lacks("s%3B");
    }
    let doubled = "Server=.;User Id=u;Password='it''s';Encrypt=false";
    assert_eq!(password(&target(doubled)), "it's");
}

#[test]
fn encryption_is_required_and_verified_unless_the_user_says_otherwise() {
    let mode = |query: &str| {
        let target = target(&format!("sqlserver://u:p@127.0.0.1?{query}"));
        (
            target.tls.mode,
            options(&target).strict,
            target.tls.config.is_some(),
        )
    };
    assert_eq!(mode("encrypt=disable"), (SslMode::Disable, false, false));
    assert_eq!(mode("encrypt=false"), (SslMode::Prefer, false, true));
    assert_eq!(mode("Encrypt=Optional"), (SslMode::Prefer, false, true));
    assert_eq!(
        mode("encrypt=true&TrustServerCertificate=true"),
        (SslMode::Require, false, true)
    );
    let folder = TestFolder::create();
    let file = folder.join("ca.pem");
    let made = rcgen::generate_simple_self_signed(["db.example".to_owned()]).unwrap();
    std::fs::write(&file, made.cert.pem()).unwrap();
    let file = file.display();
    assert_eq!(
        mode(&format!("certificate={file}")),
        (SslMode::VerifyFull, false, true)
    );
    assert_eq!(
        mode(&format!("ServerCertificate={file}&encrypt=strict")),
        (SslMode::VerifyFull, true, true)
    );
    let strict = format!(
        "sqlserver://u@127.0.0.1?encrypt=strict&certificate={file}&TrustServerCertificate=1"
    );
    let strict = target(&strict);
    assert_eq!(
        (strict.tls.mode, strict.warnings.len()),
        (SslMode::VerifyFull, 1)
    );
    problem("sqlserver://u@127.0.0.1?encrypt=perhaps").assert_contains("strict");
    problem("Server=127.0.0.1;User Id=u;Encrypt=perhaps")
        .assert_contains("the connection string, part 3");
    problem("sqlserver://u@127.0.0.1?certificate=/absent").assert_contains("/absent");
}

#[test]
fn the_options_of_the_session_are_read() {
    let text = "sqlserver://u@127.0.0.1?encrypt=disable&ApplicationIntent=ReadOnly&packet+size=16000\
                &connection+timeout=7&workstation+id=ws&HostNameInCertificate=db.example";
    let target = target(text);
    let options = options(&target);
    assert!(options.read_only);
    assert_eq!(
        (options.packet_size, options.client_host.as_str()),
        (16_000, "ws")
    );
    assert_eq!(target.connect_timeout, Some(Duration::from_secs(7)));
    assert_eq!(
        options.certificate_name,
        ServerName::try_from("db.example").ok()
    );
    for (query, part) in [
        ("packet size=100", "512 to 32767"),
        ("packet size=much", "512 to 32767"),
        ("ApplicationIntent=Sometimes", "ReadOnly"),
        ("TrustServerCertificate=perhaps", "true or false"),
    ] {
        let problem = problem(&format!(
            "sqlserver://u@127.0.0.1?{}",
            query.replace(' ', "+")
        ));
        assert!(
            problem.contains(part) || problem.contains("whole number"),
            "{problem}"
        );
    }
}

#[test]
fn sqlcmds_variables_fill_in_what_the_text_leaves_out() {
    let env = env()
        .with("SQLCMDSERVER", "tcp:127.0.0.1,1500")
        .with("SQLCMDUSER", "env")
        .with("SQLCMDPASSWORD", "secret")
        .with("SQLCMDDBNAME", "d")
        .with("SQLCMDLOGINTIMEOUT", "9")
        .with("SQLCMDPACKETSIZE", "4096");
    let all = target_with_env("sqlserver://?encrypt=disable", &env);
    assert_eq!(all.endpoints[0].to_string(), "tcp:127.0.0.1:1500");
    assert_eq!(
        (all.user.as_str(), password(&all), all.database.as_str()),
        ("env", "secret", "d")
    );
    assert_eq!(all.connect_timeout, Some(Duration::from_secs(9)));
    assert_eq!(options(&all).packet_size, 4096);
    let own = target_with_env(
        "sqlserver://me:own@127.0.0.2/?encrypt=disable&database=mine",
        &env,
    );
    assert_eq!(own.endpoints[0].to_string(), "tcp:127.0.0.2:1433");
    assert_eq!(
        (own.user.as_str(), password(&own), own.database.as_str()),
        ("me", "own", "mine")
    );
}

#[test]
fn servers_are_named_as_in_microsofts_clients() {
    let name = |server: &str| {
        let mut options = OptionValues::default();
        options::set_known(&mut options, "server", server, "the URL");
        let name = hosts::read_server_name(&options)?;
        Ok::<_, Error>((name.host, name.instance, name.port))
    };
    let host = |host: &str, instance: Option<&str>, port| {
        (host.to_owned(), instance.map(str::to_owned), port)
    };
    for (text, parts) in [
        ("", host("localhost", None, None)),
        (".", host("localhost", None, None)),
        ("(local)\\sales", host("localhost", Some("sales"), None)),
        ("db", host("db", None, None)),
        ("tcp:db,1444", host("db", None, Some(1444))),
        ("TCP:db\\sales,1444", host("db", Some("sales"), Some(1444))),
        ("db\\MSSQLSERVER", host("db", None, None)),
        ("::1,1444", host("::1", None, Some(1444))),
        ("[::1]", host("::1", None, None)),
    ] {
        assert_eq!(name(text).unwrap(), parts, "{text}");
    }
    for text in [
        "np:\\\\db\\pipe\\sql\\query",
        "lpc:db",
        "(localdb)\\v11",
        "db,port",
        "db,0",
    ] {
        assert!(name(text).is_err(), "{text}");
    }
}

#[test]
fn other_logins_and_unknown_options_are_refused() {
    for (text, part) in [
        ("Server=h;Integrated Security=SSPI", "Windows"),
        ("Server=h;Trusted_Connection=yes", "Windows"),
        (
            "Server=h;Authentication=Active Directory Default;User Id=u",
            "Entra",
        ),
        ("DSN=mine;UID=u", "data source name"),
        ("sqlserver://127.0.0.1", "no user name"),
        ("sqlserver://u@127.0.0.1?databse=x", "databse"),
        ("sqlserver://u@127.0.0.1,127.0.0.2", "several hosts"),
        ("Server=h;User Id=u;Password='geheim", "closing quote"),
        ("Server=h;User Id=u;Password='geheim' rest", "closing quote"),
        ("Server=h;Password=ge;heim=x;User Id=u", "part 3"),
        ("sqlserver://u:p@127.0.0.1:port", "not a number"),
    ] {
        let problem = problem(text);
        assert!(problem.contains(part), "{text}: {problem}");
        problem.assert_lacks("heim");
    }
    // libpq's connection strings stay libpq's.
    assert_eq!(recognize("host=h user=u dbname=d"), None);
    assert_eq!(
        recognize("postgresql://h/d?options=-c%20a=b;server=c"),
        None
    );
}

#[test]
fn a_password_in_an_unexpected_place_is_not_shown() {
    for text in [
        "sqlserver://u:ge/heim@h",
        "sqlserver://u:ge@heim@h",
        "sqlserver://u:ge?heim@h",
        "sqlserver://u:p@h?password=geheim",
        "sqlserver://u:p@h?access+token=geheim",
        "Server=h;PWD=geheim;UID=u",
        "Server=h;Password='ge;heim",
        "jdbc:sqlserver://h;user=u;trustStorePassword=geheim",
    ] {
        let shown = crate::redact(text);
        shown.assert_lacks("heim");
        // Of arguments, the part from the first question mark on is a query.
        let shown = crate::secrets::redact_argument(text);
        assert!(
            !shown.contains("heim") || text.contains("ge?heim"),
            "{shown}"
        );
    }
    assert_eq!(
        crate::redact("sqlserver://u:p@[::1]:1433/i?database=d"),
        "sqlserver://u:***@[::1]:1433/i?database=d"
    );
    assert_eq!(
        crate::secrets::redact_argument("Driver={x};PWD={ge heim;}}x};UID=u"),
        "Driver={x};PWD={***};UID=u"
    );
}
