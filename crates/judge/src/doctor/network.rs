//! The network: receive queues, interrupts, packet size, TCP.
//!
//! In: the facts. Out: findings on the interface that leads to the server. Must never: judge an interface that
//! the load does not use, if the route is known.

use super::{
    Examined, IntendedLoad, MachineFacts, NetworkInterface, Remedied, bad, caution, named, ok,
    unknown,
};
use crate::formatting::{bytes, count, joined};
use prony_plan::shell_word;
use prony_store::DoctorFinding;

/// Number of CPUs from which one CPU for all received packets is bad: a CPU handles some hundred thousand packets
/// per second, which eight CPUs of clients exceed.
const ONE_CPU_BAD_FROM: usize = 8;
/// Packet size of Ethernet, the smallest usual one of cloud networks and tunnels (Google Cloud: 1460), and the
/// smallest one of IPv6 (RFC 8200), bytes.
const ETHERNET_MTU: u32 = 1500;
const USUAL_MTU_MIN: u32 = 1400;
const IPV6_MTU_MIN: u32 = 1280;
/// Smallest sufficient maximum of TCP's buffers, bytes: 10 Gbit/s over a round trip of 0.8 ms.
const TCP_BUFFER_MIN_BYTES: u64 = 1 << 20;
/// The kernel's default of `somaxconn` since Linux 5.4.
const DEFAULT_ACCEPT_QUEUE: u32 = 4096;
/// Entries of the table of flows that receive flow steering (RFS) needs, as in Documentation/networking/scaling.rst.
const FLOW_ENTRIES: u32 = 32_768;

pub(super) fn findings(machine: &MachineFacts, load: IntendedLoad) -> Vec<DoctorFinding> {
    let interfaces = judged_interfaces(machine);
    let mut findings = Vec::new();
    if interfaces.is_empty() {
        let finding = match machine.route_interface.as_deref() {
            Some("lo") if machine.may_be_tunnelled => unknown(
                "The server's process was not found on this machine: it may be behind a tunnel.",
            ),
            Some("lo") => ok("not used", "The server is reached within this machine."),
            _ => unknown("No route was found: to the server, or by default without one."),
        };
        let ids = ["receive-queues", "irq-balance", "mtu"];
        findings.extend(named(ids.map(|id| (id, finding.clone()))));
    }
    for interface in interfaces {
        let devices = devices(machine, interface);
        if devices.is_empty() {
            let reason = format!("No device below {} is known.", interface.name);
            let ids = ["receive-queues", "irq-balance"];
            findings.extend(named(ids.map(|id| (id, unknown(&reason)))));
        }
        for device in devices {
            findings.extend(named([
                ("receive-queues", receive_queues(machine, device)),
                ("irq-balance", irq_balance(machine, device)),
            ]));
        }
        findings.extend(named([("mtu", mtu(interface))]));
    }
    findings.extend(named([
        ("tcp", tcp(machine)),
        ("accept-queue", accept_queue(machine, load)),
    ]));
    findings
}

/// The queue of connections that a server on this machine has not accepted yet. If it is full, further connections
/// are refused (unix sockets) or delayed by a second (TCP).
fn accept_queue(machine: &MachineFacts, load: IntendedLoad) -> Examined {
    let not_known = "The limit could not be read, or the way to the server is unknown.";
    let interface = machine.route_interface.as_deref().ok_or(not_known)?;
    if interface != "lo" {
        let reason = "The server accepts connections on its own machine.";
        return ok("not used", reason);
    }
    let max = machine.tcp.accept_queue_max.ok_or(not_known)?;
    let value = format!("up to {}", count(u64::from(max), "connection"));
    if max >= load.clients {
        let reason = "All clients may connect to a server on this machine at once.";
        return ok(value, reason);
    }
    let reason = format!(
        "{} connect at once: a server on this machine may refuse some of them.",
        count(u64::from(load.clients), "client")
    );
    let new_max = load.clients.next_power_of_two().max(DEFAULT_ACCEPT_QUEUE);
    caution(value, reason)
        .mended_by(format!("sysctl -w net.core.somaxconn={new_max}"))
        .advised("Then restart the server.")
}

/// The interface that leads to the server; if the route is unknown, all interfaces with a device.
pub(super) fn judged_interfaces(machine: &MachineFacts) -> Vec<&NetworkInterface> {
    let interfaces = machine.interfaces.iter();
    let is_judged = |interface: &&NetworkInterface| match &machine.route_interface {
        Some(name) => interface.name == *name,
        None => interface.has_device,
    };
    interfaces.filter(is_judged).collect()
}

/// The interfaces with a device that carry the packets of an interface: itself, or those below it.
pub(super) fn devices<'a>(
    machine: &'a MachineFacts,
    interface: &'a NetworkInterface,
) -> Vec<&'a NetworkInterface> {
    let mut devices: Vec<&NetworkInterface> = Vec::new();
    let (mut seen, mut pending) = (Vec::new(), vec![interface]);
    while let Some(interface) = pending.pop() {
        if seen.contains(&&interface.name) {
            continue;
        }
        seen.push(&interface.name);
        if interface.has_device {
            devices.push(interface);
            continue;
        }
        let lower = machine.interfaces.iter();
        pending.extend(lower.filter(|lower| interface.lower.contains(&lower.name)));
    }
    devices.sort_by_key(|device| &device.name);
    devices
}

/// A bit mask of CPUs in the kernel's format: groups of 32 bits in hexadecimal, separated by commas.
pub(super) fn cpu_mask(cpus: &[u32]) -> String {
    let groups = cpus.iter().max().map_or(0, |cpu| cpu / 32) as usize + 1;
    let mut words = vec![0_u32; groups];
    for cpu in cpus {
        words[(cpu / 32) as usize] |= 1 << (cpu % 32);
    }
    let mask = joined(words.iter().rev().map(|word| format!("{word:08x}")), ",");
    match mask.trim_start_matches(['0', ',']) {
        "" => "0".to_owned(),
        mask => mask.to_owned(),
    }
}

/// Whether enough CPUs process received packets: by hardware queues, or by receive packet steering (RPS).
fn receive_queues(machine: &MachineFacts, interface: &NetworkInterface) -> Examined {
    let name = &interface.name;
    let cpus = machine.cpus.len();
    if interface.receive_queues == 0 || cpus == 0 {
        return unknown(format!("The kernel reports no receive queues of {name}."));
    }
    let queues = interface.receive_queues as usize;
    let steered = interface
        .rps_cpus
        .iter()
        .filter(|cpu| machine.cpus.contains(cpu))
        .count();
    let rps = match steered {
        0 => "off".to_owned(),
        steered => format!("to {steered} of {}", count(cpus as u64, "CPU")),
    };
    let value = format!("{name}: {}, RPS {rps}", count(queues as u64, "queue"));
    // With RPS, its mask decides which CPUs process packets; otherwise each queue has one CPU.
    let processing = if steered > 0 { steered } else { queues.min(cpus) };
    if processing * 2 >= cpus {
        return ok(value, "Enough CPUs process the received packets.");
    }
    let reason = format!(
        "{} of {} would process all received packets, and limit the throughput.",
        processing,
        count(cpus as u64, "CPU")
    );
    let mask = cpu_mask(&machine.cpus);
    let flows = FLOW_ENTRIES / interface.receive_queues;
    let command = format!(
        "sysctl -w net.core.rps_sock_flow_entries={FLOW_ENTRIES}\n\
         for q in /sys/class/net/{}/queues/rx-*; do echo {mask} > \"$q/rps_cpus\"; echo {flows} > \
         \"$q/rps_flow_cnt\"; done",
        shell_word(name)
    );
    let is_bad = processing == 1 && cpus >= ONE_CPU_BAD_FROM;
    let state = if is_bad { bad } else { caution };
    state(value, reason).mended_by(command)
}

fn irq_balance(machine: &MachineFacts, interface: &NetworkInterface) -> Examined {
    let name = &interface.name;
    let handling = interface.interrupt_cpus.len() as u64;
    if handling == 0 {
        return unknown(format!(
            "The kernel does not report the interrupts of {name}."
        ));
    }
    let runs = if machine.irqbalance_runs { "runs" } else { "does not run" };
    let value = format!(
        "{name}: interrupts on {}, irqbalance {runs}",
        count(handling, "CPU")
    );
    if interface.receive_queues < 2 || machine.cpus.len() < 2 || handling > 1 {
        return ok(value, "The queues' interrupts are where they can be.");
    }
    let reason = format!(
        "All {} interrupt one CPU, which then processes all packets.",
        count(interface.receive_queues.into(), "queue")
    );
    let advice =
        "Without irqbalance, write a CPU for each queue into /proc/irq/N/smp_affinity_list.";
    caution(value, reason)
        .mended_by("systemctl enable --now irqbalance || service irqbalance start")
        .advised(advice)
}

fn mtu(interface: &NetworkInterface) -> Examined {
    let name = &interface.name;
    let unknown = || format!("The kernel does not report the packet size of {name}.");
    let mtu = interface.mtu.ok_or_else(unknown)?;
    let value = format!("{name}: {mtu} bytes");
    let command = format!("ip link set dev {} mtu {ETHERNET_MTU}", shell_word(name));
    let advice =
        "First make sure that the network carries packets of that size: ping -M do -s 1472 SERVER.";
    let reason =
        "Requests and replies take more packets than usual, which costs CPU time on both machines.";
    let finding = match mtu {
        USUAL_MTU_MIN.. => {
            return ok(
                value,
                "As large as tunnels and clouds usually have, or larger.",
            );
        }
        IPV6_MTU_MIN.. => caution(value, reason),
        _ => bad(value, reason),
    };
    if interface.has_device {
        finding.mended_by(command).advised(advice)
    } else {
        // The packets of a tunnel or a bridge are limited by what is below or behind it.
        finding.advised(
            "The interface has no device: change the packet size where the tunnel, bridge or bond is set up.",
        )
    }
}

fn tcp(machine: &MachineFacts) -> Examined {
    let tcp = &machine.tcp;
    if tcp.window_scaling.is_none() && tcp.receive_buffer_max_bytes.is_none() {
        return unknown("The settings of TCP could not be read.");
    }
    let buffers = [
        (
            "receive buffer",
            "tcp_rmem",
            "4096 131072 6291456",
            tcp.receive_buffer_max_bytes,
        ),
        (
            "send buffer",
            "tcp_wmem",
            "4096 16384 4194304",
            tcp.send_buffer_max_bytes,
        ),
    ];
    let switches = [
        ("window scaling", "tcp_window_scaling", tcp.window_scaling),
        (
            "selective acknowledgements",
            "tcp_sack",
            tcp.selective_acknowledgements,
        ),
    ];
    let mut values = Vec::new();
    let (mut problems, mut commands) = (Vec::new(), Vec::new());
    for (name, setting, default, max) in buffers {
        let Some(max) = max else { continue };
        values.push(format!("{name} up to {}", bytes(max)));
        if max < TCP_BUFFER_MIN_BYTES {
            problems.push(format!(
                "the {name} is too small for large replies or loads"
            ));
            commands.push(format!("sysctl -w net.ipv4.{setting}='{default}'"));
        }
    }
    for (name, setting, is_on) in switches {
        if is_on == Some(false) {
            values.push(format!("{name} off"));
            problems.push(format!(
                "without {name}, large transfers and recovery from losses are slow"
            ));
            commands.push(format!("sysctl -w net.ipv4.{setting}=1"));
        }
    }
    values.extend(tcp.congestion_control.clone());
    let value = values.join(", ");
    if problems.is_empty() {
        return ok(value, "As the kernel sets it, or better.");
    }
    let mut reason = problems.join("; ") + ".";
    reason[..1].make_ascii_uppercase();
    caution(value, reason).mended_by(commands.join("\n"))
}
