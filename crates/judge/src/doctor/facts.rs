//! What is known of a machine and a server before a load. `None` and empty lists: the system does not report it.

use prony_store::{ConnectionLimit, CpuFrequency, Product, Service, SqlDialect};

/// The load for which machine and server are examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntendedLoad {
    pub clients: u32,
    pub threads: u32,
    /// Whether each client has a second connection, to a server for reads.
    pub has_read_server: bool,
}

impl IntendedLoad {
    pub(super) fn connections(self) -> u64 {
        u64::from(self.clients) * (1 + u64::from(self.has_read_server))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineFacts {
    /// Hard limit on open files of a process, to which Prony raises its soft limit; `u64::MAX`: unlimited.
    pub open_files: Option<u64>,
    /// Highest value that any limit on open files may have (`fs.nr_open`).
    pub open_files_max: Option<u64>,
    /// First and last port of outgoing connections.
    pub port_range: Option<(u16, u16)>,
    /// Number of ports in that range that are reserved.
    pub reserved_ports: u32,
    /// Closed connections whose ports are still in use (`TIME_WAIT`).
    pub connections_in_time_wait: Option<u32>,
    /// Limit on locked memory of a process, bytes; `u64::MAX`: unlimited.
    pub locked_memory_bytes: Option<u64>,
    /// Whether this process may lock memory without limit (`CAP_IPC_LOCK`).
    pub may_lock_memory: bool,
    /// Kernel release, such as `6.1.0-13-amd64`.
    pub kernel: Option<String>,
    /// Why io_uring cannot be used; absent if it can.
    pub io_uring_problem: Option<String>,
    /// `kernel.io_uring_disabled`: 0 allows it to all processes.
    pub io_uring_disabled: Option<u32>,
    pub cpu_frequency: Option<CpuFrequency>,
    /// The CPUs that this process may use.
    pub cpus: Vec<u32>,
    /// The number of cores that these CPUs belong to.
    pub cores: Option<u32>,
    /// The NUMA nodes in ascending order: their number and their CPUs.
    pub numa_nodes: Vec<(u32, Vec<u32>)>,
    /// The limits of this process's control group.
    pub cgroup: CgroupLimits,
    /// Memory available to programs, bytes.
    pub memory_available_bytes: Option<u64>,
    /// Space for swapped memory, and the part of it in use, bytes.
    pub swap_bytes: Option<(u64, u64)>,
    /// What the machine did while it was watched; absent if it was not.
    pub usage: Option<IdleUsage>,
    /// The kernel's clock source, such as `tsc`.
    pub clock_source: Option<String>,
    pub available_clock_sources: Vec<String>,
    /// By how much the kernel may delay timers of a thread that does not ask for precise ones, nanoseconds.
    pub timer_slack_ns: Option<u64>,
    /// Median lateness of precise timers, nanoseconds.
    pub timer_lateness_ns: Option<u64>,
    /// The network interfaces without the loopback interface.
    pub interfaces: Vec<NetworkInterface>,
    /// The name of the interface that leads to the server, or of the default route; `lo` if the server is on this
    /// machine.
    pub route_interface: Option<String>,
    /// Whether the server's address is one of this machine's, but its process was not found here: it may be behind
    /// a tunnel.
    pub may_be_tunnelled: bool,
    /// Whether the program `irqbalance` runs.
    pub irqbalance_runs: bool,
    pub tcp: TcpSettings,
    pub clock_is_synchronised: Option<bool>,
}

/// The limits of a control group and of those above it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupLimits {
    /// Whether the limits could be read; if not, the other fields say nothing.
    pub is_known: bool,
    /// CPU time per time, in CPUs; `None`: unlimited.
    pub cpus: Option<f64>,
    /// The file that sets this limit.
    pub cpu_file: String,
    /// Memory, bytes; `None`: unlimited.
    pub memory_bytes: Option<u64>,
    /// Memory that the group with that limit uses, without file pages that the kernel drops if it needs memory,
    /// bytes.
    pub memory_used_bytes: u64,
    /// The file that sets this limit; empty if there is none.
    pub memory_file: String,
}

/// Use of the machine over a time without load. Shares are 0 to 1, of all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleUsage {
    /// Length of that time, seconds.
    pub seconds: f64,
    pub busy_share: Option<f64>,
    /// Share of CPU time taken by the hypervisor.
    pub steal_share: Option<f64>,
    pub swapped_bytes: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkInterface {
    pub name: String,
    /// Whether a device is behind it.
    pub has_device: bool,
    /// Names of the interfaces below it, such as those of a bond, a bridge or a VLAN.
    pub lower: Vec<String>,
    /// Largest packet, bytes.
    pub mtu: Option<u32>,
    pub receive_queues: u32,
    /// The CPUs to which receive packet steering (RPS) spreads the packets of the queues together.
    pub rps_cpus: Vec<u32>,
    pub interrupt_cpus: Vec<u32>,
    pub numa_node: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpSettings {
    /// `tcp_window_scaling`.
    pub window_scaling: Option<bool>,
    /// `tcp_sack`.
    pub selective_acknowledgements: Option<bool>,
    /// Largest receive buffer, bytes (`tcp_rmem`).
    pub receive_buffer_max_bytes: Option<u64>,
    /// Largest send buffer, bytes (`tcp_wmem`).
    pub send_buffer_max_bytes: Option<u64>,
    /// Most connections that a server here has not accepted yet (`net.core.somaxconn`).
    pub accept_queue_max: Option<u32>,
    /// `tcp_congestion_control`.
    pub congestion_control: Option<String>,
}

/// The server, and the way to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatabaseFacts {
    pub product: Option<Product>,
    /// The service or derived product that answers as this product.
    pub service: Option<Service>,
    pub version: String,
    pub is_debug_build: bool,
    pub tls: Option<String>,
    /// Whether the connection leaves this machine.
    pub is_remote: bool,
    /// Whether the server runs on this machine.
    pub same_machine: Option<bool>,
    /// How [`same_machine`](Self::same_machine) is known, as a sentence without a full stop.
    pub same_machine_because: String,
    /// Round trips of an empty statement, nanoseconds, ascending.
    pub round_trips_ns: Vec<u64>,
    /// `max_connections`, or the equivalent.
    pub max_connections: Option<u64>,
    /// How many of these this user may not use.
    pub reserved_connections: u64,
    /// Connections of other clients.
    pub connections: Option<u32>,
    /// Limits on connections of the role, the database or the account, which are narrower than that of the server.
    pub narrower_limits: Vec<ConnectionLimit>,
    /// The user as whom the clients log in.
    pub user: String,
    /// The host in the name of the account (MySQL, MariaDB); `None` if it is not known.
    pub account_host: Option<String>,
    /// What this user may not observe, with the server's reason.
    pub not_observed: Vec<(String, String)>,
    /// Size of the database, bytes.
    pub database_bytes: Option<u64>,
    /// Size of the server's page cache, bytes.
    pub cache_bytes: Option<u64>,
    /// Memory of its machine, bytes.
    pub memory_bytes: Option<u64>,
    /// What a probe of its storage measured; absent if none was requested.
    pub storage: Option<StorageProbe>,
}

/// The storage of a server, measured over SQL. Each part has its times, or why it could not be measured.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageProbe {
    /// Times of durable commits of single rows, nanoseconds, ascending.
    pub commits_ns: Result<Vec<u64>, String>,
    /// Why these commits were not durable; absent if they were.
    pub not_durable: Option<String>,
    /// A scan of consecutive pages.
    pub sequential: Result<ReadProbe, String>,
    /// Single pages in random order.
    pub random: Result<ReadProbe, String>,
    /// Why the table of the probe could not be dropped, with its name; absent if it was.
    pub left_behind: Option<String>,
}

impl Default for StorageProbe {
    fn default() -> StorageProbe {
        let not_tried = || "it was not tried".to_owned();
        StorageProbe {
            commits_ns: Err(not_tried()),
            not_durable: None,
            sequential: Err(not_tried()),
            random: Err(not_tried()),
            left_behind: None,
        }
    }
}

/// Reads of pages that were not in the server's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadProbe {
    pub table: String,
    /// Bytes that came from outside of the server's cache.
    pub bytes: u64,
    /// Times of the reads, nanoseconds, ascending: one for a scan, one for each page of a random read.
    pub times_ns: Vec<u64>,
    /// Whether the server timed its reads; otherwise the client timed the statements.
    pub is_timed_by_server: bool,
}

impl DatabaseFacts {
    /// The name of its product, and of the service that it is part of, as in results; empty if unknown.
    pub fn product_name(&self) -> String {
        prony_store::product_name(self.product, self.service)
    }

    /// The SQL that the server understands; absent if unknown.
    pub fn dialect(&self) -> Option<SqlDialect> {
        self.product.map(|product| product.dialect)
    }
}
