//! A throw-away PgBouncer before a server of a test.
//!
//! Must never: be needed by a test; where the program is not installed, the test says that it is skipped.

use prony_server::embedded::EmbeddedPostgres;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// Time after which a pooler that does not answer has failed.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A pooler with transaction pooling and four sessions of the server, which accepts everybody. It ends when dropped.
pub struct PgBouncer {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl PgBouncer {
    /// Starts one before a database of a server; `None` if none is installed.
    ///
    /// # Panics
    /// If it is installed and does not start.
    pub fn start(server: &EmbeddedPostgres, database: &str) -> Option<PgBouncer> {
        if !Path::new(PROGRAM).exists() {
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let folder = std::env::temp_dir().join(format!("prony-pgbouncer-{port}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("pgbouncer.ini");
        let settings = format!(
            "[databases]\n{database} = host=127.0.0.1 port={} dbname={database} user=postgres password={}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\nserver_login_retry = 1\ndefault_pool_size = 4\nmax_client_conn = 200\n\
             ignore_startup_parameters = extra_float_digits\n",
            server.port(),
            server.password().reveal()
        );
        std::fs::write(&file, settings).expect("a file");
        let mut command = Command::new(PROGRAM);
        // It refuses to run as root, and reads its file as the user that it becomes.
        // SAFETY: geteuid has no precondition.
        if unsafe { libc::geteuid() } == 0 {
            let readable = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(&file, readable).expect("permissions");
            command.args(["-u", "nobody"]);
        }
        // SAFETY: prctl is async-signal-safe, and changes only the child.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let child = command
            .arg("-q")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut pooler = PgBouncer {
            child,
            folder,
            port,
        };
        pooler.wait_until_it_answers();
        Some(pooler)
    }

    fn wait_until_it_answers(&mut self) {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.child.try_wait().expect("its state");
            assert_eq!(ended, None, "{PROGRAM} ended");
            assert!(started.elapsed() < START_TIMEOUT, "{PROGRAM} is silent");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its port on the loopback interface.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its version, such as `(1, 18)`.
    pub fn version() -> Option<(u32, u32)> {
        let output = Command::new(PROGRAM).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let version = text.split_whitespace().nth(1)?;
        let mut numbers = version.split('.').map(|part| part.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
