//! Folders in the form of `/proc` and `/sys`, with bad settings.

use super::*;
use prony_assertions::TestFolder;
use prony_judge::doctor::CgroupLimits;
use prony_store::{CpuFrequency, DoctorState};

/// A folder in place of `/`.
struct FakeRoot(TestFolder);

impl FakeRoot {
    fn new(files: &[(&str, &str)]) -> FakeRoot {
        let root = FakeRoot(TestFolder::create());
        root.add(files);
        root
    }

    fn add(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            self.0.write(path, format!("{text}\n"));
        }
    }

    fn facts(&self, route: ServerRoute) -> MachineFacts {
        read_machine(&self.0, route)
    }
}

const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max open files            64                   80                   files
Max locked memory         65536                unlimited            bytes";

/// A machine with two cores of two CPUs each, whose settings are bad.
const BAD_MACHINE: [(&str, &str); 39] = [
    ("proc/self/limits", LIMITS),
    (
        "proc/self/status",
        "Name:\tprony\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-3",
    ),
    ("proc/self/cgroup", "0::/bench/client"),
    ("proc/self/timerslack_ns", "50000"),
    ("proc/sys/fs/nr_open", "1000"),
    ("proc/sys/kernel/osrelease", "5.10.0-8-cloud-amd64"),
    ("proc/sys/kernel/io_uring_disabled", "2"),
    (
        "proc/meminfo",
        "MemTotal: 4000000 kB\nMemAvailable: 100000 kB\nSwapTotal: 2000000 kB\nSwapFree: 500000 kB",
    ),
    ("proc/sys/net/ipv4/ip_local_port_range", "60000\t60100"),
    (
        "proc/sys/net/ipv4/ip_local_reserved_ports",
        "80,60000-60049",
    ),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t16384\t65536"),
    ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304"),
    ("proc/sys/net/ipv4/tcp_window_scaling", "0"),
    ("proc/sys/net/ipv4/tcp_sack", "1"),
    ("proc/sys/net/core/somaxconn", "128"),
    ("proc/sys/net/ipv4/tcp_congestion_control", "reno"),
    (
        "proc/net/sockstat",
        "sockets: used 9\nTCP: inuse 5 orphan 0 tw 37 alloc 6 mem 1\nUDP: inuse 1 mem 0",
    ),
    (
        "proc/net/route",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n\
         eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\n\
         eth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\n\
         tun0\t00000000\t00000000\t0003\t0\t0\t200\t00000000",
    ),
    (
        "proc/net/ipv6_route",
        "20010db8000000000000000000000000 20 00000000000000000000000000000000 00 \
         00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n\
         00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
         00000000000000000000000000000000 00000400 00000001 00000000 00000003 eth0",
    ),
    ("proc/irq/30/effective_affinity_list", "0"),
    ("proc/irq/31/effective_affinity_list", "0"),
    ("proc/77/comm", "irqbalance"),
    ("sys/class/net/eth0/mtu", "1200"),
    ("sys/class/net/eth0/device/msi_irqs/30", "msix"),
    ("sys/class/net/eth0/device/msi_irqs/31", "msix"),
    ("sys/class/net/eth0/device/numa_node", "-1"),
    (
        "sys/class/net/eth0/queues/rx-0/rps_cpus",
        "00000000,00000002",
    ),
    ("sys/class/net/eth0/queues/rx-1/rps_cpus", "0"),
    ("sys/class/net/eth0/queues/tx-0/xps_cpus", "0"),
    ("sys/class/net/lo/mtu", "65536"),
    ("sys/fs/cgroup/cgroup.controllers", "cpu memory"),
    ("sys/fs/cgroup/bench/cpu.max", "150000 100000"),
    ("sys/fs/cgroup/bench/client/cpu.max", "max 100000"),
    ("sys/fs/cgroup/bench/client/memory.max", "100000000"),
    ("sys/fs/cgroup/bench/client/memory.current", "90000000"),
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "acpi_pm",
    ),
    (
        "sys/devices/system/clocksource/clocksource0/available_clocksource",
        "tsc acpi_pm",
    ),
    ("sys/devices/system/node/node0/cpulist", "0-1"),
    ("sys/devices/system/node/node1/cpulist", "2-3"),
];

fn bad_machine() -> FakeRoot {
    let root = FakeRoot::new(&BAD_MACHINE);
    for (cpu, siblings) in ["0,2", "1,3", "0,2", "1,3"].into_iter().enumerate() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        root.add(&[
            (
                &*format!("{folder}/topology/thread_siblings_list"),
                siblings,
            ),
            (&*format!("{folder}/cpufreq/scaling_governor"), "powersave"),
            (&*format!("{folder}/cpufreq/scaling_driver"), "acpi-cpufreq"),
        ]);
    }
    root
}

#[test]
fn settings_are_read_from_the_files() {
    let facts = bad_machine().facts(ServerRoute::Unknown);
    assert_eq!(
        (facts.open_files, facts.open_files_max),
        (Some(80), Some(1000))
    );
    assert_eq!(facts.locked_memory_bytes, Some(65_536));
    assert!(!facts.may_lock_memory && facts.irqbalance_runs);
    assert_eq!(facts.cpus, [0, 1, 2, 3]);
    assert_eq!((facts.cores, facts.numa_nodes.len()), (Some(2), 2));
    assert_eq!(
        (facts.port_range, facts.reserved_ports),
        (Some((60_000, 60_100)), 50)
    );
    assert_eq!(facts.connections_in_time_wait, Some(37));
    assert_eq!(facts.swap_bytes, Some((2_048_000_000, 1_536_000_000)));
    assert_eq!(
        facts.cpu_frequency,
        Some(CpuFrequency {
            driver: "acpi-cpufreq".to_owned(),
            governor: "powersave".to_owned(),
            limit_mhz: None,
            max_mhz: None,
        })
    );
    assert_eq!(
        facts.cgroup,
        CgroupLimits {
            is_known: true,
            cpus: Some(1.5),
            cpu_file: "/sys/fs/cgroup/bench/cpu.max".to_owned(),
            memory_bytes: Some(100_000_000),
            memory_used_bytes: 90_000_000,
            memory_file: "/sys/fs/cgroup/bench/client/memory.max".to_owned(),
        }
    );
    assert_eq!(facts.interfaces.len(), 1, "{:?}", facts.interfaces);
    let eth0 = &facts.interfaces[0];
    assert_eq!((eth0.receive_queues, &*eth0.rps_cpus), (2, &[1][..]));
    assert_eq!(eth0.interrupt_cpus, [0]);
    assert_eq!(
        (eth0.mtu, eth0.numa_node, eth0.has_device),
        (Some(1200), None, true)
    );
}

#[test]
fn every_bad_setting_is_found_with_a_remedy() {
    let facts = bad_machine().facts(ServerRoute::Unknown);
    let load = DoctorLoad {
        clients: 64,
        threads: 3,
        has_read_server: false,
    };
    let report = judge_facts(&facts, None, load);
    let found: Vec<(&str, &str)> = report
        .findings
        .iter()
        .inspect(|found| {
            let has_remedy = found.command.is_some() || found.advice.is_some();
            assert_eq!(has_remedy, found.state >= DoctorState::Caution, "{found:?}");
        })
        .map(|found| (found.id.as_str(), found.state.name()))
        .collect();
    let expected = [
        ("open-files", "bad"),
        ("ephemeral-ports", "bad"),
        ("locked-memory", "caution"),
        ("cgroup-cpu", "bad"),
        ("memory", "bad"),
        ("kernel", "caution"),
        ("io-uring", "ok"),
        ("cpu-frequency", "bad"),
        ("smt", "caution"),
        ("numa", "caution"),
        ("steal", "unknown"),
        ("other-load", "unknown"),
        ("timer", "unknown"),
        ("clock-source", "caution"),
        ("receive-queues", "caution"),
        ("irq-balance", "caution"),
        ("mtu", "bad"),
        ("tcp", "caution"),
        ("accept-queue", "ok"),
        ("swap", "caution"),
        ("time-sync", "unknown"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_interface_of_the_most_specific_route_is_found() {
    let root = bad_machine();
    let interface = |address: &str| {
        let address = address.parse().unwrap();
        root.facts(ServerRoute::Remote(address)).route_interface
    };
    assert_eq!(interface("10.1.2.3:5432").as_deref(), Some("eth1"));
    assert_eq!(interface("192.0.2.7:5432").as_deref(), Some("eth0"));
    assert_eq!(interface("[2001:db8::7]:5432").as_deref(), Some("eth1"));
    assert_eq!(interface("[2001:db9::7]:5432").as_deref(), Some("eth0"));
    assert_eq!(interface("[::ffff:10.1.2.3]:5432").as_deref(), Some("eth1"));
    let default = root.facts(ServerRoute::Unknown).route_interface;
    assert_eq!(default.as_deref(), Some("eth0"), "the lowest metric");
    let local = root.facts(ServerRoute::Local).route_interface;
    assert_eq!(local.as_deref(), Some("lo"));
}

#[test]
fn limits_of_control_groups_of_version_1_are_read() {
    let root = FakeRoot::new(&[
        (
            "proc/self/cgroup",
            "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n0::/docker/x",
        ),
        ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000"),
        ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        (
            "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
            "9223372036854771712",
        ),
    ]);
    let cgroup = root.facts(ServerRoute::Unknown).cgroup;
    assert!(cgroup.is_known);
    assert_eq!((cgroup.cpus, cgroup.memory_bytes), (Some(2.0), None));
    assert_eq!(cgroup.cpu_file, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    root.add(&[
        ("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "50000"),
        ("sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000"),
        (
            "sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
            "1000000",
        ),
        (
            "sys/fs/cgroup/memory/docker/memory.usage_in_bytes",
            "900000",
        ),
        (
            "sys/fs/cgroup/memory/docker/memory.stat",
            "inactive_file 7\ntotal_inactive_file 600000",
        ),
    ]);
    let cgroup = root.facts(ServerRoute::Unknown).cgroup;
    assert_eq!(cgroup.cpus, Some(0.5), "of the group between");
    let memory = (cgroup.memory_bytes, cgroup.memory_used_bytes);
    assert_eq!(memory, (Some(1_000_000), 300_000));
}

#[test]
fn file_pages_that_can_be_dropped_are_not_used_memory() {
    let root = bad_machine();
    let file = "sys/fs/cgroup/bench/client/memory.stat";
    root.add(&[(file, "anon 1000\nactive_file 5\ninactive_file 80000000")]);
    let cgroup = root.facts(ServerRoute::Unknown).cgroup;
    assert_eq!(cgroup.memory_used_bytes, 10_000_000);
}

#[test]
fn limits_of_a_control_group_outside_the_namespace_are_not_known() {
    let is_known = |path: &str| {
        let root = bad_machine();
        root.add(&[("proc/self/cgroup", path)]);
        root.facts(ServerRoute::Unknown).cgroup.is_known
    };
    assert!(is_known("0::/bench"));
    assert!(!is_known("0::/elsewhere"));
    assert!(!is_known("0::/../bench"));
}

#[test]
fn capabilities_in_a_user_namespace_do_not_lift_limits() {
    let may_lock = |map: &str| {
        let root = bad_machine();
        root.add(&[
            ("proc/self/status", "CapEff:\t000001ffffffffff"),
            ("proc/self/uid_map", map),
        ]);
        root.facts(ServerRoute::Unknown).may_lock_memory
    };
    assert!(may_lock("         0          0 4294967295"));
    assert!(!may_lock("         0       1000          1"));
}

#[test]
fn numa_nodes_keep_their_numbers() {
    let root = bad_machine();
    root.add(&[("sys/devices/system/node/node10/cpulist", "4-5")]);
    let nodes = root.facts(ServerRoute::Unknown).numa_nodes;
    let numbers: Vec<u32> = nodes.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1, 10]);
    assert_eq!(nodes[2].1, [4, 5]);
}

#[test]
fn interfaces_below_an_interface_are_read() {
    let root = bad_machine();
    root.add(&[
        ("sys/class/net/bond0/mtu", "1500"),
        ("sys/class/net/bond0/lower_eth0/mtu", "1500"),
    ]);
    let facts = root.facts(ServerRoute::OwnAddress);
    let bond = facts.interfaces.iter().find(|found| found.name == "bond0");
    assert_eq!(bond.unwrap().lower, ["eth0"]);
    assert!(!bond.unwrap().has_device && facts.may_be_tunnelled);
}

#[test]
fn a_machine_without_these_files_is_unknown() {
    let facts = FakeRoot::new(&[("x", "")]).facts(ServerRoute::Unknown);
    assert_eq!(facts.open_files, None);
    assert!(!facts.cgroup.is_known && facts.interfaces.is_empty());
}

#[test]
fn this_machine_is_examined() {
    let options = DoctorOptions {
        load: DoctorLoad {
            clients: 8,
            threads: 1,
            has_read_server: false,
        },
        watch: Duration::from_millis(300),
        probe_storage: false,
    };
    let report = examine(None, options).unwrap();
    let is_known = |id: &str| {
        let finding = report.findings.iter().find(|found| found.id == id);
        finding.unwrap().state != DoctorState::Unknown
    };
    for id in [
        "open-files",
        "kernel",
        "steal",
        "timer",
        "memory",
        "io-uring",
    ] {
        assert!(is_known(id), "{id}: {report:?}");
    }
}
