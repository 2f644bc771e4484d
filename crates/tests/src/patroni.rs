//! A throw-away PostgreSQL cluster of two nodes under Patroni, which fails over by itself, with an etcd.
//!
//! Must never: be needed by a test; where the programs are not installed, the test says that it is skipped.

use crate::ProxiedServer;
use crate::daemon::{Daemon, START_TIMEOUT, free_ports};
use prony_server::embedded::{find, process, random_hex};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

const PATRONI: &str = "/usr/bin/patroni";
const ETCD: &str = "/usr/bin/etcd";

/// A cluster whose commits wait for the standby.
#[derive(Debug)]
pub struct Patroni {
    // Before the store of their state: they end in an orderly way.
    nodes: Vec<Node>,
    _etcd: Daemon,
    password: String,
}

/// A server and the program that watches it.
#[derive(Debug)]
struct Node {
    patroni: Daemon,
    port: u16,
    rest_port: u16,
    data_dir: PathBuf,
}

impl Patroni {
    /// Starts a cluster, and waits until commits wait for the standby; `None` if the programs are not installed.
    ///
    /// # Panics
    /// If they are installed, and it does not start.
    pub fn start() -> Option<Patroni> {
        if [PATRONI, ETCD].iter().any(|path| !Path::new(path).exists()) {
            return None;
        }
        let [clients, peers] = free_ports();
        let mut etcd = Daemon::new();
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let mut command = etcd.command(ETCD);
        command.arg("--data-dir").arg(etcd.folder());
        for (name, value) in [
            ("listen-client-urls", url(clients)),
            ("advertise-client-urls", url(clients)),
            ("listen-peer-urls", url(peers)),
            ("initial-advertise-peer-urls", url(peers)),
            ("initial-cluster", format!("default={}", url(peers))),
        ] {
            command.arg(format!("--{name}={value}"));
        }
        etcd.start(command, clients, libc::SIGKILL);
        let mut cluster = Patroni {
            nodes: Vec::new(),
            _etcd: etcd,
            password: random_hex(16).expect("random numbers"),
        };
        for number in 0..2 {
            let mut node = Node::start(number, clients, &cluster.password);
            let (port, path) = (node.rest_port, ["/primary", "/sync"][number]);
            node.patroni
                .wait_until(path, || answers_with_200(port, path));
            cluster.nodes.push(node);
        }
        Some(cluster)
    }

    /// The password of `postgres`.
    pub fn password(&self) -> &str {
        &self.password
    }

    /// The nodes, the first primary first.
    pub fn servers(&self) -> Vec<ProxiedServer> {
        let servers = self.nodes.iter().map(|node| ProxiedServer {
            port: node.port,
            patroni_port: Some(node.rest_port),
        });
        servers.collect()
    }

    /// The process of a node's server, which the caller may kill.
    pub fn postmaster(&self, number: usize) -> Option<u32> {
        postmaster(&self.nodes[number].data_dir)
    }

    /// Kills what watches a node's server, so that nobody starts that again.
    pub fn kill_watcher(&mut self, number: usize) {
        let ended = self.nodes[number].patroni.end(libc::SIGKILL, START_TIMEOUT);
        assert!(ended, "it ignores SIGKILL");
    }
}

impl Node {
    fn start(number: usize, etcd_port: u16, password: &str) -> Node {
        let mut patroni = Daemon::new();
        let [port, rest_port] = free_ports();
        let data_dir = patroni.folder().join("data");
        let bin_dir = find().expect("PostgreSQL's programs").bin_dir;
        let settings = format!(
            r#"scope: prony
name: node{number}
restapi: {{ listen: "127.0.0.1:{rest_port}", connect_address: "127.0.0.1:{rest_port}" }}
etcd3: {{ host: "127.0.0.1:{etcd_port}" }}
bootstrap:
  dcs:
    ttl: 5
    loop_wait: 1
    retry_timeout: 2
    synchronous_mode: true
    postgresql:
      use_pg_rewind: false
      parameters: {{ max_connections: 60, max_wal_senders: 5, max_replication_slots: 5 }}
  initdb: [ {{ encoding: UTF8 }}, {{ locale: C }}, no-sync ]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: "{data}"
  bin_dir: "{bin}"
  pgpass: "{folder}/pgpass"
  authentication:
    superuser: {{ username: postgres, password: "{password}" }}
    replication: {{ username: replicator, password: "{password}" }}
  parameters: {{ unix_socket_directories: "{folder}", shared_buffers: 32MB }}
  pg_hba:
    - host all all 127.0.0.1/32 scram-sha-256
    - host replication all 127.0.0.1/32 scram-sha-256
"#,
            data = data_dir.display(),
            bin = bin_dir.display(),
            folder = patroni.folder().display(),
        );
        let file = patroni.write("patroni.yml", &settings);
        let mut command = patroni.command(PATRONI);
        command.arg(file);
        // It stops its server then.
        patroni.start(command, rest_port, libc::SIGTERM);
        Node {
            patroni,
            port,
            rest_port,
            data_dir,
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.patroni.end(libc::SIGTERM, START_TIMEOUT / 2);
        self.patroni.end(libc::SIGKILL, START_TIMEOUT);
        if let Some(pid) = postmaster(&self.data_dir) {
            let _ = process::signal(pid, libc::SIGQUIT);
        }
    }
}

/// The process of the server whose data are in this folder, if it runs.
fn postmaster(data_dir: &Path) -> Option<u32> {
    let file = fs::read_to_string(data_dir.join("postmaster.pid")).ok()?;
    let pid = file.lines().next()?.parse().ok()?;
    // The number may have been used again since the server was killed.
    let works_in = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    (works_in == data_dir).then_some(pid)
}

/// Whether Patroni says yes.
fn answers_with_200(port: u16, path: &str) -> bool {
    let mut answer = String::new();
    let asked = TcpStream::connect(("127.0.0.1", port)).and_then(|mut socket| {
        socket.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
        socket.read_to_string(&mut answer)
    });
    asked.is_ok() && answer.split(' ').nth(1) == Some("200")
}
