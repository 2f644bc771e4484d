//! A load that agents drive: merges the rows that they deliver.
//!
//! In: messages of agents. Out: rows and totals of all of them together. Must never: give a result without an agent
//! that is lost, or merge a row that does not belong to the run.

use crate::carrier::Arrival;
use crate::coordinator::{Fleet, POLL_INTERVAL, no_answer};
use crate::driving::FleetJob;
use crate::ledger::LedgerPart;
use crate::message::{
    FinishedPart, FromAgent, PartHost, PartRoundTrips, RowCounts, ToAgent, add_counts,
};
use prony_drive::clock::Clock;
use prony_drive::{
    DriveResult, HostTotals, LoadStart, Observer, RunEvent, RunSlice, drain_report_ns,
};
use prony_measure::{
    Collector, InvalidInterval, PartTotals, ReceivedRow, RoundTripTimes, RunPhase, RunSchedule,
    SerializedRow,
};
use prony_plan::{Plan, Stop};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the other agents may take to end when the run has failed or is interrupted.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// How long after window and grace period an agent must have ended.
const END_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Part {
    clients: Range<u32>,
    threads: usize,
    pub measured: PartTotals,
    /// Committed transactions of each second, the warm-up included.
    pub committed_by_second: Vec<u64>,
    rows: u64,
    counts: RowCounts,
    /// Until when it has told what its clients know, nanoseconds from the start.
    told_ns: u64,
    pub start_delay_ns: Option<u64>,
    has_ended: bool,
    pub lost: Option<String>,
}

pub(crate) struct Load<'a> {
    fleet: &'a mut Fleet,
    job: &'a FleetJob<'a>,
    observer: &'a mut dyn Observer,
    start: LoadStart,
    collector: Collector,
    parts: Vec<Part>,
    events: Vec<RunEvent>,
    shares: Vec<(u64, u64)>,
    hosts: Vec<HostTotals<u64>>,
    round_trips: Option<RoundTripTimes<u64>>,
    start_delay_ns: u64,
    failure: Option<String>,
    /// When the agents were told to stop.
    stopped: Option<Instant>,
}

impl<'a> Load<'a> {
    pub fn new(
        fleet: &'a mut Fleet,
        job: &'a FleetJob<'a>,
        slices: &[RunSlice],
        start: LoadStart,
        observer: &'a mut dyn Observer,
    ) -> Load<'a> {
        let threads: Vec<usize> = slices
            .iter()
            .map(|slice| slice.threads() as usize)
            .collect();
        let part = |slice: &RunSlice| Part {
            clients: slice.clients.clone(),
            threads: slice.threads() as usize,
            committed_by_second: Vec::new(),
            measured: PartTotals::new(start.schedule.window_start_ns()),
            rows: 0,
            counts: RowCounts::default(),
            told_ns: 0,
            start_delay_ns: None,
            has_ended: false,
            lost: None,
        };
        Load {
            fleet,
            job,
            observer,
            collector: Collector::of_processes(start.schedule, start.layout, &threads),
            parts: slices.iter().map(part).collect(),
            start,
            events: Vec::new(),
            shares: Vec::new(),
            hosts: Vec::new(),
            round_trips: None,
            start_delay_ns: 0,
            failure: None,
            stopped: None,
        }
    }

    /// Collects rows until all agents have ended or are lost.
    pub fn collect(&mut self) {
        let stop = self.job.plan.drive.stop;
        let mut drain_report_ns = drain_report_ns(&self.start, stop);
        let hard_end_ns = hard_end_ns(self.job.plan, &self.start.schedule);
        while self.parts.iter().any(|part| !part.has_ended) {
            if self.job.interrupt.load(Ordering::Relaxed) {
                self.stop();
            }
            if let Some((index, arrival)) = self.fleet.next_arrival(POLL_INTERVAL) {
                self.take(index, arrival);
            }
            let now_ns = Clock::System.now_ns();
            if now_ns >= drain_report_ns {
                drain_report_ns = u64::MAX;
                self.observer.draining();
            }
            self.lose_silent(now_ns, now_ns > hard_end_ns);
            while let Some(row) = self.collector.next_row() {
                self.observer.interval_ended(&row, &self.start.schedule);
                self.collector.recycle(row);
                if self.failure.is_none()
                    && let Some(reason) = self.observer.reason_to_end()
                {
                    self.fail(reason);
                }
            }
        }
    }

    /// Ends the run, with the results so far.
    fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
        self.stop();
    }

    /// Tells all agents to stop, once.
    fn stop(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        self.stopped = Some(Instant::now());
        for (agent, part) in self.fleet.agents.iter().zip(&self.parts) {
            if !part.has_ended {
                // If it is gone, that arrives.
                let _ = agent.carrier.send(&ToAgent::Stop);
            }
        }
    }

    /// The run cannot be whole without this agent: ends it.
    fn lose(&mut self, index: usize, reason: String) {
        if self.parts[index].has_ended {
            return;
        }
        let agent = &mut self.fleet.agents[index];
        let reason = agent.reason_of_loss(reason);
        agent.carrier.kill();
        let sentence = format!("{} was lost: {reason}", agent.stored_name(index));
        self.parts[index].has_ended = true;
        self.parts[index].lost = Some(reason);
        self.collector.end_worker(index);
        self.fail(sentence);
    }

    /// Loses agents that say nothing, and those that do not end.
    fn lose_silent(&mut self, now_ns: u64, must_have_ended: bool) {
        let is_overdue = self
            .stopped
            .is_some_and(|since| since.elapsed() > STOP_TIMEOUT);
        for index in 0..self.parts.len() {
            if self.parts[index].has_ended {
                // Its silence no longer matters.
            } else if self.fleet.agents[index].carrier.is_silent(now_ns) {
                self.lose(index, no_answer());
            } else if is_overdue || must_have_ended {
                self.lose(index, "it did not end in time".to_owned());
            }
        }
    }

    fn take(&mut self, index: usize, arrival: Arrival) {
        let result = match arrival {
            Arrival::Message(FromAgent::Row(row)) => self.add_row(index, *row),
            Arrival::Message(FromAgent::Ledger(part)) => self.add_ledger(index, &part, false),
            Arrival::Message(FromAgent::Finished(part)) => self.end_part(index, *part),
            Arrival::Message(FromAgent::Tool(text)) => self.job.hear_tool(index, &text),
            Arrival::Message(FromAgent::Failed(failure)) => Err(failure.problem),
            Arrival::Message(_) => Ok(()),
            Arrival::Lost(reason) | Arrival::NotAnAgent(reason) => Err(reason),
        };
        if let Err(reason) = result {
            self.lose(index, reason);
        }
    }

    /// Merges a row.
    ///
    /// # Errors
    /// Why it is not a row of the run.
    fn add_row(&mut self, index: usize, row: SerializedRow) -> Result<(), String> {
        let part = &mut self.parts[index];
        if part.has_ended {
            return Ok(());
        }
        part.rows += 1;
        add_counts(&mut part.counts, &row);
        let [committed, ..] = row.interval.counts();
        let row = self
            .read_row(row)
            .map_err(|error| format!("it sent a second that is not one of the run: {error}"))?;
        if row.worker_cpu_ns.len() > self.parts[index].threads {
            return Err("it sent a second of more threads than it has".to_owned());
        }
        let part = &mut self.parts[index];
        part.measured.add(&row);
        let span = row.interval.span();
        let second = span.index as usize;
        if span.phase != RunPhase::Drain {
            let seconds = part.committed_by_second.len().max(second + 1);
            part.committed_by_second.resize(seconds, 0);
            part.committed_by_second[second] = committed;
        }
        self.collector.add_row(index, &row);
        Ok(())
    }

    /// Adds what the clients of an agent know of their commits.
    fn add_ledger(
        &mut self,
        index: usize,
        part: &LedgerPart,
        is_final: bool,
    ) -> Result<(), String> {
        let Some(ledger) = self.job.ledger else {
            return Ok(());
        };
        let of_agent = &mut self.parts[index];
        part.add_to(&ledger.ledger, &of_agent.clients, is_final)?;
        let now_ns = Clock::System.now_ns();
        let elapsed_ns = now_ns.saturating_sub(self.start.schedule.start_ns);
        let late_ns = elapsed_ns.saturating_sub(of_agent.told_ns);
        ledger.told_late_ns.fetch_max(late_ns, Ordering::Relaxed);
        of_agent.told_ns = of_agent.told_ns.max(part.at_ns.min(elapsed_ns));
        Ok(())
    }

    fn read_row(&self, row: SerializedRow) -> Result<ReceivedRow, InvalidInterval> {
        let now_ns = Clock::System.now_ns();
        row.into_row_of_run(&self.start.schedule, self.start.layout, now_ns)
    }

    /// Takes the end of an agent's part, and checks that all that it counted has arrived.
    fn end_part(&mut self, index: usize, finished: FinishedPart) -> Result<(), String> {
        let part = &mut self.parts[index];
        if part.has_ended {
            return Ok(());
        }
        if (finished.rows, finished.counts) != (part.rows, part.counts) {
            return Err(format!(
                "it counted {:?} transactions in {} seconds, and {:?} in {} arrived",
                finished.counts, finished.rows, part.counts, part.rows
            ));
        }
        if let Some(drain) = finished.drain {
            let row = self
                .read_row(drain)
                .map_err(|error| format!("it sent an end that is not one of the run: {error}"))?;
            self.collector.add_row(index, &row);
        }
        self.add_totals(finished.hosts, finished.round_trips)
            .map_err(|error| format!("it sent totals that are not those of the run: {error}"))?;
        if let Some(part) = &finished.ledger {
            self.add_ledger(index, part, true)?;
        }
        let part = &mut self.parts[index];
        part.has_ended = true;
        part.start_delay_ns = Some(finished.start_delay_ns);
        self.start_delay_ns = self.start_delay_ns.max(finished.start_delay_ns);
        self.collector.end_worker(index);
        let start_ns = self.start.schedule.start_ns;
        if let Some(gaps) = self.job.commit_gaps {
            gaps.add(&finished.commit_gaps, start_ns);
        }
        let events = finished.events.into_iter();
        self.events
            .extend(events.map(|event| event.on_clock(|ns| start_ns.saturating_add(ns))));
        let shares = self.shares.len().max(finished.shares.len());
        self.shares.resize(shares, (0, 0));
        for (sum, (count, total)) in self.shares.iter_mut().zip(finished.shares) {
            *sum = (sum.0.saturating_add(count), sum.1.saturating_add(total));
        }
        if let Some(failure) = finished.failure {
            let agent = self.fleet.agents[index].stored_name(index);
            let sentence = format!("{agent}: {failure}");
            self.fail(sentence);
        }
        Ok(())
    }

    /// Adds what an agent measured of each host and of each statement.
    fn add_totals(
        &mut self,
        hosts: Vec<PartHost>,
        round_trips: Option<PartRoundTrips>,
    ) -> Result<(), InvalidInterval> {
        let target = self.job.target;
        let count = target.hosts().len() + target.targets_for_reads().len();
        if !hosts.is_empty() && hosts.len() != count {
            return Err(InvalidInterval::Layout);
        }
        if !hosts.is_empty() {
            self.hosts.resize_with(count, HostTotals::default);
        }
        let now_ns = Clock::System.now_ns();
        let seconds = now_ns.saturating_sub(self.start.schedule.start_ns) / 1_000_000_000;
        for (sum, host) in self.hosts.iter_mut().zip(hosts) {
            let totals = host.into_totals()?;
            // The last second of an agent may be short, and its clock ahead.
            if totals.seconds.len() as u64 > seconds + 2 {
                return Err(InvalidInterval::Span("it lies in the future"));
            }
            sum.add(&totals);
        }
        if let Some(round_trips) = round_trips {
            let statements = self
                .job
                .ready_workload
                .program
                .statement_table()
                .statements()
                .len();
            let sum = self.round_trips.get_or_insert_default();
            round_trips.add_to(sum, statements)?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> (DriveResult, Vec<Part>, Vec<(u64, u64)>) {
        let collected = self.collector.finish();
        for row in &collected.rows {
            self.observer.interval_ended(row, &self.start.schedule);
        }
        self.events.sort_by_key(|event| event.from_ns);
        let driven = DriveResult {
            start: self.start,
            start_delay_ns: self.start_delay_ns,
            collected,
            events: self.events,
            round_trips: self.round_trips,
            hosts: self.hosts,
            interrupted: self.job.interrupt.load(Ordering::Relaxed),
            failure: self.failure,
        };
        (driven, self.parts, self.shares)
    }
}

/// When all agents must have ended, by the plan.
fn hard_end_ns(plan: &Plan, schedule: &RunSchedule) -> u64 {
    let time = match plan.drive.stop {
        Stop::After(time) | Stop::NoStartsAfter(time) => time,
        Stop::SharedTransactions { within, .. } => within,
        Stop::Transactions(_) | Stop::WorkDone => return u64::MAX,
    };
    let after_start = time
        .saturating_add(plan.drive.grace)
        .saturating_add(END_TIMEOUT);
    let after_start_ns = u64::try_from(after_start.as_nanos()).unwrap_or(u64::MAX);
    schedule.window_start_ns().saturating_add(after_start_ns)
}
