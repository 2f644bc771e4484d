//! How long clients wait for a server that is silent, for the Run document.
//!
//! In: a target, the settings of this machine. Out: [`ClientTimeouts`].

use prony_server::{Address, ProtocolOptions, Target};
use prony_store::ClientTimeouts;
use std::fs;
use std::time::Duration;

/// How long the clients of a target wait for a server that is silent; `None` without TCP: a server behind a socket of this
/// machine does not vanish without its kernel closing the connection.
pub(crate) fn client_timeouts(target: &Target) -> Option<ClientTimeouts> {
    let targets = std::iter::once(target).chain(&target.additional_targets);
    let mut endpoints = targets.flat_map(|target| &target.endpoints);
    if !endpoints.any(|endpoint| matches!(endpoint.address, Address::Tcp(_))) {
        return None;
    }
    let tcp = &target.tcp;
    let kernel_default = |name: &str| -> Option<u32> {
        let path = format!("/proc/sys/net/ipv4/tcp_keepalive_{name}");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    let time_to_give_up_s = || {
        let idle_s = tcp.keepalive_idle_s.or_else(|| kernel_default("time"))?;
        let interval_s = tcp
            .keepalive_interval_s
            .or_else(|| kernel_default("intvl"))?;
        let count = tcp.keepalive_count.or_else(|| kernel_default("probes"))?;
        Some(f64::from(idle_s) + f64::from(interval_s) * f64::from(count))
    };
    let connect_limit = target.connect_limit();
    let is_sql_server = matches!(target.protocol, ProtocolOptions::SqlServer(_));
    Some(ClientTimeouts {
        connect_s: (connect_limit != Duration::MAX).then_some(connect_limit.as_secs_f64()),
        tcp_user_s: tcp
            .user_timeout_ms
            .filter(|ms| *ms > 0)
            .map(|ms| f64::from(ms) / 1e3),
        reply_s: tcp.reply_timeout.map(|limit| limit.as_secs_f64()),
        tries_all_addresses: (is_sql_server && target.endpoints.len() > 1)
            .then(|| target.address_race().is_some()),
        keepalive_s: if tcp.keepalive { time_to_give_up_s() } else { None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_says_how_long_clients_wait() {
        let url = "postgres://127.0.0.1:1/d?connect_timeout=3&tcp_user_timeout=4500&keepalives_idle=10\
                   &keepalives_interval=2&keepalives_count=5";
        let environment = prony_server::Environment::without_home("ann");
        let of_url = |url| client_timeouts(&prony_server::resolve(url, &environment).unwrap());
        assert_eq!(of_url("postgres:///d?host=/tmp"), None, "no TCP");
        let timeouts = |url| of_url(url).expect("TCP");
        let expected = ClientTimeouts {
            connect_s: Some(3.0),
            tcp_user_s: Some(4.5),
            keepalive_s: Some(20.0),
            ..ClientTimeouts::default()
        };
        assert_eq!(timeouts(url), expected);
        let mysql = timeouts("mysql://127.0.0.1:1/d?read-timeout=7&write-timeout=3");
        assert_eq!((mysql.reply_s, mysql.tcp_user_s), (Some(7.0), Some(3.0)));
        let unlimited = timeouts("mysql://127.0.0.1:1/d?read-timeout=0&write-timeout=0");
        assert_eq!((unlimited.reply_s, unlimited.tcp_user_s), (None, None));
        let sql_server = timeouts("sqlserver://sa@127.0.0.1:1?socketTimeout=2500");
        assert_eq!(sql_server.reply_s, Some(2.5));
        assert_eq!(sql_server.tries_all_addresses, None, "one address");
        assert_eq!(timeouts("postgres://127.0.0.1:1/d").tcp_user_s, None);
        let without_probes = timeouts("postgres://127.0.0.1:1/d?keepalives=0");
        assert_eq!(without_probes.keepalive_s, None);
    }
}
