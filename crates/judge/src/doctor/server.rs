//! The server, and the way to it.
//!
//! In: the facts and the load. Out: findings. Must never: put a password or a URL into a command.

use super::{
    DatabaseFacts, Examined, IntendedLoad, Remedied, bad, caution, connections, finding, named, ok,
    unknown,
};
use crate::formatting::{bytes, joined, percent, time};
use crate::machine::is_uneven;
use crate::thresholds::{UNTUNED_CACHE_MAX_SHARE, UNTUNED_MIN_MEMORY_BYTES};
use prony_store::{DoctorFinding, DoctorState, Product, SqlDialect, nearest_rank};

/// Shortest round trip up to which two machines are probably in one data centre, and from which they are probably
/// in different regions, nanoseconds: light takes 0.5 ms for 50 km of fibre and back, and 5 ms for 500 km.
const ONE_ZONE_MAX_NS: u64 = 500_000;
const OTHER_REGION_MIN_NS: u64 = 5_000_000;
/// Number of round trips below which the upper percentiles are not reported.
const P99_MIN_SAMPLES: usize = 100;

pub(super) fn findings(server: &DatabaseFacts, load: IntendedLoad) -> Vec<DoctorFinding> {
    named([
        ("server-version", version(server)),
        ("server-location", location(server)),
        ("round-trip", round_trip(server)),
        ("tls", tls(server)),
        ("max-connections", connections::finding(server, load)),
        ("observation", observation(server)),
        ("data-size", data_size(server)),
    ])
}

/// Whether a version in lower case has a part such as `rc1` in `17rc1` or `-rc` in `9.0.0-rc`. Letters before or
/// behind the name belong to another word, such as `commercial`.
fn is_prerelease(version: &str) -> bool {
    const NAMES: [&str; 6] = ["alpha", "beta", "devel", "dmr", "preview", "rc"];
    let is_letter = |c: char| c.is_ascii_alphabetic();
    NAMES.iter().any(|name| {
        version.match_indices(name).any(|(start, _)| {
            let (before, behind) = (&version[..start], &version[start + name.len()..]);
            !before.is_empty() && !before.ends_with(is_letter) && !behind.starts_with(is_letter)
        })
    })
}

fn version(server: &DatabaseFacts) -> Examined {
    if server.version.is_empty() {
        return unknown("The server does not report its version.");
    }
    let value = format!("{} {}", server.product_name(), server.version);
    let version = server.version.split([' ', '(']).next().unwrap_or_default();
    let version = version.to_ascii_lowercase();
    if server.is_debug_build {
        let reason = "It was built with assertions or for debugging, which makes it slower.";
        return bad(value, reason).advised("Install a release build of the server.");
    }
    if is_prerelease(&version) {
        let reason = "It is not a release: its speed may differ from that of the release.";
        return caution(value, reason).advised("Measure a released version.");
    }
    ok(value, "A release build, as far as the server reports.")
}

fn location(server: &DatabaseFacts) -> Examined {
    let because = &server.same_machine_because;
    if server.same_machine == Some(true) {
        let reason = format!("The client takes CPU time from the server: {because}.");
        return caution("this machine", reason).advised(
            "To measure the server alone, drive the load from another machine of the same zone.",
        );
    }
    let shortest = server.round_trips_ns.first().copied();
    let shortest = shortest.ok_or("The round trip could not be measured.")?;
    let distance = time(shortest as f64);
    let reason = format!("The shortest round trip takes {distance}; {because}.");
    let value = |by_distance| match server.same_machine {
        Some(_) => by_distance,
        None => "unknown, perhaps this machine",
    };
    let advice = "Drive the load from a machine in the server's zone, and connect without a proxy.";
    match shortest {
        ..=ONE_ZONE_MAX_NS => ok(value("probably the same zone"), reason),
        OTHER_REGION_MIN_NS.. => bad(value("probably another region"), reason).advised(advice),
        _ => caution(value("probably another zone"), reason).advised(advice),
    }
}

fn round_trip(server: &DatabaseFacts) -> Examined {
    let times = &server.round_trips_ns;
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return unknown("No statement ended within a second.");
    };
    let text = |ns: u64| time(ns as f64);
    let p50 = nearest_rank(times, 50).unwrap_or(*first);
    let upper_percentile =
        |percent| nearest_rank(times, percent).filter(|_| times.len() >= P99_MIN_SAMPLES);
    let (p95, p99) = (upper_percentile(95), upper_percentile(99));
    let mut value = format!("min {}, p50 {}", text(*first), text(p50));
    for (name, percentile) in [("p95", p95), ("p99", p99)] {
        if let Some(ns) = percentile {
            value += &format!(", {name} {}", text(ns));
        }
    }
    value += &format!(", max {} ({} statements)", text(*last), times.len());
    let Some(p99) = p99 else {
        let reason = "Too few statements ended within a second to judge how steady they are.";
        return Ok(finding(DoctorState::Unknown, value, reason));
    };
    if is_uneven(p50, p99) {
        let reason =
            "Without load, some round trips take more than ten times as long as the median.";
        return caution(value, reason).advised(
            "Look for other load on the server, the network or this machine; proxies and poolers may cause it too.",
        );
    }
    ok(
        value,
        "An empty statement without load takes about as long each time.",
    )
}

fn tls(server: &DatabaseFacts) -> Examined {
    match (&server.tls, server.is_remote) {
        (Some(tls), _) => ok(
            tls,
            "Its CPU time is part of the figures, as in production.",
        ),
        (None, _) if server.same_machine.is_none() => unknown(
            "There is none, and connections may leave this machine, for example through a tunnel.",
        ),
        (None, false) => ok("none", "The connection does not leave this machine."),
        (None, true) => {
            let option = server
                .product
                .map_or("sslmode=require", |product| product.tls_parameter);
            caution("none",
                "Connections leave this machine unencrypted, and figures lack the cost of encryption.",
            )
            .advised(format!("If production uses TLS, add {option} to the URL."))
        }
    }
}

/// Whether a name needs no quotes beyond those of its statement, for SQL and for the shell.
pub(super) fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '%' | ':');
    !name.is_empty() && name.chars().all(is_plain)
}

/// The account of MySQL or MariaDB in a statement; `None` if its name would have to be quoted.
pub(super) fn mysql_account(server: &DatabaseFacts) -> Option<String> {
    let host = server.account_host.as_deref().unwrap_or("%");
    (is_plain_name(&server.user) && is_plain_name(host))
        .then(|| format!("'{}'@'{host}'", server.user))
}

/// The command that grants the right to read what Prony observes; `None` if a name in it would have to be quoted, or the
/// product is not known.
fn grant_command(server: &DatabaseFacts) -> Option<String> {
    let user = &server.user;
    if !is_plain_name(user) {
        return None;
    }
    let product = server.product?;
    Some(match product.dialect {
        SqlDialect::PostgreSql => format!("psql -c 'GRANT pg_monitor TO \"{user}\"'"),
        SqlDialect::MySql => {
            // MariaDB 10.5 split REPLICATION CLIENT: the state of a replica needs a privilege of its own.
            let of_replicas = if product == Product::MARIADB && has_slave_monitor(&server.version) {
                "REPLICATION CLIENT, SLAVE MONITOR"
            } else {
                "REPLICATION CLIENT"
            };
            let account = mysql_account(server)?;
            format!(
                "mysql -e \"GRANT PROCESS, {of_replicas} ON *.* TO {account}; GRANT SELECT ON performance_schema.* \
                 TO {account}; GRANT SELECT ON mysql.innodb_table_stats TO {account}\""
            )
        }
        SqlDialect::TransactSql => {
            format!("sqlcmd -Q 'USE master; GRANT VIEW SERVER STATE TO [{user}]'")
        }
    })
}

/// Whether this version of MariaDB has the privilege `SLAVE MONITOR`.
fn has_slave_monitor(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let release = numbers.next().flatten().zip(numbers.next().flatten());
    release.is_none_or(|release| release >= (10, 5))
}

fn observation(server: &DatabaseFacts) -> Examined {
    let Some((_, first_reason)) = server.not_observed.first() else {
        return ok(
            "complete",
            "This user may read everything that Prony observes.",
        );
    };
    let topics = server.not_observed.iter().map(|(topic, _)| &**topic);
    let finding = caution(
        format!("without {}", joined(topics, ", ")),
        format!("Prony cannot say what limited the run where it cannot look: {first_reason}."),
    );
    match grant_command(server) {
        Some(command) => finding
            .mended_by(command)
            .advised("Run it as an administrator of the server."),
        None => finding.advised("docs/src/how-to/connect.md names the rights that Prony needs."),
    }
}

fn data_size(server: &DatabaseFacts) -> Examined {
    let known_cache = server.cache_bytes.filter(|bytes| *bytes > 0);
    let (Some(data), Some(cache)) = (server.database_bytes, known_cache) else {
        return unknown("The server does not report the size of the data or of its cache.");
    };
    if data == 0 {
        let reason = "There are no tables in the database, or this user may not see them.";
        return unknown(reason);
    }
    let mut value = format!("{} of data, cache {}", bytes(data), bytes(cache));
    if let Some(memory) = server.memory_bytes {
        value += &format!(", memory {}", bytes(memory));
    }
    let large_memory = server
        .memory_bytes
        .filter(|bytes| *bytes >= UNTUNED_MIN_MEMORY_BYTES);
    let cache_share = large_memory.map(|memory| cache as f64 / memory as f64);
    if let Some(share) = cache_share.filter(|share| *share < UNTUNED_CACHE_MAX_SHARE)
        && data > cache
    {
        let reason = format!(
            "The cache is {} of the memory of its machine: the server looks untuned.",
            percent(share)
        );
        let advice = server
            .product
            .map_or(Product::SQL_SERVER.cache_advice, |product| {
                product.cache_advice
            });
        return caution(value, reason).advised(advice);
    }
    let reason = match (data <= cache, server.memory_bytes) {
        (true, _) => "The data fits into the server's cache: reads do not reach the disk.",
        (false, Some(memory)) if data <= memory => {
            "The data fits into the machine's memory, but not into the server's cache."
        }
        (false, Some(_)) => "The data is larger than the machine's memory: reads reach the disk.",
        (false, None) => "The data does not fit into the server's cache.",
    };
    ok(value, reason)
}
