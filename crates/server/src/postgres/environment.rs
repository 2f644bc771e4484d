//! The environment that libpq and MySQL's client would read, as a value.
//!
//! No other code reads these variables and folders from the process. Must never: show a variable's value.

use super::options;
use crate::sqlserver::SQLCMD_VARIABLES;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The variables that are read besides those of [`options::variables`] and [`SQLCMD_VARIABLES`]. Others are not taken from
/// the process: `MYSQL_ROOT_PASSWORD` and the like are nobody's but the user's.
const OTHER_VARIABLES: [&str; 12] = [
    "PGREQUIRESSL",
    "PGSERVICEFILE",
    "PGSYSCONFDIR",
    "PGDATESTYLE",
    "PGTZ",
    "PGGEQO",
    "MYSQL_PWD",
    "MYSQL_HOST",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "MYSQL_TEST_LOGIN_FILE",
    "LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN",
];

fn is_read(variable: &str) -> bool {
    let mut sqlcmd = SQLCMD_VARIABLES.iter().map(|(name, _)| *name);
    OTHER_VARIABLES.contains(&variable)
        || options::variables().any(|name| name == variable)
        || sqlcmd.any(|name| name == variable)
}

/// Variables, home folder, user name and well-known folders, from the process or from a test.
#[derive(Clone, Default)]
pub struct Environment {
    /// Variables that [`is_read`] knows.
    vars: BTreeMap<String, String>,
    /// Home folder, for `.pgpass`, `.pg_service.conf` and `.postgresql/`.
    pub home: Option<PathBuf>,
    /// Name of the operating-system user, which is the default role.
    pub user: Option<String>,
    /// Default folders of PostgreSQL's unix sockets, which differ between distributions (libpq has
    /// one compiled in). The first that contains the socket is used, else the first that exists.
    pub socket_dirs: Vec<PathBuf>,
    /// Folders to search for the system's `pg_service.conf` if PGSYSCONFDIR is not set.
    pub system_dirs: Vec<PathBuf>,
    /// MySQL's system-wide option files, in the order in which they are read.
    pub option_files: Vec<PathBuf>,
    /// Default paths of MySQL's and MariaDB's unix socket. The first that exists is used, else the
    /// first.
    pub mysql_sockets: Vec<PathBuf>,
}

impl Environment {
    /// An environment without variables: for tests, and as a base for [`Environment::with`].
    pub fn new(user: &str, home: &Path) -> Self {
        Environment {
            user: Some(user.to_owned()),
            home: Some(home.to_owned()),
            ..Environment::default()
        }
    }

    /// An environment without variables and without a home folder, so that none of the user's files
    /// are read.
    pub fn without_home(user: &str) -> Self {
        Environment {
            user: Some(user.to_owned()),
            ..Environment::default()
        }
    }

    pub fn from_process() -> Self {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        let vars = std::env::vars_os()
            .map(|(name, value)| (text(name), text(value)))
            .filter(|(name, _)| is_read(name))
            .collect();
        let (user, account_home) = effective_account();
        let home = std::env::var_os("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from);
        Environment {
            vars,
            home: home.or(account_home),
            user,
            socket_dirs: ["/var/run/postgresql", "/tmp"].map(PathBuf::from).into(),
            // Folders of Debian's packages, the PostgreSQL project's RPMs, a build with --sysconfdir=/etc.
            system_dirs: ["/etc/postgresql-common", "/etc/sysconfig/pgsql", "/etc"]
                .map(PathBuf::from)
                .into(),
            option_files: ["/etc/my.cnf", "/etc/mysql/my.cnf"]
                .map(PathBuf::from)
                .into(),
            // Debian's packages, RHEL's packages, a build from source.
            mysql_sockets: [
                "/var/run/mysqld/mysqld.sock",
                "/var/lib/mysql/mysql.sock",
                "/tmp/mysql.sock",
            ]
            .map(PathBuf::from)
            .into(),
        }
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// All variables that are read, which may contain passwords.
    pub fn vars(&self) -> &BTreeMap<String, String> {
        &self.vars
    }

    pub fn with_only(self, vars: BTreeMap<String, String>) -> Self {
        Environment { vars, ..self }
    }

    /// A variable's value, which may be empty, as with libpq.
    pub fn var(&self, name: &str) -> Option<&str> {
        debug_assert!(is_read(name), "{name} is not taken from the process");
        self.vars.get(name).map(String::as_str)
    }

    pub(crate) fn in_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// The folder in which libpq would look for the socket of `port`.
    pub(crate) fn socket_dir(&self, port: u16) -> PathBuf {
        let socket = format!(".s.PGSQL.{port}");
        let has_socket = |dir: &&PathBuf| dir.join(&socket).exists();
        let exists = |dir: &&PathBuf| dir.is_dir();
        self.socket_dirs
            .iter()
            .find(has_socket)
            .or_else(|| self.socket_dirs.iter().find(exists))
            .or(self.socket_dirs.first())
            .cloned()
            .unwrap_or_else(|| PathBuf::from("/tmp"))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("vars", &self.vars.keys())
            .field("home", &self.home)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// Name and home folder of the effective user, from the system's user database.
fn effective_account() -> (Option<String>, Option<PathBuf>) {
    let mut buffer = vec![0u8; 16 * 1024];
    // SAFETY: all pointers are valid for the call, and the strings that `entry` points to live in
    // `buffer`, which outlives their use below.
    unsafe {
        let mut entry: libc::passwd = std::mem::zeroed();
        let mut result: *mut libc::passwd = std::ptr::null_mut();
        let status = libc::getpwuid_r(
            libc::geteuid(),
            &mut entry,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &mut result,
        );
        if status != 0 || result.is_null() {
            return (None, None);
        }
        let text = |p: *const libc::c_char| {
            (!p.is_null()).then(|| CStr::from_ptr(p).to_string_lossy().into_owned())
        };
        (text(entry.pw_name), text(entry.pw_dir).map(PathBuf::from))
    }
}

#[cfg(test)]
mod tests {
    use super::is_read;

    #[test]
    fn passwords_that_no_client_reads_are_not_taken_from_the_process() {
        for known in ["PGHOST", "PGSERVICEFILE", "MYSQL_PWD", "SQLCMDPASSWORD"] {
            assert!(is_read(known), "{known}");
        }
        for unknown in ["MYSQL_ROOT_PASSWORD", "PGPASSWORD_OLD", "SQLCMDPASSWORD2"] {
            assert!(!is_read(unknown), "{unknown}");
        }
    }
}
