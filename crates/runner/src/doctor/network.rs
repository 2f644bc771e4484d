//! Ports, interfaces, routes and settings of TCP.
//!
//! In: the kernel's files. Out: facts. Must never: guess which interface leads to the server.

use super::ServerRoute;
use super::files::{SystemFiles, parse_cpu_mask, parse_number_list};
use prony_judge::doctor::{MachineFacts, NetworkInterface, TcpSettings};
use std::cmp::Reverse;
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
    let reserved_ports = parse_number_list(&reserved);
    facts.reserved_ports = reserved_ports
        .iter()
        .filter(|port| is_in_range(port))
        .count() as u32;
    facts.connections_in_time_wait = files
        .text("proc/net/sockstat")
        .and_then(|text| time_wait_count(&text));
    // Three numbers: the smallest, the default and the largest size.
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
    facts.interfaces = names
        .filter(|name| name != "lo" && files.path(INTERFACES).join(name).is_dir())
        .map(|name| read_interface(files, name))
        .collect();
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
    let mut interrupts = files.names(&format!("{folder}/device/msi_irqs"));
    if interrupts.is_empty() {
        interrupts = files.names(&format!("{folder}/device/../msi_irqs"));
    }
    let mut interrupt_cpus = BTreeSet::new();
    for number in interrupts {
        let cpus = ["effective_affinity_list", "smp_affinity_list"]
            .iter()
            .find_map(|list| files.text(&format!("proc/irq/{number}/{list}")));
        interrupt_cpus.extend(parse_number_list(&cpus.unwrap_or_default()));
    }
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
        // -1, which is no unsigned number, means that the device belongs to no node.
        numa_node: files.number(&format!("{folder}/device/numa_node")),
        name,
    }
}

struct Route {
    /// Length of the prefix, in bits: the longest wins.
    prefix: u32,
    /// Among routes with the same prefix, the lowest wins.
    metric: u32,
    interface: String,
}

/// The interface of the most specific route to an address; without an address, that of IPv4's default route.
fn route_interface(files: &SystemFiles, address: Option<IpAddr>) -> Option<String> {
    let routes: Vec<Route> = match address {
        Some(IpAddr::V6(address)) => {
            let text = files.text("proc/net/ipv6_route")?;
            let routes = text.lines().map(|line| ipv6_route(line, address.into()));
            routes.flatten().collect()
        }
        Some(IpAddr::V4(address)) => ipv4_routes(files, u32::from(address).swap_bytes())?,
        None => ipv4_routes(files, 0)?,
    };
    let best = routes
        .into_iter()
        .max_by_key(|route| (route.prefix, Reverse(route.metric)))?;
    Some(best.interface)
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
        leads_there.then(|| Route {
            prefix: mask.count_ones(),
            metric,
            interface: fields[0].to_owned(),
        })
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
    leads_there.then(|| Route {
        prefix,
        metric,
        interface: interface.to_owned(),
    })
}
