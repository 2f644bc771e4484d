//! Tests of resolving a URL, option files and environment to a target.

use super::*;
use crate::target::{Address, SslMode};
use prony_assertions::{TestFolder, TextAssertions};

fn env() -> Environment {
    Environment::without_home("tester")
}

fn target(url: &str, env: &Environment) -> Target {
    crate::resolve(url, env).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn error_text(url: &str) -> String {
    crate::resolve(url, &env()).unwrap_err().to_string()
}

fn options(target: &Target) -> &MysqlOptions {
    match &target.protocol {
        ProtocolOptions::MySql(options) => options,
        ProtocolOptions::PostgreSql(_) | ProtocolOptions::SqlServer(_) => {
            panic!("not MySQL's protocol")
        }
    }
}

fn first_endpoint(target: &Target) -> String {
    target.endpoints[0].to_string()
}

#[test]
fn a_url_sets_address_login_and_options() {
    let url = "mysql://ann:s%40me@127.0.0.1:3307/shop?ssl-mode=required&connect_timeout=7\
               &get-server-public-key&local-infile=on";
    let target = target(url, &env());
    assert_eq!(
        (target.user.as_str(), target.database.as_str()),
        ("ann", "shop")
    );
    assert_eq!(first_endpoint(&target), "tcp:127.0.0.1:3307");
    let password = target.endpoints[0].password.as_ref().unwrap();
    assert_eq!(password.reveal(), "s@me");
    assert_eq!(target.tls.mode, SslMode::Require);
    assert_eq!(target.connect_timeout, Some(Duration::from_secs(7)));
    let options = options(&target);
    assert!(options.get_server_public_key && options.local_infile && !options.allow_cleartext);
    for (value, allowed) in [("1", true), ("Yes", true), ("0", false), ("", false)] {
        let env = env().with("LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN", value);
        let target = self::target(url, &env);
        assert_eq!(self::options(&target).allow_cleartext, allowed, "{value:?}");
    }
    format!("{target:?}").assert_lacks("s@me");
}

#[test]
fn localhost_means_the_socket() {
    let socket = |url: &str| first_endpoint(&target(url, &env()));
    assert_eq!(socket("mysql://"), "unix:/tmp/mysql.sock");
    assert_eq!(
        socket("mariadb://root@localhost/test"),
        "unix:/tmp/mysql.sock"
    );
    let named = "mysql://localhost/?socket=/run/x.sock";
    assert_eq!(socket(named), "unix:/run/x.sock");
    assert_eq!(
        socket("mysql://localhost:3307/?socket=/run/x.sock"),
        "unix:/run/x.sock"
    );
    socket("mysql://localhost:3307/").assert_starts_with("tcp:");
    socket("mysql://localhost/?protocol=tcp").assert_starts_with("tcp:");
    assert_eq!(socket("mysql://127.0.0.1/"), "tcp:127.0.0.1:3306");
    assert_eq!(socket("mysql://[::1]:3308/"), "tcp:[::1]:3308");
    let existing = std::env::temp_dir().join(format!("prony-my-{}", std::process::id()));
    std::fs::write(&existing, "").unwrap();
    let mut env = env();
    env.mysql_sockets = vec![existing.with_extension("absent"), existing.clone()];
    let address = target("mysql://", &env).endpoints[0].address.clone();
    std::fs::remove_file(&existing).unwrap();
    assert_eq!(address, Address::Unix(existing));
}

#[test]
fn the_url_overrides_files_and_files_override_the_environment() {
    let files = TestFolder::create();
    let folder = files.display();
    files.write("d/a.cnf", "[client]\nuser = included\nport=3311\n");
    files.write("d/ignored.txt", "[client]\nuser=no\n");
    let system = files.write(
        "my.cnf",
        format!(
            "# comment\n[mysqld]\nuser=mysql\nport=1\n[client]\nuser=system\nhost=127.0.0.1\n\
             no-such-option\n!includedir {folder}/d\n[mysql]\nuser=other\n"
        ),
    );
    files.write(
        ".my.cnf",
        "[client]\npassword='p#w'\nskip-ssl\n[prony]\ndatabase=mine\n",
    );
    let mut env = Environment::new("tester", &files)
        .with("MYSQL_PWD", "env")
        .with("MYSQL_HOST", "192.0.2.1")
        .with("MYSQL_TCP_PORT", "3399");
    env.option_files = vec![system];
    let from_files = target("mysql://", &env);
    assert_eq!(
        (from_files.user.as_str(), from_files.database.as_str()),
        ("included", "mine")
    );
    assert_eq!(first_endpoint(&from_files), "tcp:127.0.0.1:3311");
    assert_eq!(
        from_files.endpoints[0].password.as_ref().unwrap().reveal(),
        "p#w"
    );
    assert_eq!(from_files.tls.mode, SslMode::Disable);
    let url = "mysql://ann:url@127.0.0.2:3312/shop?ssl-mode=PREFERRED";
    let from_url = target(url, &env);
    assert_eq!(
        (from_url.user.as_str(), from_url.database.as_str()),
        ("ann", "shop")
    );
    assert_eq!(first_endpoint(&from_url), "tcp:127.0.0.2:3312");
    assert_eq!(
        from_url.endpoints[0].password.as_ref().unwrap().reveal(),
        "url"
    );
    assert_eq!(from_url.tls.mode, SslMode::Prefer);
}

#[test]
fn the_environment_sets_options_without_files() {
    let env = env()
        .with("MYSQL_PWD", "env")
        .with("MYSQL_UNIX_PORT", "/run/e.sock");
    let from_env = target("mysql://", &env);
    assert_eq!(first_endpoint(&from_env), "unix:/run/e.sock");
    assert_eq!(from_env.user, "tester");
    assert_eq!(
        from_env.endpoints[0].password.as_ref().unwrap().reveal(),
        "env"
    );
    let env_with_host = env
        .with("MYSQL_HOST", "127.0.0.1")
        .with("MYSQL_TCP_PORT", "3400");
    assert_eq!(
        first_endpoint(&target("mysql://", &env_with_host)),
        "tcp:127.0.0.1:3400"
    );
}

#[test]
fn a_file_that_any_user_can_write_is_ignored() {
    use std::os::unix::fs::PermissionsExt;
    let files = TestFolder::create();
    let path = files.write(".my.cnf", "[client]\nuser=eve\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
    let resolved = target("mysql://", &Environment::new("tester", &files));
    assert_eq!(resolved.user, "tester");
    resolved.warnings[0].assert_contains("can be written by any user");
}

/// A login file with these lines, under a key of 20 different bytes.
fn login_file(lines: &[&str]) -> Vec<u8> {
    use aes::cipher::{BlockCipherEncrypt, KeyInit};
    let key: Vec<u8> = (0..20).map(|byte| byte * 7 + 1).collect();
    let mut folded = [0_u8; 16];
    for (index, byte) in key.iter().enumerate() {
        folded[index % 16] ^= byte;
    }
    let cipher = aes::Aes128::new(&folded.into());
    let mut file = vec![0; 4];
    file.extend(key);
    for line in lines {
        let mut plain = format!("{line}\n").into_bytes();
        let padding = 16 - plain.len() % 16;
        plain.extend(std::iter::repeat_n(padding as u8, padding));
        file.extend((plain.len() as u32).to_le_bytes());
        for block in plain.chunks(16) {
            let mut block = <[u8; 16]>::try_from(block).unwrap().into();
            cipher.encrypt_block(&mut block);
            file.extend_from_slice(&block);
        }
    }
    file
}

#[test]
fn the_login_file_overrides_the_option_files() {
    use std::os::unix::fs::PermissionsExt;
    let files = TestFolder::create();
    files.write(".my.cnf", "[client]\nuser=file\nport=3311\n");
    let lines = [
        "[client]",
        "user = \"common\"",
        "[shop]",
        "password = \"p#w\"",
        "host = \"127.0.0.1\"",
    ];
    let path = files.join(".mylogin.cnf");
    std::fs::write(&path, login_file(&lines)).unwrap();
    let set_mode =
        |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    let env = Environment::new("tester", &files);
    set_mode(0o600);
    let without_path = target("mysql://", &env);
    assert_eq!(
        (
            without_path.user.as_str(),
            without_path.endpoints[0].password.is_none()
        ),
        ("common", true)
    );
    let shop = target("mysql://?login-path=shop", &env);
    assert_eq!(first_endpoint(&shop), "tcp:127.0.0.1:3311");
    assert_eq!(shop.endpoints[0].password.as_ref().unwrap().reveal(), "p#w");
    let error = crate::resolve("mysql://?login-path=no", &env)
        .unwrap_err()
        .to_string();
    error.assert_contains("has no login path \"no\"");
    set_mode(0o644);
    let ignored = target("mysql://", &env);
    assert_eq!(ignored.user, "file");
    ignored.warnings[0].assert_contains("chmod 600");
    set_mode(0o600);
    for broken in [
        &login_file(&lines)[..50],
        b"[client]\nuser=x\n, but as plain text\n",
    ] {
        std::fs::write(&path, broken).unwrap();
        let error = crate::resolve("mysql://", &env).unwrap_err().to_string();
        error.assert_contains("is not a login file");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(target("mysql://", &env).user, "file");
    assert!(crate::resolve("mysql://?login-path=shop", &env).is_err());
}

#[test]
fn a_cycle_of_includes_is_an_error() {
    let files = TestFolder::create();
    let path = files.join(".my.cnf");
    files.write(".my.cnf", format!("!include {}\n", path.display()));
    let env = Environment::new("tester", &files);
    let error = crate::resolve("mysql://", &env).unwrap_err().to_string();
    error.assert_contains("too deep");
}

#[test]
fn tls_modes_can_be_set_with_the_options_of_both_clients() {
    let mode = |query: &str| {
        target(&format!("mysql://127.0.0.1/?{query}"), &env())
            .tls
            .mode
    };
    assert_eq!(mode(""), SslMode::Prefer);
    assert_eq!(mode("ssl-mode=Disabled"), SslMode::Disable);
    assert_eq!(mode("ssl=1"), SslMode::Require);
    assert_eq!(mode("skip-ssl"), SslMode::Disable);
    error_text("mysql://127.0.0.1/?ssl-mode=VERIFY_CA")
        .assert_contains("no certificate authority is given");
    let absent = std::env::temp_dir().join(format!("prony-no-ca-{}", std::process::id()));
    let absent = absent.to_str().unwrap();
    error_text(&format!("mysql://127.0.0.1/?ssl-ca={absent}")).assert_contains(absent);
    error_text("mysql://127.0.0.1/?ssl-mode=maybe").assert_contains("VERIFY_IDENTITY");
    error_text("mysql://127.0.0.1/?ssl-cert=/x").assert_contains("ssl-key");
    error_text("mysql://127.0.0.1/?tls-version=TLSv1.1").assert_contains("TLSv1.2");
}

#[test]
fn errors_show_mistakes_but_no_passwords() {
    error_text("mysql://127.0.0.1/?ssl-mod=1").assert_contains("\"ssl-mod\"");
    error_text("mysql://127.0.0.1/?connect-timeout=soon").assert_contains("whole number");
    for url in [
        "mysql://u:pa/ss@h/d",
        "mysql://u:p@ss@h:1/d",
        "mysql://u:pa:ss@h:x/d",
    ] {
        let error = crate::resolve(url, &env())
            .err()
            .map(|error| error.to_string());
        assert!(!error.unwrap_or_default().contains("ss@"), "{url}");
    }
    let redacted = |url: &str| crate::redact(url);
    assert_eq!(
        redacted("mysql://ann:secret@h:1/d?ssl-mode=REQUIRED&password=secret"),
        "mysql://ann:***@h:1/d?ssl-mode=REQUIRED&password=***"
    );
    assert_eq!(redacted("mariadb://u:pa/ss@h/d"), "mariadb://***");
    assert_eq!(
        redacted("mysql://root@localhost/test"),
        "mysql://root@localhost/test"
    );
}

proptest::proptest! {
    #[test]
    fn parsing_any_text_neither_panics_nor_shows_a_password(
        before in "[a-z0-9@:/?&=%#\\[\\]., -]{0,20}",
        after in "[a-z0-9@:/?&=%#\\[\\]., -]{0,30}",
    ) {
        for url in [
            format!("mysql://{before}:zanzibar@{after}"),
            format!("mysql://{before}?password=zanzibar&{after}"),
            format!("mysql://u:1{before}?zanzibar=1@h/{after}"),
        ] {
            let shown = crate::redact(&url);
            let rest = strip_scheme(&url).unwrap_or_default();
            let read = url::read(rest, &mut OptionValues::default());
            if read.is_err() {
                proptest::prop_assert_eq!(&shown, "mysql://***");
            }
            let error = read.err().map(|error| error.to_string()).unwrap_or_default();
            proptest::prop_assert!(!error.contains("zanzibar"), "{}", error);
        }
        let url = format!("mysql://ann:zanzibar@h/{}", after.replace(['@', '/', '?'], ""));
        let shown = crate::redact(&url);
        proptest::prop_assert!(!shown.contains("zanzibar"), "{}", shown);
    }
}

#[test]
fn plain_options_are_equivalent_to_a_url() {
    let settings = [
        ("host", "127.0.0.1"),
        ("port", "3307"),
        ("user", "ann:/@"),
        ("password", "s@m/e%"),
        ("database", "a b"),
        ("ssl-mode", "disabled"),
    ];
    let from_settings =
        crate::resolve_mysql_options(&settings, "the options", &env()).expect("valid options");
    let url = "mysql://ann%3A%2F%40:s%40m%2Fe%25@127.0.0.1:3307/a%20b?ssl-mode=disabled";
    let from_url = target(url, &env());
    assert_eq!(
        (&from_settings.user, &from_settings.database),
        (&from_url.user, &from_url.database)
    );
    assert_eq!(first_endpoint(&from_settings), first_endpoint(&from_url));
    let password = |target: &Target| {
        let password = target.endpoints[0].password.as_ref();
        password.map(|password| password.reveal().to_owned())
    };
    assert_eq!(password(&from_settings).as_deref(), Some("s@m/e%"));
    assert_eq!(password(&from_settings), password(&from_url));
    assert_eq!(from_settings.tls.mode, SslMode::Disable);
    format!("{from_settings:?}").assert_lacks("s@m/e%");

    let first_address = |settings: &[(&str, &str)]| {
        let resolved = crate::resolve_mysql_options(settings, "the options", &env());
        resolved
            .map(|target| first_endpoint(&target))
            .map_err(|error| error.to_string())
    };
    let ok = |text: &str| Ok(text.to_owned());
    assert_eq!(
        first_address(&[("host", "::1"), ("port", "1")]),
        ok("tcp:[::1]:1")
    );
    let port_zero = [("host", "127.0.0.1"), ("port", "0")];
    assert_eq!(first_address(&port_zero), ok("tcp:127.0.0.1:3306"));
    let localhost = [("host", "localhost"), ("socket", "/x/s"), ("port", "")];
    assert_eq!(first_address(&localhost), ok("unix:/x/s"));
    let error = first_address(&[("host", "127.0.0.1"), ("port", "99999")]).expect_err("a bad port");
    error.assert_starts_with("invalid port value: \"99999\" (from the options)");
    let error = first_address(&[("hots", "x")]).expect_err("no such option");
    error.assert_contains("\"hots\" in the options");
}

#[test]
fn a_list_of_hosts_is_a_list_of_servers_and_a_scheme_of_the_connectors_balances_it() {
    let env = Environment::without_home("ann");
    for (scheme, expected) in [
        ("mysql://", Spread::First),
        ("mariadb://", Spread::First),
        ("mysql:loadbalance://", Spread::Random),
        ("jdbc:mariadb:loadbalance://", Spread::Random),
    ] {
        let url = format!("{scheme}ann:zanzibar@127.0.0.1:1,127.0.0.1:2/d");
        let target = crate::resolve(&url, &env).unwrap();
        assert_eq!(target.spread, expected, "{scheme}");
        assert_eq!(target.hosts(), [0..1, 1..2], "{scheme}");
        let shown = crate::redact(&url);
        shown.assert_starts_with(scheme).assert_lacks("zanzibar");
    }
}
