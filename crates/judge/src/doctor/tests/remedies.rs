//! Commands that are safe to run, and values that are not known.

use super::*;
use prony_assertions::TextAssertions;
use prony_plan::shell_word;
use prony_store::{ConnectionLimit, LimitOwner, Product};

fn command(report: &DoctorReport, id: &str) -> Option<String> {
    let mut findings = report.findings.iter();
    findings.find(|found| found.id == id)?.command.clone()
}

fn state(report: &DoctorReport, id: &str) -> DoctorState {
    let mut findings = report.findings.iter();
    findings.find(|found| found.id == id).unwrap().state
}

#[test]
fn paths_and_names_are_quoted_for_the_shell() {
    assert_eq!(
        shell_word("/sys/fs/cgroup/a-b.slice"),
        "/sys/fs/cgroup/a-b.slice"
    );
    assert_eq!(shell_word(""), "''");
    let name = "x$(id) \\x2d'";
    let quoted = "'x$(id) \\x2d'\\'''";
    assert_eq!(shell_word(name), quoted);
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("printf %s {quoted}")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), name);
    let report = changed(|machine| {
        machine.cgroup.cpus = Some(0.5);
        machine.cgroup.cpu_file = name.to_owned();
        machine.cgroup.memory_bytes = Some(1 << 20);
        machine.cgroup.memory_file = name.to_owned();
        machine.interfaces[0].name = name.to_owned();
        machine.interfaces[0].mtu = Some(600);
        machine.interfaces[0].receive_queues = 1;
        machine.route_interface = Some(name.to_owned());
    });
    for id in ["cgroup-cpu", "memory", "receive-queues", "mtu"] {
        let command = command(&report, id).unwrap();
        assert!(command.contains(quoted), "{id}: {command}");
    }
}

#[test]
fn the_range_of_ports_never_shrinks() {
    let ports = |range| {
        let load = IntendedLoad {
            clients: 100_000,
            ..LOAD
        };
        let machine = MachineFacts {
            port_range: Some(range),
            ..fit_machine()
        };
        let report = examine(&machine, None, load);
        assert_eq!(state(&report, "ephemeral-ports"), DoctorState::Bad);
        command(&report, "ephemeral-ports")
    };
    let wide = |range: &str| Some(format!("sysctl -w net.ipv4.ip_local_port_range='{range}'"));
    assert_eq!(ports((32_768, 60_999)), wide("10240 65535"));
    assert_eq!(ports((1024, 60_999)), wide("1024 65535"));
    assert_eq!(ports((1024, 65_535)), None);
}

#[test]
fn prereleases_are_told_from_other_words() {
    let state = |version: &str| {
        let report = changed_server(|server| version.clone_into(&mut server.version));
        state(&report, "server-version")
    };
    for version in [
        "17rc1",
        "18beta2",
        "19devel",
        "9.0.0-rc",
        "8.0.3-rc-log",
        "11.0.0-preview",
    ] {
        assert_eq!(state(version), DoctorState::Caution, "{version}");
    }
    for version in [
        "8.0.36-commercial",
        "17.2",
        "11.4.2-MariaDB-archive",
        "16.4 (rc1)",
    ] {
        assert_eq!(state(version), DoctorState::Ok, "{version}");
    }
}

#[test]
fn connections_that_may_not_be_counted_are_unknown() {
    let unread = |max| {
        let report = changed_server(|server| {
            server.connections = None;
            server.max_connections = Some(max);
        });
        state(&report, "max-connections")
    };
    assert_eq!(unread(1000), DoctorState::Unknown);
    assert_eq!(unread(60), DoctorState::Bad, "too few even if all are free");
}

#[test]
fn the_queue_of_a_server_on_this_machine_must_hold_all_clients() {
    let report = |interface: &str, max| {
        changed(|machine| {
            machine.route_interface = Some(interface.to_owned());
            machine.tcp.accept_queue_max = max;
        })
    };
    let short = report("lo", Some(LOAD.clients - 1));
    assert_eq!(state(&short, "accept-queue"), DoctorState::Caution);
    let command = command(&short, "accept-queue").unwrap();
    assert_eq!(command, "sysctl -w net.core.somaxconn=4096");
    for (report, expected) in [
        (report("lo", Some(LOAD.clients)), DoctorState::Ok),
        (report("eth0", Some(1)), DoctorState::Ok),
        (report("lo", None), DoctorState::Unknown),
    ] {
        assert_eq!(state(&report, "accept-queue"), expected);
    }
}

#[test]
fn the_narrowest_limit_on_connections_counts() {
    // LOAD has fewer clients than max_connections of the fit server.
    let report = |engine, owner: LimitOwner, limit: u64| {
        changed_server(|server| {
            server.product = Some(engine);
            server.account_host = Some("10.%".to_owned());
            server.narrower_limits = vec![
                ConnectionLimit {
                    owner,
                    limit,
                    in_use: 2,
                },
                ConnectionLimit {
                    owner: LimitOwner::Database("roomy".to_owned()),
                    limit: 10_000,
                    in_use: 0,
                },
            ];
        })
    };
    let needed = u64::from(LOAD.clients) + 3;
    for (engine, owner, start) in [
        (
            Product::POSTGRESQL,
            LimitOwner::Role,
            "psql -c 'ALTER ROLE \"bench\" CONNECTION",
        ),
        (
            Product::POSTGRESQL,
            LimitOwner::Database("small".to_owned()),
            "psql -c 'ALTER DATABASE \"small\" CONNECTION",
        ),
        (
            Product::MARIADB,
            LimitOwner::Account,
            "mysql -e \"ALTER USER 'bench'@'10.%' WITH MAX_USER_CONNECTIONS 0",
        ),
        (
            Product::MYSQL,
            LimitOwner::EachAccount,
            "mysql -e 'SET GLOBAL max_user_connections = 0'",
        ),
    ] {
        let enough = report(engine, owner.clone(), needed + 2);
        assert_eq!(state(&enough, "max-connections"), DoctorState::Ok);
        let short = report(engine, owner, needed + 1);
        assert_eq!(state(&short, "max-connections"), DoctorState::Bad);
        let command = command(&short, "max-connections").unwrap();
        command.assert_starts_with(start);
    }
}

#[test]
fn an_interface_without_a_device_is_judged_by_those_below_it() {
    let bond = |change: fn(&mut MachineFacts)| {
        changed(|machine| {
            machine.interfaces[0].receive_queues = 1;
            for (name, lower) in [("bond0", "eth0"), ("bond0.7", "bond0")] {
                machine.interfaces.push(NetworkInterface {
                    name: name.to_owned(),
                    lower: vec![lower.to_owned()],
                    mtu: Some(600),
                    receive_queues: 16,
                    ..NetworkInterface::default()
                });
            }
            machine.route_interface = Some("bond0.7".to_owned());
            change(machine);
        })
    };
    let report = bond(|_| {});
    let expected = [
        ("receive-queues", DoctorState::Bad),
        ("mtu", DoctorState::Bad),
    ];
    assert_eq!(states(&report), expected);
    command(&report, "receive-queues")
        .unwrap()
        .assert_contains("/net/eth0/");
    assert_eq!(command(&report, "mtu"), None, "there is no device to set");
    let report = bond(|machine| machine.interfaces[1].lower.clear());
    for id in ["receive-queues", "irq-balance"] {
        assert_eq!(state(&report, id), DoctorState::Unknown, "{id}");
    }
}

#[test]
fn a_server_behind_an_address_of_this_machine_is_not_assumed_to_be_here() {
    let machine = MachineFacts {
        route_interface: Some("lo".to_owned()),
        may_be_tunnelled: true,
        ..fit_machine()
    };
    let server = DatabaseFacts {
        is_remote: false,
        same_machine: None,
        tls: None,
        ..fit_server()
    };
    let report = examine(&machine, Some(&server), LOAD);
    let unknown = ["receive-queues", "irq-balance", "mtu", "tls"];
    assert_eq!(
        states(&report),
        unknown.map(|id| (id, DoctorState::Unknown))
    );
}

#[test]
fn only_commands_that_can_do_harm_are_risky() {
    let report = changed_server(|server| server.connections = Some(90));
    assert!(is_risky(&command(&report, "max-connections").unwrap()));
    let report = changed(|machine| {
        machine.interfaces[0].mtu = Some(600);
        machine.open_files = Some(1);
    });
    assert!(is_risky(&command(&report, "mtu").unwrap()));
    assert!(is_risky("swapoff -a"));
    assert!(!is_risky(&command(&report, "open-files").unwrap()));
}

#[test]
fn rights_are_granted_in_the_language_of_the_engine() {
    let grant = |engine, user: &str| {
        let report = changed_server(|server| {
            server.product = Some(engine);
            user.clone_into(&mut server.user);
            server.not_observed = vec![("replicas".to_owned(), "permission denied".to_owned())];
        });
        assert_one(&report, "observation", DoctorState::Caution);
        report.findings.into_iter().find_map(|found| found.command)
    };
    let command = grant(Product::POSTGRESQL, "bench");
    assert_eq!(
        command.as_deref(),
        Some("psql -c 'GRANT pg_monitor TO \"bench\"'")
    );
    let command = grant(Product::MYSQL, "bench").unwrap();
    command.assert_contains("GRANT PROCESS");
    command.assert_contains("'bench'@'%'");
    command.assert_contains("ON mysql.innodb_table_stats");
    let command = grant(Product::SQL_SERVER, "bench").unwrap();
    command.assert_contains("VIEW SERVER STATE TO [bench]");
    assert_eq!(
        grant(Product::POSTGRESQL, "a';rm -rf /"),
        None,
        "not quoted for a shell"
    );
}

#[test]
fn a_small_cache_is_enlarged_by_the_setting_of_the_engine() {
    for (engine, setting) in [
        (Product::POSTGRESQL, "shared_buffers"),
        (Product::MYSQL, "innodb_buffer_pool_size"),
        (Product::MARIADB, "innodb_buffer_pool_size"),
        (Product::SQL_SERVER, "max server memory"),
    ] {
        let report = changed_server(|server| {
            server.product = Some(engine);
            server.memory_bytes = Some(25 << 30);
            server.cache_bytes = Some(128 << 20);
            server.database_bytes = Some(1 << 30);
        });
        assert_eq!(state(&report, "data-size"), DoctorState::Caution);
        let found = report.findings.iter().find(|found| found.id == "data-size");
        let advice = found
            .and_then(|found| found.advice.as_deref())
            .unwrap_or_default();
        assert!(advice.contains(setting), "{engine:?}: {advice}");
    }
}
