//! Tests of the password file.

use super::super::{Environment, resolve};
use super::{Folder, postgres_options};
use prony_assertions::TextAssertions;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

const PASSWORDS: &str = r"# c
a\:b:1:d:u:pw1
localhost:5432:*:u:local
/tmp/x:5432:*:u:sockx
127.0.0.1:*:*:*:four:tail
*:6:d\\d:u:back\\sl\:ash\
*:7:*:u:trailing\
h1:*:*:*:pwh1
h2:*:*:*:pwh2
[::1]:*:*:*:brk
::1:*:*:*:six
*:*:e:*:
*:*:*:deep:last
";

/// The password of each endpoint, "-" for none.
fn passwords(env: &Environment, url: &str) -> Vec<String> {
    let target = resolve(url, env).unwrap();
    let password = |e: &crate::Endpoint| e.password.as_ref().map_or("-", |p| p.reveal()).to_owned();
    target.endpoints.iter().map(password).collect()
}

#[test]
fn each_endpoint_gets_the_first_matching_line() {
    let folder = Folder::new();
    folder.write(".pgpass", PASSWORDS);
    let table: [(&str, &[&str]); 14] = [
        ("user=u", &["local"]),
        ("user=u host=/var/run/postgresql", &["local"]),
        ("user=u host=/tmp/x", &["sockx"]),
        ("user=x", &["-"]),
        ("hostaddr=127.0.0.1 user=zz", &["four"]),
        ("host=h1 hostaddr=127.0.0.1 user=zz port=1", &["pwh1"]),
        (
            r"host=/tmp/x port=6 dbname='d\\d' user=u",
            &[r"back\sl:ash\"],
        ),
        ("host=/tmp/x port=7 dbname=q user=u", &[r"trailing\"]),
        ("hostaddr=::1 user=r port=1", &["six"]),
        ("host=/tmp/x dbname=e user=deep", &["-"]),
        (
            "host=h1,h2,h3 hostaddr=127.0.0.1,127.0.0.1,127.0.0.1 user=zz",
            &["pwh1", "pwh2", "-"],
        ),
        (
            "host=h1,h2 hostaddr=127.0.0.1,127.0.0.1 password=all",
            &["all", "all"],
        ),
        (
            "host=a:b hostaddr=127.0.0.1 port=1 dbname=d user=u",
            &["pw1"],
        ),
        ("postgresql://deep@%2Ftmp%2Fz/q", &["last"]),
    ];
    for (url, expected) in table {
        assert_eq!(passwords(&folder.env(), url), expected, "{url}");
    }
    let env = folder.env().with("PGPASSWORD", "");
    assert_eq!(
        passwords(&env, "hostaddr=127.0.0.1"),
        ["four"],
        "an empty PGPASSWORD is none"
    );
    let env = folder.env().with("PGPASSWORD", "env");
    assert_eq!(passwords(&env, "hostaddr=127.0.0.1"), ["env"]);
    assert_eq!(passwords(&env, "hostaddr=127.0.0.1 password=url"), ["url"]);
}

#[test]
fn the_file_of_a_password_is_known() {
    let folder = Folder::new();
    let path = folder.write("pass", "127.0.0.1:*:*:me:secret\n");
    let env = folder.env().with("PGPASSFILE", &path.display().to_string());
    let file = |url: &str| {
        let target = resolve(url, &env).unwrap();
        postgres_options(&target).password_file.clone()
    };
    assert_eq!(file("hostaddr=127.0.0.1 user=me"), Some(path.clone()));
    assert_eq!(file("hostaddr=127.0.0.1 user=you"), None);
    assert_eq!(file("hostaddr=127.0.0.1 user=me password=url"), None);
}

#[test]
fn a_file_that_others_can_read_is_ignored_with_a_warning() {
    let folder = Folder::new();
    let path = folder.write("pass", "*:*:*:*:secret\n");
    let env = folder.env().with("PGPASSFILE", &path.display().to_string());
    assert_eq!(passwords(&env, "host=/tmp"), ["secret"]);
    for mode in [0o640, 0o604, 0o620] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let target = resolve("host=/tmp", &env).unwrap();
        assert!(target.endpoints[0].password.is_none());
        assert_eq!(target.warnings.len(), 1);
        target.warnings[0].assert_contains("has group or world access");
    }
    let env = folder
        .env()
        .with("PGPASSFILE", &folder.0.display().to_string());
    resolve("", &env).unwrap().warnings[0].assert_contains("not a plain file");
    let env = folder
        .env()
        .with("PGPASSFILE", folder.0.join("absent").to_str().unwrap());
    assert!(
        resolve("", &env).unwrap().warnings.is_empty(),
        "a missing file is normal"
    );
}
