//! The hosts that a run's connections are spread over: with which one a connection begins, and what each of them did.
//!
//! In: targets, connections that come up or are lost, samples. Out: [`HostTotals`]. Must never: allocate for a
//! transaction.

use crate::link::Routes;
use prony_measure::{Counter, Distribution, Outcome, Sample};
use prony_plan::{SplitMix, Spread};
use prony_server::Target;

/// The routes of a run, and its hosts.
pub(crate) struct RouteTable {
    /// The routes to each target, and then those of the TCP sample.
    pub routes: Vec<Routes>,
    /// Where a connection to each host begins.
    hosts: Vec<FirstEndpoint>,
    /// The host of each endpoint, by target.
    host_of_endpoint: Vec<Vec<u16>>,
    spread: Spread,
}

/// Where a connection begins: an endpoint of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstEndpoint {
    /// Index of the target's routes.
    pub route_index: usize,
    /// Index of the endpoint among those of the target.
    pub endpoint: u16,
}

impl RouteTable {
    /// The routes to these targets, over whose hosts connections are spread, and that of the TCP sample.
    pub fn new<'t>(
        targets: impl Iterator<Item = &'t Target>,
        tcp_target: Option<&Target>,
        spread: Spread,
    ) -> RouteTable {
        let mut table = RouteTable {
            routes: Vec::new(),
            hosts: Vec::new(),
            host_of_endpoint: Vec::new(),
            spread,
        };
        for target in targets {
            let mut host_of_endpoint = Vec::new();
            for range in target.hosts() {
                let host = table.hosts.len() as u16;
                table.hosts.push(FirstEndpoint {
                    route_index: table.routes.len(),
                    endpoint: range.start as u16,
                });
                host_of_endpoint.extend(range.map(|_| host));
            }
            table.host_of_endpoint.push(host_of_endpoint);
            table.routes.push(Routes::new(target));
        }
        table.routes.extend(tcp_target.map(Routes::new));
        table
    }

    /// Number of hosts for which there are totals: none if there is only one host.
    pub fn totals_len(&self) -> usize {
        if self.hosts.len() > 1 {
            self.hosts.len()
        } else {
            0
        }
    }

    /// The host with which an attempt to connect begins. `number`: that of the connection in the run.
    pub fn first_endpoint(&self, number: u64, random: &mut SplitMix) -> FirstEndpoint {
        let count = self.hosts.len() as u64;
        let index = match self.spread {
            Spread::First => 0,
            Spread::RoundRobin => number % count,
            Spread::Random => random.below(self.hosts.len()) as u64,
        };
        self.hosts[index as usize]
    }

    /// The host of an endpoint; that of the TCP sample is the first.
    pub fn host_of(&self, endpoint: FirstEndpoint) -> u16 {
        let hosts = self.host_of_endpoint.get(endpoint.route_index);
        hosts.map_or(0, |hosts| hosts[usize::from(endpoint.endpoint)])
    }
}

/// The connections of a worker at one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostConnections {
    pub up: u32,
    pub up_at_start: u32,
    pub lost: u64,
    pub arrived: u64,
}

/// What happened at one host in a run. `C` is the counter of a histogram's bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTotals<C: Counter> {
    /// Connections that were up when the load began.
    pub up_at_start: u32,
    /// Connections that were up at its end.
    pub up_at_end: u32,
    /// How often a connection was lost.
    pub lost: u64,
    /// Connections that came up here after an attempt at another host.
    pub arrived: u64,
    /// Transactions of the window that failed.
    pub failed: u64,
    /// Response times of the committed transactions of the window.
    pub response: Distribution<C>,
}

impl<C: Counter> Default for HostTotals<C> {
    fn default() -> Self {
        HostTotals {
            up_at_start: 0,
            up_at_end: 0,
            lost: 0,
            arrived: 0,
            failed: 0,
            response: Distribution::coarse(),
        }
    }
}

impl<C: Counter> HostTotals<C> {
    /// Counts a transaction of the window.
    #[inline]
    pub(crate) fn record(&mut self, sample: &Sample) {
        match sample.outcome {
            Outcome::Committed => self.response.record(sample.response_ns()),
            Outcome::Failed(..) => self.failed += 1,
            Outcome::RolledBack | Outcome::Skipped => {}
        }
    }

    pub(crate) fn set_connections(&mut self, connections: HostConnections) {
        self.up_at_start = connections.up_at_start;
        self.up_at_end = connections.up;
        self.lost = connections.lost;
        self.arrived = connections.arrived;
    }

    /// Adds the totals of another worker, or of another process.
    pub fn add<D: Counter>(&mut self, other: &HostTotals<D>) {
        self.up_at_start += other.up_at_start;
        self.up_at_end += other.up_at_end;
        self.lost += other.lost;
        self.arrived += other.arrived;
        self.failed += other.failed;
        self.response.add(&other.response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_server::{Environment, resolve};

    fn target(url: &str) -> Target {
        resolve(url, &Environment::without_home("ann")).expect("numeric addresses")
    }

    /// The hosts with which these connections begin.
    fn hosts(table: &RouteTable, numbers: std::ops::Range<u64>) -> Vec<u16> {
        let mut random = SplitMix::new(7);
        let first = numbers.map(|number| table.first_endpoint(number, &mut random));
        first.map(|endpoint| table.host_of(endpoint)).collect()
    }

    #[test]
    fn connections_begin_with_the_hosts_that_the_rule_says() {
        let list = target("postgres://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/d");
        let table = |spread| RouteTable::new(std::iter::once(&list), None, spread);
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
        let other = target("mysql://127.0.0.1:2/d");
        let targets = [&target("mysql://127.0.0.1:1/d"), &other];
        let table = RouteTable::new(targets.into_iter(), None, Spread::RoundRobin);
        assert_eq!(hosts(&table, 0..3), [0, 1, 0]);
        let second = table.first_endpoint(1, &mut SplitMix::new(0));
        assert_eq!((second.route_index, second.endpoint), (1, 0));
    }
}
