//! The hosts that a run's connections are spread over: with which one a connection begins, and what each of them did.
//!
//! In: targets, connections that come up or are lost, samples. Out: [`HostTotals`]. Must never: allocate for a
//! transaction.

use crate::link::{FirstEndpoint, Routes};
use prony_document::add_counts;
use prony_measure::{Counter, Distribution, Outcome, Sample};
use prony_plan::{SplitMix, Spread};
use prony_server::Target;
use serde::{Deserialize, Serialize};

/// The routes to a run's servers, and the hosts that they lead to. A host is given by its index.
pub(crate) struct RouteTable {
    /// The routes to each target, to that for reads, and then those of the TCP sample.
    pub routes: Vec<Routes>,
    /// Where a connection to each host begins; those for reads come last.
    hosts: Vec<FirstEndpoint>,
    /// How many endpoints each host has.
    endpoints_of_host: Vec<u16>,
    /// The number of hosts that are not only for reads.
    main_hosts: usize,
    /// The host of each endpoint, by target.
    host_of_endpoint: Vec<Vec<u16>>,
    spread: Spread,
    spread_of_reads: Spread,
}

/// What a connection is for, which decides over which hosts it is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionUse {
    /// All transactions, unless another server takes some.
    Main,
    /// The read-only transactions that another server takes.
    Reads,
    /// As `Main`, over TCP while the others use a unix socket.
    TcpSample,
    /// Only to see whether this host answers again.
    Probe(u16),
}

impl RouteTable {
    /// The routes to a target and its additional ones, over whose hosts connections are spread, to its target for reads,
    /// and that of the TCP sample.
    pub fn new(target: &Target, tcp_target: Option<&Target>) -> RouteTable {
        let reads = target.read_target.as_deref();
        let mut table = RouteTable {
            routes: Vec::new(),
            hosts: Vec::new(),
            endpoints_of_host: Vec::new(),
            main_hosts: 0,
            host_of_endpoint: Vec::new(),
            spread: target.spread,
            spread_of_reads: reads.map_or(target.spread, |reads| reads.spread),
        };
        let targets = std::iter::once(target).chain(&target.additional_targets);
        targets.for_each(|target| table.add(target));
        table.main_hosts = table.hosts.len();
        if let Some(reads) = reads {
            table.add(reads);
        }
        table.routes.extend(tcp_target.map(Routes::new));
        table
    }

    fn add(&mut self, target: &Target) {
        let mut host_of_endpoint = Vec::new();
        for range in target.hosts() {
            let host = self.hosts.len() as u16;
            self.hosts.push(FirstEndpoint {
                route_index: self.routes.len(),
                endpoint: range.start as u16,
                others: (target.endpoints.len() - 1) as u16,
                shuffle: None,
            });
            self.endpoints_of_host.push(range.len() as u16);
            host_of_endpoint.extend(range.map(|_| host));
        }
        self.host_of_endpoint.push(host_of_endpoint);
        self.routes.push(Routes::new(target));
    }

    /// Number of hosts for which there are totals: none if there is only one host.
    pub fn totals_len(&self) -> usize {
        if self.hosts.len() > 1 { self.hosts.len() } else { 0 }
    }

    /// The host with which an attempt to connect begins. `number`: that of the connection in the run.
    pub fn first_endpoint(
        &self,
        connection_use: ConnectionUse,
        number: u64,
        random: &mut SplitMix,
    ) -> FirstEndpoint {
        let hosts = match connection_use {
            ConnectionUse::Main => &self.hosts[..self.main_hosts],
            ConnectionUse::Reads => &self.hosts[self.main_hosts..],
            ConnectionUse::TcpSample => {
                return FirstEndpoint {
                    route_index: self.routes.len() - 1,
                    ..FirstEndpoint::default()
                };
            }
            ConnectionUse::Probe(host) => {
                return FirstEndpoint {
                    others: self.endpoints_of_host[usize::from(host)] - 1,
                    ..self.at_host(host)
                };
            }
        };
        match self.spread_of(connection_use) {
            Spread::First => hosts[0],
            Spread::RoundRobin => hosts[(number % hosts.len() as u64) as usize],
            // As libpq: the connections of a host that does not answer are spread over all others.
            Spread::Random => FirstEndpoint {
                shuffle: Some(random.number()),
                ..hosts[random.below(hosts.len())]
            },
        }
    }

    pub fn spread_of(&self, connection_use: ConnectionUse) -> Spread {
        match connection_use {
            ConnectionUse::Main => self.spread,
            ConnectionUse::Reads => self.spread_of_reads,
            ConnectionUse::TcpSample | ConnectionUse::Probe(_) => Spread::First,
        }
    }

    pub fn at_host(&self, host: u16) -> FirstEndpoint {
        self.hosts[usize::from(host)]
    }

    /// Where a connection begins whose server at this host refuses to work: at the next one with the same use.
    pub fn after_host(&self, host: u16) -> FirstEndpoint {
        let next = usize::from(host) + 1;
        let same_use = if next <= self.main_hosts {
            0..self.main_hosts
        } else {
            self.main_hosts..self.hosts.len()
        };
        self.hosts[if same_use.contains(&next) { next } else { same_use.start }]
    }

    /// Whether a connection that had to move away returns to its host: each host has its share of the connections.
    pub fn returns(&self, connection_use: ConnectionUse) -> bool {
        self.spread_of(connection_use) != Spread::First
    }

    /// The host of an endpoint; that of the TCP sample is the first.
    pub fn host_of(&self, endpoint: FirstEndpoint) -> u16 {
        let hosts = self.host_of_endpoint.get(endpoint.route_index);
        hosts.map_or(0, |hosts| hosts[usize::from(endpoint.endpoint)])
    }
}

/// The connections at one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostConnections {
    pub up: u32,
    /// Connections that were up when the load began.
    pub up_at_start: u32,
    /// How often a connection was lost.
    pub lost: u64,
    /// Connections that came up here after an attempt at another host.
    pub arrived: u64,
    /// Connections that came back here after they had been at another host.
    pub returned: u64,
}

/// A second of the load at one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSecond {
    pub committed: u64,
    pub failed: u64,
    /// Connections that were up at its end.
    pub connections: u32,
}

/// What happened at one host in a run. `C` is the counter of a histogram's bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTotals<C: Counter> {
    pub connections: HostConnections,
    /// Transactions of the window that failed.
    pub failed: u64,
    /// Response times of the committed transactions of the window.
    pub response: Distribution<C>,
    /// Each second of the load, from its start.
    pub seconds: Vec<HostSecond>,
}

impl<C: Counter> Default for HostTotals<C> {
    fn default() -> Self {
        HostTotals {
            connections: HostConnections::default(),
            failed: 0,
            response: Distribution::coarse(),
            seconds: Vec::new(),
        }
    }
}

impl<C: Counter> HostTotals<C> {
    /// Counts a transaction that ended in this second of the load.
    #[inline]
    pub(crate) fn record(&mut self, sample: &Sample, second: usize, is_in_window: bool) {
        match sample.outcome {
            Outcome::Committed => {
                self.second(second).committed += 1;
                if is_in_window {
                    self.response.record(sample.response_ns());
                }
            }
            Outcome::Failed(..) => {
                self.second(second).failed += 1;
                self.failed += u64::from(is_in_window);
            }
            Outcome::RolledBack | Outcome::Skipped => {}
        }
    }

    pub(crate) fn second(&mut self, second: usize) -> &mut HostSecond {
        if self.seconds.len() <= second {
            // Seldom: once a second at most.
            self.seconds.resize(second + 1, HostSecond::default());
        }
        &mut self.seconds[second]
    }

    /// Adds the totals of another worker, or of another process.
    pub fn add<D: Counter>(&mut self, other: &HostTotals<D>) {
        let (sum, added) = (&mut self.connections, &other.connections);
        add_counts!(sum, added, [up, up_at_start, lost, arrived, returned]);
        self.failed = self.failed.saturating_add(other.failed);
        self.response.add(&other.response);
        for (second, other) in other.seconds.iter().enumerate() {
            let sum = self.second(second);
            add_counts!(sum, other, [committed, failed, connections]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_server::{Environment, resolve};

    fn target(url: &str) -> Target {
        resolve(url, &Environment::without_home("ann")).expect("numeric addresses")
    }

    fn hosts(table: &RouteTable, numbers: std::ops::Range<u64>) -> Vec<u16> {
        let mut random = SplitMix::new(7);
        let main = ConnectionUse::Main;
        let first = numbers.map(|number| table.first_endpoint(main, number, &mut random));
        first.map(|endpoint| table.host_of(endpoint)).collect()
    }

    #[test]
    fn connections_begin_with_the_hosts_that_the_rule_says() {
        let list = target("postgres://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/d");
        let table = |spread| {
            let list = Target {
                spread,
                ..list.clone()
            };
            RouteTable::new(&list, None)
        };
        assert_eq!(hosts(&table(Spread::First), 0..4), [0, 0, 0, 0]);
        assert_eq!(hosts(&table(Spread::RoundRobin), 0..4), [0, 1, 2, 0]);
        let random = hosts(&table(Spread::Random), 0..300);
        for host in 0..3 {
            let count = random.iter().filter(|chosen| **chosen == host).count();
            // 100 are expected, plus or minus 8.
            assert!((60..140).contains(&count), "{host}: {count}");
        }
        assert_eq!(table(Spread::First).totals_len(), 3);

        // Several targets, as sysbench has them, follow the same rule.
        let two = Target {
            additional_targets: vec![target("mysql://127.0.0.1:2/d")],
            spread: Spread::RoundRobin,
            ..target("mysql://127.0.0.1:1/d")
        };
        let table = RouteTable::new(&two, None);
        assert_eq!(hosts(&table, 0..3), [0, 1, 0]);
        let second = table.first_endpoint(ConnectionUse::Main, 1, &mut SplitMix::new(0));
        assert_eq!((second.route_index, second.endpoint), (1, 0));
    }

    #[test]
    fn connections_for_reads_have_hosts_and_a_rule_of_their_own() {
        let primary = Target {
            read_target: Some(Box::new(Target {
                spread: Spread::RoundRobin,
                ..target("postgres://127.0.0.1:2,127.0.0.1:3/d")
            })),
            ..target("postgres://127.0.0.1:1/d")
        };
        let table = RouteTable::new(&primary, Some(&target("postgres://127.0.0.1:1/d")));
        assert_eq!((hosts(&table, 0..2), table.totals_len()), (vec![0, 0], 3));
        let host = |connection_use, number| {
            let mut random = SplitMix::new(7);
            let first = table.first_endpoint(connection_use, number, &mut random);
            (first.route_index, table.host_of(first))
        };
        let reads = [0, 1, 2].map(|number| host(ConnectionUse::Reads, number));
        assert_eq!(reads, [(1, 1), (1, 2), (1, 1)]);
        assert_eq!(host(ConnectionUse::TcpSample, 0), (2, 0));
    }
}
