//! Reads the usage of a remote machine from Prometheus' node_exporter.
//!
//! Must never: wait long, read an endless response, or follow redirects.

use super::{Cpu, Disk, MachineReading, disk_kind, is_disk, join_kinds};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time limit for one response; the metrics are read once per second.
const TIMEOUT: Duration = Duration::from_millis(900);
/// Longest response, bytes; a typical one has 200 kB.
const BODY_BYTES_MAX: u64 = 16 << 20;

pub struct Exporter {
    url: String,
    agent: ureq::Agent,
}

impl Exporter {
    /// An exporter at a URL such as `http://db1:9100/metrics`, whose path may be omitted.
    ///
    /// # Errors
    /// A message, if the text is not such a URL or contains a password.
    pub fn new(url: &str) -> Result<Exporter, String> {
        let address = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"));
        let address = address.filter(|address| !address.is_empty() && !address.starts_with('/'));
        let Some(address) = address else {
            return Err(
                "not the URL of a node_exporter, such as http://db1:9100/metrics".to_owned(),
            );
        };
        let host = address.split(['/', '?', '#']).next().unwrap_or_default();
        if host.contains('@') {
            return Err(
                "a node_exporter with a password is not supported; remove the part before @"
                    .to_owned(),
            );
        }
        let metrics_url = if address.trim_end_matches('/').contains('/') {
            url.to_owned()
        } else {
            format!("{}/metrics", url.trim_end_matches('/'))
        };
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .max_redirects(0)
            .build();
        Ok(Exporter {
            url: metrics_url,
            agent: config.into(),
        })
    }

    pub fn name(&self) -> String {
        let address = self
            .url
            .split_once("://")
            .map_or("", |(_, address)| address);
        format!(
            "node_exporter at {}",
            address.split('/').next().unwrap_or_default()
        )
    }

    /// Reads the machine's counters.
    ///
    /// # Errors
    /// A message, if the exporter does not answer or its response has no CPU metrics.
    pub fn read(&self) -> Result<MachineReading, String> {
        let message = |error: ureq::Error| format!("{}: {error}", self.name());
        let mut response = self.agent.get(&self.url).call().map_err(message)?;
        let body = response.body_mut().with_config().limit(BODY_BYTES_MAX);
        let reading = parse(&body.read_to_string().map_err(message)?);
        if reading.cpus.is_empty() {
            Err(format!(
                "{}: no node_cpu_seconds_total in its response",
                self.name()
            ))
        } else {
            Ok(reading)
        }
    }
}

/// Parses Prometheus' text format; ignores metrics that are not needed.
fn parse(text: &str) -> MachineReading {
    let mut reading = MachineReading::default();
    let mut cpus: BTreeMap<u32, Cpu> = BTreeMap::new();
    let mut disks: BTreeMap<String, Disk> = BTreeMap::new();
    let mut kinds = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("node_")) {
        let Some((name, labels, value)) = parse_sample(line) else {
            continue;
        };
        let bytes = value.max(0.0) as u64;
        match name {
            "node_cpu_seconds_total" => {
                let Some(cpu) = label_value(labels, "cpu").and_then(|cpu| cpu.parse().ok()) else {
                    continue;
                };
                let cpu: &mut Cpu = cpus.entry(cpu).or_default();
                match label_value(labels, "mode") {
                    Some("idle") => cpu.idle_s += value,
                    Some("iowait") => cpu.io_wait_s += value,
                    Some("steal") => cpu.steal_s += value,
                    _ => cpu.busy_s += value,
                }
            }
            "node_uname_info" => {
                let [name, release] =
                    ["sysname", "release"].map(|name| label_value_with_commas(labels, name));
                reading.description.kernel = name
                    .zip(release)
                    .map(|(name, release)| format!("{name} {release}"));
            }
            // The exporter has this metric only with --collector.cpu.info.
            "node_cpu_info" => {
                reading.description.cpu =
                    label_value_with_commas(labels, "model_name").map(str::to_owned);
            }
            "node_disk_info" => {
                let device = label_value_with_commas(labels, "device").filter(|name| is_disk(name));
                let kind = device
                    .zip(label_value_with_commas(labels, "rotational"))
                    .map(|(device, rotates)| disk_kind(device, rotates == "1"));
                kinds.extend(kind);
            }
            // Counted in pages, whose size the exporter does not report: assume 4 KiB, as on x86-64 and on
            // most other machines.
            "node_vmstat_pswpin" | "node_vmstat_pswpout" => {
                let swapped = reading.swapped_bytes.get_or_insert(0);
                *swapped = swapped.saturating_add(bytes.saturating_mul(4096));
            }
            "node_memory_MemTotal_bytes" => reading.memory_bytes = Some(bytes),
            "node_memory_MemAvailable_bytes" => reading.memory_available_bytes = Some(bytes),
            name if name.starts_with("node_disk_") => {
                let Some(device) = label_value(labels, "device").filter(|name| is_disk(name))
                else {
                    continue;
                };
                let disk = disks.entry(device.to_owned()).or_default();
                match name {
                    "node_disk_read_bytes_total" => disk.read_bytes = bytes,
                    "node_disk_written_bytes_total" => disk.write_bytes = bytes,
                    "node_disk_io_time_seconds_total" => disk.busy_s = value,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    reading.description.storage = join_kinds(kinds.into_iter());
    reading.cpus = cpus.into_values().collect();
    let with_name = |(name, disk)| Disk { name, ..disk };
    reading.disks = disks.into_iter().map(with_name).collect();
    reading
}

/// Splits `name{labels} value` or `name value`.
fn parse_sample(line: &str) -> Option<(&str, &str, f64)> {
    let (series, value) = match line.split_once('}') {
        Some((series, value)) => (series, value),
        None => line.split_once(' ')?,
    };
    let value: f64 = value.split_ascii_whitespace().next()?.parse().ok()?;
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    value.is_finite().then_some((name, labels, value))
}

/// The value of a label that may contain commas, but no quotes.
fn label_value_with_commas<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut pieces = labels.split('"');
    while let (Some(key), Some(value)) = (pieces.next(), pieces.next()) {
        if key.trim_start_matches(',').trim() == format!("{name}=") {
            return Some(value).filter(|value| !value.is_empty());
        }
    }
    None
}

/// The value of a label without commas and quotes, such as the name of a CPU, a mode or a device.
fn label_value<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    labels.split(',').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key.trim() == name).then(|| value.trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    const METRICS: &str = "\
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100.5
node_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 2
node_cpu_seconds_total{cpu=\"0\",mode=\"steal\"} 0.25
node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 3.5
node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 4
node_cpu_seconds_total{cpu=\"10\",mode=\"idle\"} 7e+01
node_disk_io_time_seconds_total{device=\"sda\"} 12.5
node_disk_read_bytes_total{device=\"sda\"} 1.048576e+06
node_disk_read_bytes_total{device=\"sda1\"} 1.0
node_disk_written_bytes_total{device=\"sda\"} 2048
node_memory_MemAvailable_bytes 4.096e+09
node_memory_MemTotal_bytes 8.192e+09
node_vmstat_pswpin 2
node_vmstat_pswpout 1
node_load1 NaN
node_uname_info{domainname=\"(none)\",machine=\"x86_64\",nodename=\"db1\",release=\"6.1.0\",sysname=\"Linux\",version=\"#1 SMP, 2026\"} 1
node_cpu_info{cpu=\"0\",model_name=\"Xeon(R), 3.0 GHz\",vendor=\"GenuineIntel\"} 1
node_disk_info{device=\"sda\",model=\"X, Y\",rotational=\"1\"} 1
node_disk_info{device=\"nvme0n1\",rotational=\"0\"} 1
node_disk_info{device=\"sda1\",rotational=\"1\"} 1
";

    #[test]
    fn exporter_metrics_are_parsed() {
        let reading = parse(METRICS);
        assert_eq!(reading.cpus.len(), 2);
        let cpu = reading.cpus[0];
        assert_eq!(
            (cpu.busy_s, cpu.io_wait_s, cpu.steal_s, cpu.idle_s),
            (7.5, 2.0, 0.25, 100.5)
        );
        assert_eq!(reading.memory_bytes, Some(8_192_000_000));
        assert_eq!(reading.swapped_bytes, Some(3 * 4096));
        assert_eq!(reading.disks.len(), 1);
        let disk = &reading.disks[0];
        assert_eq!(
            (disk.read_bytes, disk.write_bytes, disk.busy_s),
            (1_048_576, 2048, 12.5)
        );
        let description = &reading.description;
        assert_eq!(description.kernel.as_deref(), Some("Linux 6.1.0"));
        assert_eq!(description.cpu.as_deref(), Some("Xeon(R), 3.0 GHz"));
        assert_eq!(description.storage.as_deref(), Some("NVMe and hard disk"));
        assert_eq!(parse("<html>"), MachineReading::default());
    }

    #[test]
    fn exporter_urls_are_completed_and_checked() {
        for (url, expected) in [
            ("http://db1:9100", "http://db1:9100/metrics"),
            ("http://db1:9100/", "http://db1:9100/metrics"),
            (
                "http://[::1]:9100/node/metrics",
                "http://[::1]:9100/node/metrics",
            ),
        ] {
            assert_eq!(Exporter::new(url).unwrap().url, expected);
        }
        assert_eq!(
            Exporter::new("http://db1:9100").unwrap().name(),
            "node_exporter at db1:9100"
        );
        for url in [
            "db1:9100",
            "http://",
            "http:///metrics",
            "ftp://db1",
            "http://u:geheim@db1",
        ] {
            let error = Exporter::new(url).err().expect(url);
            error.assert_lacks("geheim");
        }
    }

    #[test]
    fn reading_a_stopped_exporter_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let count = socket.read(&mut request).unwrap();
            assert!(request[..count].starts_with(b"GET /metrics HTTP/1.1"));
            let length = METRICS.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
            socket.write_all((head + METRICS).as_bytes()).unwrap();
        });
        let exporter = Exporter::new(&format!("http://127.0.0.1:{port}")).unwrap();
        assert_eq!(exporter.read().unwrap().cpus.len(), 2);
        server.join().unwrap();
        let error = exporter.read().unwrap_err();
        error.assert_starts_with(&format!("node_exporter at 127.0.0.1:{port}: "));
    }
}
