//! What the machine did to the run.
//!
//! In: a Run. Out: `steal`, `one-host`. Must never: resolve a name or ask the system; the Run says
//! what was observed.

use crate::found;
use crate::thresholds::STEAL;
use crate::words::percent;
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

pub(crate) fn one_host(run: &Run) -> Option<Check> {
    let how = if run.server.embedded {
        "a server of Prony's own"
    } else if run.server.address.starts_with("unix:") {
        "a unix socket"
    } else if is_loopback(&run.server.address) {
        "a loopback address"
    } else {
        return None;
    };
    found(
        "one-host",
        Severity::Note,
        format!(
            "The load went to {how}: client and server shared this machine, so the client's CPU \
             time was taken from the server and no network was between them."
        ),
        "For a figure of the server alone, run the client on another machine.",
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
    use crate::sample::healthy;

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
}
