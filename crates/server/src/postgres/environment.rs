//! The customary environment, as a value.
//!
//! In: the process, or what a test says. Out: variables, home folder, user name, well-known
//! folders. Must never: be read from the process anywhere else, or show a variable's value.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// What libpq, or MySQL's client, would read from the process that runs it.
#[derive(Clone, Default)]
pub struct Environment {
    /// Variables whose names begin with `PG` or `MYSQL`.
    vars: BTreeMap<String, String>,
    /// Home folder: for `.pgpass`, `.pg_service.conf` and `.postgresql/`.
    pub home: Option<PathBuf>,
    /// The operating system's name for the user: the default role.
    pub user: Option<String>,
    /// Where servers put their unix sockets by default; the first that holds the socket is used,
    /// else the first that exists. Distributions differ, and libpq has one compiled in.
    pub socket_dirs: Vec<PathBuf>,
    /// Where the system's `pg_service.conf` may be when PGSYSCONFDIR does not say.
    pub system_dirs: Vec<PathBuf>,
    /// MySQL's option files of the system, in the order in which they are read.
    pub option_files: Vec<PathBuf>,
    /// Where MySQL's and MariaDB's servers put their unix socket by default; the first that is there
    /// is used, else the first.
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

    /// The environment of this process.
    pub fn from_process() -> Self {
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        let vars = std::env::vars_os()
            .map(|(name, value)| (text(name), text(value)))
            .filter(|(name, _)| name.starts_with("PG") || name.starts_with("MYSQL"))
            .collect();
        let (user, account_home) = account();
        let home = std::env::var_os("HOME")
            .filter(|home| !home.is_empty())
            .map(PathBuf::from);
        Environment {
            vars,
            home: home.or(account_home),
            user,
            socket_dirs: ["/var/run/postgresql", "/tmp"].map(PathBuf::from).into(),
            // Debian's packages, the PostgreSQL project's RPMs, a build with --sysconfdir=/etc.
            system_dirs: ["/etc/postgresql-common", "/etc/sysconfig/pgsql", "/etc"]
                .map(PathBuf::from)
                .into(),
            option_files: ["/etc/my.cnf", "/etc/mysql/my.cnf"]
                .map(PathBuf::from)
                .into(),
            // Debian, RHEL, sources.
            mysql_sockets: [
                "/var/run/mysqld/mysqld.sock",
                "/var/lib/mysql/mysql.sock",
                "/tmp/mysql.sock",
            ]
            .map(PathBuf::from)
            .into(),
        }
    }

    /// The same with one variable set.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A variable's value; set but empty is a value, as with libpq.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// A file below the home folder.
    pub(crate) fn in_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// The folder in which libpq would look for the socket of `port`.
    pub(crate) fn socket_dir(&self, port: u16) -> PathBuf {
        let socket = format!(".s.PGSQL.{port}");
        let holds = |dir: &&PathBuf| dir.join(&socket).exists();
        let exists = |dir: &&PathBuf| dir.is_dir();
        self.socket_dirs
            .iter()
            .find(holds)
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
fn account() -> (Option<String>, Option<PathBuf>) {
    let mut buffer = vec![0u8; 16 * 1024];
    // SAFETY: all pointers are valid for the call, and the strings that `entry` points to live in
    // `buffer`, which outlives their use below.
    unsafe {
        let mut entry: libc::passwd = std::mem::zeroed();
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        let status = libc::getpwuid_r(
            libc::geteuid(),
            &mut entry,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            &mut found,
        );
        if status != 0 || found.is_null() {
            return (None, None);
        }
        let text = |p: *const libc::c_char| {
            (!p.is_null()).then(|| CStr::from_ptr(p).to_string_lossy().into_owned())
        };
        (text(entry.pw_name), text(entry.pw_dir).map(PathBuf::from))
    }
}
