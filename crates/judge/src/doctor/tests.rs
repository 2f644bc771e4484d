//! A fit machine and server have no findings beyond `ok`; each bad setting has one.

use super::*;
use prony_assertions::TextAssertions;
use prony_store::{CpuFrequency, Product};

mod remedies;

const LOAD: IntendedLoad = IntendedLoad {
    clients: 64,
    threads: 2,
    has_read_server: false,
};

fn fit_machine() -> MachineFacts {
    MachineFacts {
        open_files: Some(524_288),
        open_files_max: Some(1_048_576),
        port_range: Some((32_768, 60_999)),
        locked_memory_bytes: Some(8 << 20),
        kernel: Some("6.1.0-13-amd64".to_owned()),
        cpu_frequency: Some(CpuFrequency {
            driver: "intel_pstate".to_owned(),
            governor: "performance".to_owned(),
            limit_mhz: Some(3000),
            max_mhz: Some(3000),
        }),
        cpus: (0..8).collect(),
        cores: Some(8),
        numa_nodes: vec![(0, (0..8).collect())],
        cgroup: CgroupLimits {
            is_known: true,
            ..CgroupLimits::default()
        },
        memory_available_bytes: Some(16 << 30),
        swap_bytes: Some((0, 0)),
        usage: Some(IdleUsage {
            seconds: 10.0,
            busy_share: Some(0.01),
            steal_share: Some(0.0),
            swapped_bytes: Some(0),
        }),
        clock_source: Some("tsc".to_owned()),
        timer_slack_ns: Some(50_000),
        timer_lateness_ns: Some(60_000),
        interfaces: vec![NetworkInterface {
            name: "eth0".to_owned(),
            has_device: true,
            mtu: Some(1500),
            receive_queues: 8,
            interrupt_cpus: (0..8).collect(),
            ..NetworkInterface::default()
        }],
        route_interface: Some("eth0".to_owned()),
        tcp: TcpSettings {
            window_scaling: Some(true),
            selective_acknowledgements: Some(true),
            receive_buffer_max_bytes: Some(6_291_456),
            send_buffer_max_bytes: Some(4_194_304),
            accept_queue_max: Some(4096),
            congestion_control: Some("cubic".to_owned()),
        },
        clock_is_synchronised: Some(true),
        ..MachineFacts::default()
    }
}

fn fit_server() -> DatabaseFacts {
    DatabaseFacts {
        product: Some(Product::POSTGRESQL),
        version: "17.2 (Debian 17.2-1)".to_owned(),
        tls: Some("TLSv1.3 TLS_AES_256_GCM_SHA384".to_owned()),
        is_remote: true,
        same_machine: Some(false),
        same_machine_because: "the server's address is not one of this machine's".to_owned(),
        round_trips_ns: (200_000..200_200).collect(),
        max_connections: Some(100),
        reserved_connections: 3,
        connections: Some(1),
        user: "bench".to_owned(),
        database_bytes: Some(1 << 30),
        cache_bytes: Some(4 << 30),
        ..DatabaseFacts::default()
    }
}

fn states(report: &DoctorReport) -> Vec<(&str, DoctorState)> {
    let findings = report.findings.iter();
    findings
        .filter(|finding| finding.state != DoctorState::Ok)
        .map(|finding| (finding.id.as_str(), finding.state))
        .collect()
}

/// The findings beyond `ok` of a machine that is fit but for a change.
fn changed(change: impl FnOnce(&mut MachineFacts)) -> DoctorReport {
    let mut machine = fit_machine();
    change(&mut machine);
    examine(&machine, None, LOAD)
}

/// The same for the server.
fn changed_server(change: impl FnOnce(&mut DatabaseFacts)) -> DoctorReport {
    let mut server = fit_server();
    change(&mut server);
    examine(&fit_machine(), Some(&server), LOAD)
}

#[track_caller]
fn assert_one(report: &DoctorReport, id: &str, state: DoctorState) {
    assert_eq!(states(report), [(id, state)]);
    let finding = report.findings.iter().find(|finding| finding.id == id);
    let finding = finding.unwrap();
    assert!(
        finding.command.is_some() || finding.advice.is_some(),
        "{id} has no remedy"
    );
    assert!(finding.reason.ends_with('.'), "{finding:?}");
}

#[test]
fn a_fit_machine_and_server_are_ok() {
    let report = examine(&fit_machine(), Some(&fit_server()), LOAD);
    assert_eq!(states(&report), []);
    assert_eq!(report.worst(), DoctorState::Ok);
    assert_eq!(report.findings.len(), 28);
}

#[test]
fn unknown_values_are_not_ok() {
    let report = examine(
        &MachineFacts {
            io_uring_problem: Some("not tried".to_owned()),
            ..MachineFacts::default()
        },
        Some(&DatabaseFacts::default()),
        LOAD,
    );
    let findings = report.findings.iter();
    let good = findings.filter(|finding| finding.state == DoctorState::Ok);
    let good: Vec<&str> = good.map(|finding| finding.id.as_str()).collect();
    // An empty list of what may not be observed.
    assert_eq!(good, ["observation"]);
}

#[test]
fn limits_below_the_load_are_found() {
    use DoctorState::{Bad, Caution};
    let report = changed(|machine| machine.open_files = Some(85));
    assert_one(&report, "open-files", Bad);
    let report = changed(|machine| machine.open_files = Some(86));
    assert_eq!(states(&report), []);
    // With a server for reads, each client has two connections.
    for (files, expected) in [(149, Bad), (150, DoctorState::Ok)] {
        let machine = MachineFacts {
            open_files: Some(files),
            ..fit_machine()
        };
        let load = IntendedLoad {
            has_read_server: true,
            ..LOAD
        };
        let report = examine(&machine, None, load);
        let mut findings = report.findings.iter();
        let found = findings.find(|found| found.id == "open-files");
        assert_eq!(found.map(|found| found.state), Some(expected), "{files}");
    }
    let report = changed(|machine| machine.port_range = Some((60_000, 60_062)));
    assert_one(&report, "ephemeral-ports", Bad);
    let report = changed(|machine| machine.port_range = Some((60_000, 60_200)));
    assert_one(&report, "ephemeral-ports", Caution);
    let report = changed(|machine| machine.locked_memory_bytes = Some(65_536));
    assert_one(&report, "locked-memory", Caution);
    let report = changed(|machine| {
        machine.locked_memory_bytes = Some(65_536);
        machine.may_lock_memory = true;
    });
    assert_eq!(states(&report), []);
    let limited = |cpus| {
        changed(|machine| {
            machine.cgroup.cpus = Some(cpus);
            machine.cgroup.cpu_file = "/sys/fs/cgroup/a/cpu.max".to_owned();
        })
    };
    assert_one(&limited(1.5), "cgroup-cpu", Bad);
    assert_one(&limited(4.0), "cgroup-cpu", Caution);
    assert_eq!(states(&limited(8.0)), []);
    let command = limited(1.5)
        .findings
        .into_iter()
        .find_map(|found| found.command);
    assert_eq!(
        command.as_deref(),
        Some("echo max > /sys/fs/cgroup/a/cpu.max")
    );
    let report = changed(|machine| {
        machine.cgroup.memory_bytes = Some(512 << 20);
        machine.cgroup.memory_used_bytes = 400 << 20;
    });
    assert_one(&report, "memory", Bad);
}

#[test]
fn slow_and_shared_cpus_are_found() {
    use DoctorState::{Bad, Caution};
    let governor = |governor: &str, driver: &str| {
        changed(|machine| {
            let frequency = machine.cpu_frequency.as_mut().unwrap();
            governor.clone_into(&mut frequency.governor);
            driver.clone_into(&mut frequency.driver);
        })
    };
    assert_one(&governor("powersave", "acpi-cpufreq"), "cpu-frequency", Bad);
    assert_one(
        &governor("schedutil", "acpi-cpufreq"),
        "cpu-frequency",
        Caution,
    );
    assert_one(&changed(|machine| machine.cores = Some(1)), "smt", Caution);
    assert_eq!(states(&changed(|machine| machine.cores = Some(4))), []);
    let report = changed(|machine| {
        machine.numa_nodes = vec![
            (0, vec![8, 9]),
            (2, vec![0, 1, 2, 3]),
            (10, vec![4, 5, 6, 7]),
        ];
        machine.interfaces[0].numa_node = Some(0);
    });
    assert_one(&report, "numa", Caution);
    let mut findings = report.findings.iter();
    let advice = findings.find_map(|found| found.advice.clone());
    let advice = advice.unwrap();
    assert!(
        advice.contains("--cpunodebind=2 "),
        "node 0 has no allowed CPU: {advice}"
    );
    let report =
        changed(|machine| machine.numa_nodes = vec![(0, (0..8).collect()), (1, vec![8, 9])]);
    assert_eq!(
        states(&report),
        [],
        "this process may not use the other node"
    );
    let usage = |steal, busy| {
        changed(|machine| {
            let usage = machine.usage.as_mut().unwrap();
            (usage.steal_share, usage.busy_share) = (Some(steal), Some(busy));
        })
    };
    assert_one(&usage(0.02, 0.0), "steal", Caution);
    assert_one(&usage(0.12, 0.0), "steal", Bad);
    assert_one(&usage(0.0, 0.2), "other-load", Caution);
    assert_one(&usage(0.0, 0.6), "other-load", Bad);
    let timer = |ns| changed(|machine| machine.timer_lateness_ns = Some(ns));
    assert_one(&timer(400_000), "timer", Caution);
    assert_one(&timer(3_000_000), "timer", Bad);
    let report = changed(|machine| {
        machine.clock_source = Some("hpet".to_owned());
        machine.available_clock_sources = vec!["hpet".to_owned(), "tsc".to_owned()];
    });
    assert_one(&report, "clock-source", Caution);
    assert_one(
        &changed(|machine| machine.kernel = Some("5.15.0-91-generic".to_owned())),
        "kernel",
        Caution,
    );
    let report = changed(|machine| {
        machine.io_uring_problem = Some("io_uring is not permitted here".to_owned());
        machine.io_uring_disabled = Some(2);
    });
    assert_one(&report, "io-uring", Caution);
}

#[test]
fn receive_queues_are_compared_with_the_cpus() {
    use DoctorState::{Bad, Caution};
    let queues = |queues, rps: &[u32]| {
        changed(|machine| {
            machine.interfaces[0].receive_queues = queues;
            machine.interfaces[0].rps_cpus = rps.to_vec();
        })
    };
    assert_one(&queues(1, &[]), "receive-queues", Bad);
    assert_one(&queues(2, &[]), "receive-queues", Caution);
    assert_eq!(states(&queues(4, &[])), []);
    assert_one(&queues(8, &[0, 1]), "receive-queues", Caution);
    assert_eq!(states(&queues(1, &(0..8).collect::<Vec<_>>())), []);
    // CPUs of the mask that do not exist do not count.
    assert_one(
        &queues(1, &[0, 1, 30, 31, 32, 33]),
        "receive-queues",
        Caution,
    );
    let report = queues(1, &[]);
    let mut findings = report.findings.iter();
    let command = findings.find_map(|found| found.command.clone());
    let command = command.unwrap();
    command.assert_contains("/sys/class/net/eth0/queues/rx-*; do echo ff >");
    assert_eq!(
        network::cpu_mask(&(0..40).collect::<Vec<_>>()),
        "ff,ffffffff"
    );
    assert_eq!(network::cpu_mask(&[32]), "1,00000000");
    assert_eq!(network::cpu_mask(&[]), "0");
}

#[test]
fn network_settings_are_found_only_on_the_route() {
    use DoctorState::{Bad, Caution};
    let mtu = |mtu| changed(|machine| machine.interfaces[0].mtu = Some(mtu));
    assert_one(&mtu(1399), "mtu", Caution);
    assert_one(&mtu(600), "mtu", Bad);
    assert_eq!(states(&mtu(9000)), []);
    assert_eq!(states(&mtu(1460)), [], "as in Google Cloud");
    let report = changed(|machine| machine.interfaces[0].interrupt_cpus = vec![0]);
    assert_one(&report, "irq-balance", Caution);
    let report = changed(|machine| {
        machine.tcp.window_scaling = Some(false);
        machine.tcp.receive_buffer_max_bytes = Some(65_536);
    });
    assert_one(&report, "tcp", Caution);
    let mut findings = report.findings.iter();
    let tcp = findings.find(|found| found.id == "tcp").unwrap();
    assert_eq!(tcp.command.as_deref().unwrap().lines().count(), 2);
    let report = changed(|machine| {
        machine.interfaces[0].mtu = Some(600);
        machine.route_interface = Some("lo".to_owned());
    });
    assert_eq!(states(&report), [], "the interface is not used");
}

#[test]
fn swap_and_clock_are_found() {
    use DoctorState::{Bad, Caution};
    let swap = |used: u64, swapped| {
        changed(|machine| {
            machine.swap_bytes = Some((32 << 30, used));
            machine.usage.as_mut().unwrap().swapped_bytes = Some(swapped);
        })
    };
    let command = |report: &DoctorReport| report.findings.iter().find_map(|f| f.command.clone());
    assert_eq!(states(&swap(1 << 20, 0)), []);
    assert_one(&swap(1 << 30, 0), "swap", Caution);
    assert_eq!(command(&swap(1 << 30, 0)).as_deref(), Some("swapoff -a"));
    let full = command(&swap(12 << 30, 0));
    assert_eq!(full.as_deref(), Some("sysctl -w vm.swappiness=1"));
    assert_one(&swap(1 << 20, 100 << 20), "swap", Bad);
    let report = changed(|machine| machine.clock_is_synchronised = Some(false));
    assert_one(&report, "time-sync", Caution);
}

#[test]
fn a_server_that_is_not_fit_is_found() {
    use DoctorState::{Bad, Caution};
    let report = changed_server(|server| server.connections = Some(31));
    assert_one(&report, "max-connections", Bad);
    let findings = report.findings.iter();
    let of_server = findings.filter(|f| f.subject == DoctorSubject::Server);
    assert_eq!(of_server.count(), 7);
    let report = changed_server(|server| server.connections = Some(30));
    assert_eq!(states(&report), []);
    assert_one(&changed_server(|server| server.tls = None), "tls", Caution);
    let report = changed_server(|server| server.is_debug_build = true);
    assert_one(&report, "server-version", Bad);
    let report = changed_server(|server| server.version = "18beta1".to_owned());
    assert_one(&report, "server-version", Caution);
    let report = changed_server(|server| {
        server.service = Some(prony_store::Service::Yugabyte);
    });
    let mut findings = report.findings.iter();
    let version = findings.find(|finding| finding.id == "server-version");
    version
        .unwrap()
        .value
        .assert_starts_with("YugabyteDB (as PostgreSQL) 17.2");
    let report = changed_server(|server| server.same_machine = Some(true));
    assert_one(&report, "server-location", Caution);
    let distance = |ns: u64| changed_server(|server| server.round_trips_ns = vec![ns; 200]);
    assert_one(&distance(1_000_000), "server-location", Caution);
    assert_one(&distance(20_000_000), "server-location", Bad);
    let report = changed_server(|server| {
        server.round_trips_ns = vec![200_000; 197];
        server.round_trips_ns.extend([5_000_000; 3]);
    });
    assert_one(&report, "round-trip", Caution);
    let report = changed_server(|server| server.round_trips_ns = vec![200_000; 99]);
    assert_eq!(states(&report), [("round-trip", DoctorState::Unknown)]);
    let report = changed_server(|server| {
        server.memory_bytes = Some(100 << 30);
        server.database_bytes = Some(10 << 30);
    });
    assert_one(&report, "data-size", Caution);
}
