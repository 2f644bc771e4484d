//! A throw-away Galera cluster on this machine: nodes of MariaDB on ports of their own.
//!
//! Must never: join a cluster that it did not create.

use crate::mariadb::Error;
use crate::{MariaDb, MariaDbOptions};
use prony_server::embedded::{free_port, random_hex};
use prony_server::{Control, Environment, resolve};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

/// Where packages put Galera's library.
const PROVIDERS: [&str; 3] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
];
/// A node copies the data of another one when it starts.
const START_TIMEOUT: Duration = Duration::from_secs(300);
/// Ports of a node for the cluster: group communication, incremental and full transfer.
const PORTS_PER_NODE: u16 = 3;

/// The nodes of a cluster. All have the accounts of the first, also `prony` with its password.
#[derive(Debug)]
pub struct Galera {
    pub nodes: Vec<MariaDb>,
}

impl Galera {
    /// Starts a cluster of this many nodes, and waits until each takes transactions; `None` if Galera's library is not
    /// installed.
    pub fn start(count: usize) -> Result<Option<Galera>, Error> {
        let Some(provider) = PROVIDERS.iter().find(|path| Path::new(path).exists()) else {
            return Ok(None);
        };
        let name = random_hex(4).map_err(|error| Error::of("/dev/urandom", error))?;
        let bases: Vec<u16> = (0..count).map(|_| free_ports()).collect();
        let addresses = bases.iter().map(|base| format!("127.0.0.1:{base}"));
        let addresses = addresses.collect::<Vec<_>>().join(",");
        let mut nodes = Vec::new();
        for (number, base) in bases.iter().enumerate() {
            let (incremental, full) = (base + 1, base + 2);
            let mut arguments = vec![
                "--binlog-format=ROW".to_owned(),
                "--default-storage-engine=InnoDB".to_owned(),
                "--innodb-autoinc-lock-mode=2".to_owned(),
                "--wsrep-on=ON".to_owned(),
                format!("--wsrep-provider={provider}"),
                format!("--wsrep-cluster-name={name}"),
                format!("--wsrep-cluster-address=gcomm://{addresses}"),
                format!("--wsrep-node-name=node{number}"),
                "--wsrep-node-address=127.0.0.1".to_owned(),
                "--wsrep-sst-method=rsync".to_owned(),
                format!("--wsrep-sst-receive-address=127.0.0.1:{full}"),
                format!(
                    "--wsrep-provider-options=base_port={base};gmcast.listen_addr=tcp://127.0.0.1:{base};\
                     ist.recv_addr=127.0.0.1:{incremental};gcache.size=64M"
                ),
            ];
            arguments.push(match number {
                0 => "--wsrep-new-cluster".to_owned(),
                // It gets the accounts of the first node.
                _ => "--init-file=".to_owned(),
            });
            let node = MariaDb::start(MariaDbOptions {
                arguments,
                start_timeout: START_TIMEOUT,
                ..MariaDbOptions::default()
            })?;
            Galera::wait_until_ready_is(&node, "ON")?;
            nodes.push(node);
        }
        Ok(Some(Galera { nodes }))
    }

    /// Waits until a node says `ON` or `OFF` to whether it takes statements.
    pub fn wait_until_ready_is(node: &MariaDb, expected: &str) -> Result<(), Error> {
        let target = resolve(
            &node.url_for("root", ""),
            &Environment::without_home("root"),
        );
        let target = target.map_err(|error| Error::of("its address", error))?;
        let started = Instant::now();
        let ready = "select variable_value from information_schema.global_status where variable_name = 'wsrep_ready'";
        loop {
            let value =
                Control::connect(&target).and_then(|mut control| control.query_value(ready));
            match value {
                Ok(Some(value)) if value == expected => return Ok(()),
                other if started.elapsed() > START_TIMEOUT => {
                    let problem = format!("{other:?}");
                    return Err(Error::of("wsrep_ready of the node", problem));
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// The first of some free ports in a row.
fn free_ports() -> u16 {
    loop {
        let first = free_port().unwrap_or(15_000);
        let mut ports = first..first + PORTS_PER_NODE;
        if ports.all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return first;
        }
    }
}
