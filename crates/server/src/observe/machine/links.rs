//! Network links of this machine: bytes, and how much they can carry.
//!
//! In: `/proc/net/dev`, `/sys/class/net`. Out: a [`Link`] for each interface. Must never: count the loopback
//! interface, or use the nominal speed of a virtual interface as its capacity.

use std::fs::read_to_string;
use std::path::Path;

/// Counters of one network interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    pub name: String,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// Whether a device is behind it. A bridge, a tunnel or a container's interface has none: their bytes also
    /// pass an interface that has one, if they leave the machine.
    pub has_device: bool,
    /// Capacity of the device in one direction, bytes per second; `None` if the device does not report it.
    pub capacity_bytes_per_s: Option<f64>,
}

pub(super) fn read() -> Vec<Link> {
    let text = read_to_string("/proc/net/dev").unwrap_or_default();
    let mut links = parse(&text);
    for link in &mut links {
        let folder = Path::new("/sys/class/net").join(&link.name);
        link.has_device = folder.join("device").exists();
        if link.has_device {
            let speed = read_to_string(folder.join("speed")).unwrap_or_default();
            link.capacity_bytes_per_s = capacity_bytes_per_s(&speed);
        }
    }
    links
}

/// Parses lines of a name with a colon, eight counters of received and eight of sent packets, each beginning with
/// the bytes (proc_pid_net(5)).
fn parse(text: &str) -> Vec<Link> {
    let links = text.lines().filter_map(|line| {
        let (name, counters) = line.split_once(':')?;
        let counters: Vec<&str> = counters.split_ascii_whitespace().collect();
        let bytes = |index: usize| counters.get(index)?.parse::<u64>().ok();
        Some(Link {
            name: name.trim().to_owned(),
            received_bytes: bytes(0)?,
            sent_bytes: bytes(8)?,
            ..Link::default()
        })
    });
    links.filter(|link| link.name != "lo").collect()
}

/// Bytes per second at a nominal speed in megabits per second; an interface that does not know its speed
/// reports -1.
fn capacity_bytes_per_s(speed: &str) -> Option<f64> {
    let megabits = speed.trim().parse::<i64>().ok()?;
    (megabits > 0).then(|| megabits as f64 * 1e6 / 8.0)
}

/// Bytes received and sent since an earlier reading. If any interface has a device, the others are not counted.
/// `None` if no interface is in both readings.
pub(super) fn bytes_since(links: &[Link], before: &[Link]) -> Option<u64> {
    let any_device = links.iter().any(|link| link.has_device);
    let counted = pairs(links, before).filter(|(link, _)| link.has_device || !any_device);
    let bytes = counted.map(|(link, earlier)| {
        let received = link.received_bytes.saturating_sub(earlier.received_bytes);
        received + link.sent_bytes.saturating_sub(earlier.sent_bytes)
    });
    bytes.reduce(u64::saturating_add)
}

/// The share of its capacity that the busiest direction of the busiest link used in these seconds; `None` if no
/// link reports its capacity.
pub(super) fn busiest_share(links: &[Link], before: &[Link], seconds: f64) -> Option<f64> {
    if seconds <= 0.0 {
        return None;
    }
    let shares = pairs(links, before).filter_map(|(link, earlier)| {
        let received = link.received_bytes.saturating_sub(earlier.received_bytes);
        let sent = link.sent_bytes.saturating_sub(earlier.sent_bytes);
        Some(received.max(sent) as f64 / seconds / link.capacity_bytes_per_s?)
    });
    shares.reduce(f64::max).map(|share| share.min(1.0))
}

fn pairs<'a>(links: &'a [Link], before: &'a [Link]) -> impl Iterator<Item = (&'a Link, &'a Link)> {
    links.iter().filter_map(|link| {
        let earlier = before.iter().find(|earlier| earlier.name == link.name)?;
        Some((link, earlier))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 5000 9 0 0 0 0 0 0 5000 9 0 0 0 0 0 0
  eth0: 1000 7 0 0 0 0 0 0 300 6 0 0 0 0 0 0
docker0: 70 1 0 0 0 0 0 0 80 1 0 0 0 0 0 0
";

    #[test]
    fn interfaces_except_loopback_are_parsed() {
        let links = parse(DEV);
        let bytes: Vec<(&str, u64, u64)> = links
            .iter()
            .map(|link| (&*link.name, link.received_bytes, link.sent_bytes))
            .collect();
        assert_eq!(bytes, [("eth0", 1000, 300), ("docker0", 70, 80)]);
        assert_eq!(capacity_bytes_per_s("1000\n"), Some(125e6));
        assert_eq!(capacity_bytes_per_s("-1\n"), None);
        assert_eq!(capacity_bytes_per_s(""), None);
    }

    #[test]
    fn bytes_and_the_busiest_direction_are_differences() {
        let before = parse(DEV);
        let mut links = parse(&DEV.replace("1000 7", "2000 7").replace("300 6", "900 6"));
        let all = Some(1600);
        assert_eq!(bytes_since(&links, &before), all);
        assert_eq!(
            busiest_share(&links, &before, 1.0),
            None,
            "no capacity known"
        );
        links[0].has_device = true;
        links[0].capacity_bytes_per_s = Some(5000.0);
        links[1].received_bytes += 50;
        assert_eq!(
            bytes_since(&links, &before),
            all,
            "the bridge is not counted"
        );
        assert_eq!(busiest_share(&links, &before, 2.0), Some(0.1));
        assert_eq!(bytes_since(&links, &[]), None);
    }

    #[test]
    fn the_interfaces_of_this_machine_can_be_read() {
        assert!(read().iter().all(|link| link.name != "lo"));
    }
}
