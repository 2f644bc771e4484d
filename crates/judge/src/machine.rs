//! What the machine did to the run.
//!
//! In: a Run. Out: `steal`, `server-steal`, `neighbours`, `one-host`, `round-trip`. Must never: resolve a name or ask
//! the system; the Run says what was observed.

use crate::thresholds::{
    NEIGHBOURS, ONE_HOST_BUSY, ONE_HOST_CLIENT, ROUND_TRIP_LONG_NS, ROUND_TRIP_SCATTER,
    ROUND_TRIP_SHARE, STEAL,
};
use crate::words::{percent, time};
use crate::{all, found, watch};
use prony_store::{Check, Run, Severity};
use std::net::{IpAddr, SocketAddr};

pub(crate) fn steal(run: &Run) -> Option<Check> {
    let steal = run.client.steal?;
    if steal <= STEAL {
        return None;
    }
    found(
        "steal",
        Severity::Caveat,
        format!(
            "The hypervisor withheld {} of the client machine's CPU time for other guests.",
            percent(steal)
        ),
        "Run on dedicated CPUs, or repeat the run at several times of the day and take the spread.",
    )
}

/// The same on the machine of the server, where it is another one.
pub(crate) fn server_steal(run: &Run) -> Option<Check> {
    let steal = watch::machine(run, |machine| machine.steal)?;
    if steal <= STEAL || shares_machine(run).is_some() {
        return None;
    }
    found(
        "server-steal",
        Severity::Caveat,
        format!(
            "The hypervisor withheld {} of the server machine's CPU time for other guests.",
            percent(steal)
        ),
        "Run the server on dedicated CPUs, or repeat the run at several times of the day.",
    )
}

pub(crate) fn one_host(run: &Run) -> Option<Check> {
    let how = shares_machine(run)?;
    let shared = format!(
        "The load went to {how}: client and server shared this machine, so the client's CPU time was \
         taken from the server and no network was between them"
    );
    let (severity, finding) = match (busy(run), client_share(run)) {
        (Some(busy), Some(client)) if busy > ONE_HOST_BUSY && client > ONE_HOST_CLIENT => (
            Severity::Caveat,
            format!(
                "{shared}. Its CPUs were {} busy, and the client took {} of them.",
                percent(busy),
                percent(client)
            ),
        ),
        _ => (Severity::Note, format!("{shared}.")),
    };
    found(
        "one-host",
        severity,
        finding,
        "For a figure of the server alone, run the client on another machine.",
    )
}

/// How it is known that client and server shared a machine; nothing where they did not, or nobody
/// knows.
pub(crate) fn shares_machine(run: &Run) -> Option<&'static str> {
    let seen = run.observed.as_ref().and_then(|seen| seen.machine.shared);
    if run.server.embedded {
        Some("a server of Prony's own")
    } else if run.server.address.starts_with("unix:") {
        Some("a unix socket")
    } else if seen == Some(true) {
        Some("a server whose process was found on this machine")
    } else if is_loopback(&run.server.address) {
        Some("a loopback address")
    } else {
        None
    }
}

/// CPUs of the server's machine at work, share of all.
pub(crate) fn busy(run: &Run) -> Option<f64> {
    watch::machine(run, |machine| machine.busy)
}

/// CPU time of the client, share of the machine's CPUs.
fn client_share(run: &Run) -> Option<f64> {
    let cpus = run.observed.as_ref()?.machine.cpus?;
    let used_s = run.client.cpu_user_s? + run.client.cpu_system_s?;
    let all_s = f64::from(cpus) * run.measured.seconds;
    (all_s > 0.0).then(|| used_s / all_s)
}

/// What the CPUs did that was neither the server's work nor the client's. Interrupts of the network are
/// among it, so that a little is always there.
pub(crate) fn neighbours(run: &Run) -> Option<Check> {
    let cpus = f64::from(run.observed.as_ref()?.machine.cpus?);
    let server = watch::mean(run, |row| {
        let cpu_s = row.machine.as_ref()?.server_cpu_s?;
        (row.seconds > 0.0).then(|| cpu_s / row.seconds / cpus)
    })?;
    let client = match shares_machine(run) {
        Some(_) => client_share(run)?,
        None => 0.0,
    };
    let others = busy(run)? - server - client;
    if others <= NEIGHBOURS {
        return None;
    }
    found(
        "neighbours",
        Severity::Caveat,
        format!(
            "Others used {} of the CPUs of the server's machine, the server {} and the client {}: \
             neither had the machine for itself.",
            percent(others),
            percent(server),
            percent(client),
        ),
        "Stop what else runs there, and run again.",
    )
}

/// Over a network; on one machine a round trip is the server's work on an empty statement.
pub(crate) fn round_trip(run: &Run) -> Option<Check> {
    let trip = watch::observed(run)?.round_trip.as_ref()?;
    let mean_ns = all(run)?.service.mean_ns;
    if shares_machine(run).is_some() || mean_ns <= 0.0 {
        return None;
    }
    let told = format!(
        "An empty statement took {} there and back before the load (median of {})",
        time(trip.p50_ns as f64),
        trip.samples
    );
    let share = trip.p50_ns as f64 / mean_ns;
    if share > ROUND_TRIP_SHARE {
        return found(
            "round-trip",
            Severity::Caveat,
            format!(
                "{told}, {} of the mean service time: the figures show the way to the server more than \
                 the server.",
                percent(share)
            ),
            "Run the client nearer to the server (the same zone, the same rack), or use more clients \
             until the server is the limit. Compare with runs of the same way only.",
        );
    }
    let worst_ns = trip.p99_ns.filter(|worst_ns| {
        *worst_ns as f64 > ROUND_TRIP_SCATTER * trip.p50_ns as f64 && *worst_ns > ROUND_TRIP_LONG_NS
    })?;
    found(
        "round-trip",
        Severity::Note,
        format!(
            "{told}, and {} at the 99th percentile: the way to the server is uneven, and the upper \
             percentiles contain that.",
            time(worst_ns as f64)
        ),
        "See what else uses the network, or the machines at its ends.",
    )
}

fn is_loopback(address: &str) -> bool {
    let Some(address) = address.strip_prefix("tcp:") else {
        return false;
    };
    if let Ok(socket) = address.parse::<SocketAddr>() {
        return socket.ip().to_canonical().is_loopback();
    }
    // Without brackets or by name: what stands before the last colon.
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, watched};

    #[test]
    fn stolen_time() {
        let mut run = healthy();
        run.client.steal = Some(0.01);
        assert_eq!(steal(&run), None);
        run.client.steal = Some(0.034);
        let check = steal(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(check.finding.contains("3.4 %"), "{check:?}");
        run.client.steal = None;
        assert_eq!(steal(&run), None, "unknown is no finding");
    }

    #[test]
    fn client_and_server_on_one_machine() {
        let here = |address: &str| {
            let mut run = healthy();
            run.server.address = address.to_owned();
            one_host(&run).map(|check| check.severity)
        };
        for address in [
            "unix:/run/x/.s.PGSQL.5432",
            "tcp:127.0.0.1:5432",
            "tcp:127.3.2.1:5432",
            "tcp:[::1]:5432",
            "tcp:::1:5432",
            "tcp:[::ffff:127.0.0.1]:5432",
            "tcp:localhost:5432",
        ] {
            assert_eq!(here(address), Some(Severity::Note), "{address}");
        }
        for address in [
            "tcp:192.0.2.7:5432",
            "tcp:[2001:db8::1]:5432",
            "tcp:db:5432",
            "",
        ] {
            assert_eq!(here(address), None, "{address}");
        }
        let mut run = healthy();
        run.server.embedded = true;
        assert!(one_host(&run).unwrap().finding.contains("Prony's own"));
    }

    #[test]
    fn a_machine_that_both_keep_busy() {
        let mut run = watched();
        observed_mut(&mut run).machine.shared = Some(true);
        let severity = |run: &Run| one_host(run).map(|check| check.severity);
        assert_eq!(severity(&run), Some(Severity::Note), "found by its process");
        for row in &mut observed_mut(&mut run).series {
            row.machine.get_or_insert_default().busy = Some(0.95);
        }
        assert_eq!(
            severity(&run),
            Some(Severity::Note),
            "the client takes little"
        );
        run.client.cpu_system_s = Some(2_000.0);
        let check = one_host(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(check.finding.contains("95 % busy"), "{check:?}");
        assert_eq!(one_host(&watched()), None);
    }

    #[test]
    fn time_stolen_from_the_server() {
        let mut run = watched();
        assert_eq!(server_steal(&run), None);
        for row in &mut observed_mut(&mut run).series {
            row.machine.get_or_insert_default().steal = Some(0.05);
        }
        assert!(server_steal(&run).unwrap().finding.contains("5.0 %"));
        run.server.embedded = true;
        assert_eq!(server_steal(&run), None, "`steal` says it");
    }

    #[test]
    fn the_way_to_the_server() {
        let with = |p50_ns, p99_ns| {
            let mut run = watched();
            let trip = observed_mut(&mut run).round_trip.as_mut().unwrap();
            (trip.p50_ns, trip.p99_ns) = (p50_ns, Some(p99_ns));
            run
        };
        let severity = |run: &Run| round_trip(run).map(|check| check.severity);
        // The mean service time is 4 ms.
        assert_eq!(severity(&with(200_000, 400_000)), None);
        assert_eq!(
            severity(&with(2_100_000, 2_200_000)),
            Some(Severity::Caveat)
        );
        assert_eq!(severity(&with(200_000, 2_500_000)), Some(Severity::Note));
        assert_eq!(severity(&with(20_000, 250_000)), None, "next to nothing");
        let mut here = with(2_100_000, 2_200_000);
        here.server.address = "unix:/x".to_owned();
        assert_eq!(severity(&here), None);
        assert_eq!(severity(&healthy()), None, "nobody looked");
    }

    #[test]
    fn work_of_others() {
        let with = |server_cpu_s| {
            let mut run = watched();
            for row in &mut observed_mut(&mut run).series {
                row.machine.get_or_insert_default().server_cpu_s = server_cpu_s;
            }
            run
        };
        // 70 % of 16 CPUs are busy.
        assert_eq!(neighbours(&with(Some(9.0))), None);
        let check = neighbours(&with(Some(4.8))).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.starts_with("Others used 40 % of"),
            "{check:?}"
        );
        assert_eq!(neighbours(&with(None)), None, "not known");
        // On one machine the client's work is no other's: 600 s of CPU in 600 s are one of 16.
        let mut shared = with(Some(8.0));
        assert!(neighbours(&shared).is_some());
        observed_mut(&mut shared).machine.shared = Some(true);
        assert_eq!(neighbours(&shared), None);
    }
}
