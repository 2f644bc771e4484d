//! Ports, interfaces, routes and settings of TCP.
//!
//! In: the kernel's files. Out: facts. Must never: guess which interface leads to the server.

use super::ServerRoute;
use super::files::{SystemFiles, parse_cpu_list, parse_cpu_mask};
use prony_judge::doctor::{MachineFacts, NetworkInterface, TcpSettings};
use std::collections::BTreeSet;
use std::net::IpAddr;

const INTERFACES: &str = "sys/class/net";
/// Flag of a route that refuses packets (route.h).
const ROUTE_REJECTS: u32 = 0x200;

pub(super) fn read(files: &SystemFiles, route: ServerRoute, facts: &mut MachineFacts) {
    let setting = |name: &str| files.text(&format!("proc/sys/net/ipv4/{name}"));
    facts.port_range = setting("ip_local_port_range").and_then(|range| {
        let mut ports = range.split_ascii_whitespace().map(str::parse);
        Some((ports.next()?.ok()?, ports.next()?.ok()?))
    });
    let reserved = setting("ip_local_reserved_ports").unwrap_or_default();
    let is_in_range = |port: &u32| {
        let range = facts.port_range;
        range.is_some_and(|(first, last)| (u32::from(first)..=u32::from(last)).contains(port))
    };
    facts.reserved_ports = parse_cpu_list(&reserved)
        .iter()
        .filter(|p| is_in_range(p))
        .count() as u32;
    facts.connections_in_time_wait = files
        .text("proc/net/sockstat")
        .and_then(|text| time_wait_count(&text));
    let max = |name: &str| setting(name)?.split_ascii_whitespace().nth(2)?.parse().ok();
    let switch = |name: &str| setting(name).map(|value| value != "0");
    facts.tcp = TcpSettings {
        window_scaling: switch("tcp_window_scaling"),
        selective_acknowledgements: switch("tcp_sack"),
        receive_buffer_max_bytes: max("tcp_rmem"),
        send_buffer_max_bytes: max("tcp_wmem"),
        accept_queue_max: files
            .text("proc/sys/net/core/somaxconn")
            .and_then(|text| text.parse().ok()),
        congestion_control: setting("tcp_congestion_control"),
    };
    let names = files.names(INTERFACES).into_iter();
    let names = names.filter(|name| name != "lo" && files.path(INTERFACES).join(name).is_dir());
    facts.interfaces = names.map(|name| read_interface(files, name)).collect();
    facts.route_interface = match route {
        ServerRoute::Local | ServerRoute::OwnAddress => Some("lo".to_owned()),
        ServerRoute::Remote(address) => route_interface(files, Some(address.ip().to_canonical())),
        ServerRoute::Unknown => route_interface(files, None),
    };
    facts.may_be_tunnelled = route == ServerRoute::OwnAddress;
    facts.irqbalance_runs = files.names("proc").iter().any(|name| {
        name.bytes().all(|byte| byte.is_ascii_digit())
            && files.text(&format!("proc/{name}/comm")).as_deref() == Some("irqbalance")
    });
}

/// The number behind `tw` in the line of TCP in `/proc/net/sockstat`.
fn time_wait_count(text: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut fields = line.split_ascii_whitespace();
    fields.find(|name| *name == "tw")?;
    fields.next()?.parse().ok()
}

fn read_interface(files: &SystemFiles, name: String) -> NetworkInterface {
    let folder = format!("{INTERFACES}/{name}");
    let queues = files.names(&format!("{folder}/queues"));
    let receive_queues = || queues.iter().filter(|queue| queue.starts_with("rx-"));
    let rps_cpus: BTreeSet<u32> = receive_queues()
        .filter_map(|queue| files.text(&format!("{folder}/queues/{queue}/rps_cpus")))
        .flat_map(|mask| parse_cpu_mask(&mask))
        .collect();
    // Of a virtio device, the interrupts are those of the PCI device above it.
    let interrupts = ["device/msi_irqs", "device/../msi_irqs"]
        .map(|list| files.names(&format!("{folder}/{list}")));
    let interrupts = interrupts.into_iter().find(|numbers| !numbers.is_empty());
    let interrupt_cpus: BTreeSet<u32> = interrupts
        .into_iter()
        .flatten()
        .filter_map(|number| {
            let lists = ["effective_affinity_list", "smp_affinity_list"];
            let mut lists = lists.iter().map(|list| format!("proc/irq/{number}/{list}"));
            lists.find_map(|list| files.text(&list))
        })
        .flat_map(|list| parse_cpu_list(&list))
        .collect();
    NetworkInterface {
        has_device: files.path(&folder).join("device").exists(),
        lower: files
            .names(&folder)
            .iter()
            .filter_map(|entry| entry.strip_prefix("lower_").map(str::to_owned))
            .collect(),
        mtu: files.number(&format!("{folder}/mtu")),
        receive_queues: receive_queues().count() as u32,
        rps_cpus: rps_cpus.into_iter().collect(),
        interrupt_cpus: interrupt_cpus.into_iter().collect(),
        // -1: the device belongs to no node.
        numa_node: files.number(&format!("{folder}/device/numa_node")),
        name,
    }
}

/// A route: the length of its prefix, its metric and its interface.
type Route = (u32, u32, String);

/// The interface of the most specific route to an address, of IPv4's default route without one.
fn route_interface(files: &SystemFiles, address: Option<IpAddr>) -> Option<String> {
    let routes: Vec<Route> = match address {
        Some(IpAddr::V6(address)) => {
            let text = files.text("proc/net/ipv6_route")?;
            let lines = text.lines();
            lines
                .filter_map(|line| ipv6_route(line, address.into()))
                .collect()
        }
        Some(IpAddr::V4(address)) => ipv4_routes(files, u32::from(address).swap_bytes())?,
        None => ipv4_routes(files, 0)?,
    };
    let best = routes
        .into_iter()
        .max_by_key(|(prefix, metric, _)| (*prefix, std::cmp::Reverse(*metric)));
    best.map(|(_, _, interface)| interface)
}

/// Routes of `/proc/net/route` to an address in network byte order, as the file has it.
fn ipv4_routes(files: &SystemFiles, address: u32) -> Option<Vec<Route>> {
    let text = files.text("proc/net/route")?;
    let routes = text.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let hex = |column: usize| u32::from_str_radix(fields.get(column)?, 16).ok();
        let (destination, flags, mask) = (hex(1)?, hex(3)?, hex(7)?);
        let metric = fields.get(6)?.parse().ok()?;
        let leads_there = address & mask == destination && flags & ROUTE_REJECTS == 0;
        leads_there.then(|| (mask.count_ones(), metric, fields[0].to_owned()))
    });
    Some(routes.collect())
}

/// A line of `/proc/net/ipv6_route`, if it leads to the address.
fn ipv6_route(line: &str, address: u128) -> Option<Route> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let hex = |column: usize| u32::from_str_radix(fields.get(column)?, 16).ok();
    let destination = u128::from_str_radix(fields.first()?, 16).ok()?;
    let (prefix, metric, flags) = (hex(1)?, hex(5)?, hex(8)?);
    let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
    let interface = *fields.get(9)?;
    let leads_there =
        address & mask == destination && flags & ROUTE_REJECTS == 0 && interface != "lo";
    leads_there.then(|| (prefix, metric, interface.to_owned()))
}
