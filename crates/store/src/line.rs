//! The lines of a journal.
//!
//! In: rows of `measure`; or a line again. Out: the other. Must never: believe a line whose
//! histogram does not fit its count.

use crate::histogram::{decode_histogram, encode_histogram};
use crate::observed::ServerSecond;
use crate::run::{Event, Run};
use hdrhistogram::Counter;
use prony_measure::{
    Batch, Distribution, ErrorClass, Health, Interval, Leftover, Part, PartTimes, ProcessHealth,
    Queries, Row, Span, StampCounts, Tally,
};
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    /// All that is known but figures; a later one replaces an earlier one.
    Run(Box<Run>),
    /// One row of figures.
    Second(Box<SecondLine>),
    /// Something that happened.
    Event(Event),
    /// What the server showed from one reading to the next.
    Server(Box<ServerSecond>),
    /// Something that happened in the server.
    ServerEvent(Event),
}

/// One row of figures. Times are nanoseconds from the start of the load.
#[derive(Serialize, Deserialize)]
pub(crate) struct SecondLine {
    index: u32,
    part: String,
    start_ns: u64,
    end_ns: u64,
    kinds: Vec<KindLine>,
    errors: Vec<ErrorLine>,
    other_errors: u64,
    cpu_user_ns: Option<u64>,
    cpu_system_ns: Option<u64>,
    run_queue_ns: Option<u64>,
    turns: u64,
    turn_max_ns: u64,
    replies: u64,
    connections: u32,
    /// Under it, left, refused.
    #[serde(default)]
    batch: [u32; 3],
    worker_cpu_ns: Vec<Option<u64>>,
    memory_peak_bytes: Option<u64>,
    steal_ticks: Option<u64>,
    total_ticks: Option<u64>,
    /// Stamped, unstamped, impossible, doubtful, clock steps, send cost sum, transmit stamps.
    stamps: [u64; 7],
    /// Unfinished, never started, misplaced.
    leftover: [u64; 3],
    /// Reads, writes, others, ignored errors, reconnects.
    #[serde(default)]
    queries: [u64; 5],
}

#[derive(Serialize, Deserialize)]
struct KindLine {
    /// Committed, rolled back, failed, skipped, retries.
    counts: [u64; 5],
    #[serde(default)]
    retried: u64,
    #[serde(default)]
    late: u64,
    busy_ns: u64,
    response: TimesLine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<TimesLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag: Option<TimesLine>,
    /// Send wait, server, client wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<[TimesLine; 3]>,
    #[serde(default)]
    upper_bounds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connect: Option<TimesLine>,
}

#[derive(Serialize, Deserialize)]
struct TimesLine {
    samples: u64,
    sum_ns: u64,
    #[serde(default)]
    squares_ns2: f64,
    min_ns: u64,
    max_ns: u64,
    histogram: String,
}

#[derive(Serialize, Deserialize)]
struct ErrorLine {
    kind: u16,
    class: String,
    code: String,
    count: u64,
    example: String,
}

impl SecondLine {
    /// The line of a row; `load_start_ns` is the start of the load on the run's clock.
    pub(crate) fn of(row: &Row, load_start_ns: u64) -> SecondLine {
        let interval = &row.interval;
        let (span, health, stamps) = (interval.span, interval.health, interval.stamps);
        let (left, queries) = (interval.leftover, interval.queries);
        let errors = interval.errors.entries().iter().map(|entry| ErrorLine {
            kind: entry.kind,
            class: entry.class.name().into(),
            code: String::from_utf8_lossy(&entry.code).into_owned(),
            count: entry.count,
            example: entry.example.clone(),
        });
        SecondLine {
            index: span.index,
            part: span.part.name().into(),
            start_ns: span.start_ns.saturating_sub(load_start_ns),
            end_ns: span.end_ns.saturating_sub(load_start_ns),
            kinds: interval.kinds.iter().map(KindLine::of).collect(),
            errors: errors.collect(),
            other_errors: interval.errors.others(),
            cpu_user_ns: health.cpu_user_ns,
            cpu_system_ns: health.cpu_system_ns,
            run_queue_ns: health.run_queue_ns,
            turns: health.turns,
            turn_max_ns: health.turn_max_ns,
            replies: health.replies,
            connections: health.connections,
            batch: [health.batch.under, health.batch.left, health.batch.refused],
            worker_cpu_ns: row.worker_cpu_ns.clone(),
            memory_peak_bytes: row.process.memory_peak_bytes,
            steal_ticks: row.process.steal_ticks,
            total_ticks: row.process.total_ticks,
            stamps: [
                stamps.stamped,
                stamps.unstamped,
                stamps.impossible,
                stamps.doubtful,
                stamps.clock_steps,
                stamps.send_cost_sum_ns,
                stamps.transmit_stamps,
            ],
            leftover: [left.unfinished, left.never_started, left.misplaced],
            queries: [
                queries.reads,
                queries.writes,
                queries.others,
                queries.errors,
                queries.reconnects,
            ],
        }
    }

    /// The row again; in words, what is wrong with it.
    pub(crate) fn row(self) -> Result<Row, String> {
        let part = Part::from_name(&self.part).ok_or("an unknown part")?;
        let mut interval = Interval::empty(Span {
            index: self.index,
            part,
            start_ns: self.start_ns,
            end_ns: self.end_ns.max(self.start_ns),
        });
        let kinds = self.kinds.into_iter().map(KindLine::tally);
        interval.kinds = kinds.collect::<Result<_, _>>()?;
        for error in self.errors {
            let class = ErrorClass::from_name(&error.class).ok_or("an unknown class of error")?;
            let code = error.code.as_bytes().try_into();
            let code = code.map_err(|_| "a code that has not five letters")?;
            interval.errors.count(error.kind, class, code, error.count);
            interval
                .errors
                .example(error.kind, class, code, &error.example);
        }
        interval.errors.count_others(self.other_errors);
        let [under, left, refused] = self.batch;
        interval.health = Health {
            cpu_user_ns: self.cpu_user_ns,
            cpu_system_ns: self.cpu_system_ns,
            run_queue_ns: self.run_queue_ns,
            turns: self.turns,
            turn_max_ns: self.turn_max_ns,
            replies: self.replies,
            connections: self.connections,
            batch: Batch {
                under,
                left,
                refused,
            },
            ..Health::default()
        };
        let [
            stamped,
            unstamped,
            impossible,
            doubtful,
            clock_steps,
            send_cost_sum_ns,
            transmit_stamps,
        ] = self.stamps;
        interval.stamps = StampCounts {
            stamped,
            unstamped,
            impossible,
            doubtful,
            clock_steps,
            send_cost_sum_ns,
            transmit_stamps,
        };
        let [unfinished, never_started, misplaced] = self.leftover;
        interval.leftover = Leftover {
            unfinished,
            never_started,
            misplaced,
        };
        let [reads, writes, others, errors, reconnects] = self.queries;
        interval.queries = Queries {
            reads,
            writes,
            others,
            errors,
            reconnects,
        };
        Ok(Row {
            interval: Box::new(interval),
            worker_cpu_ns: self.worker_cpu_ns,
            process: ProcessHealth {
                memory_peak_bytes: self.memory_peak_bytes,
                steal_ticks: self.steal_ticks,
                total_ticks: self.total_ticks,
            },
        })
    }
}

impl KindLine {
    fn of(tally: &Tally<u32>) -> KindLine {
        let parts = tally.parts.as_ref();
        KindLine {
            counts: [
                tally.committed,
                tally.rolled_back,
                tally.failed,
                tally.skipped,
                tally.retries,
            ],
            retried: tally.retried,
            late: tally.late,
            busy_ns: clip(tally.busy_ns),
            response: TimesLine::of(&tally.response),
            service: tally.service.as_ref().map(TimesLine::of),
            lag: tally.lag.as_ref().map(TimesLine::of),
            parts: parts.map(|p| [&p.send_wait, &p.server, &p.client_wait].map(TimesLine::of)),
            upper_bounds: parts.map_or(0, |parts| parts.upper_bounds),
            connect: tally.connect.as_ref().map(TimesLine::of),
        }
    }

    fn tally(self) -> Result<Tally<u32>, String> {
        let [committed, rolled_back, failed, skipped, retries] = self.counts;
        let parts = match self.parts {
            None => None,
            Some([send_wait, server, client_wait]) => Some(PartTimes {
                send_wait: send_wait.times()?,
                server: server.times()?,
                client_wait: client_wait.times()?,
                upper_bounds: self.upper_bounds,
            }),
        };
        Ok(Tally {
            committed,
            rolled_back,
            failed,
            skipped,
            retries,
            retried: self.retried,
            late: self.late,
            limit_ns: u64::MAX,
            busy_ns: u128::from(self.busy_ns),
            response: self.response.times()?,
            service: self.service.map(TimesLine::times).transpose()?,
            lag: self.lag.map(TimesLine::times).transpose()?,
            parts,
            connect: self.connect.map(TimesLine::times).transpose()?,
        })
    }
}

impl TimesLine {
    fn of<C: Counter>(times: &Distribution<C>) -> TimesLine {
        TimesLine {
            samples: times.samples,
            sum_ns: clip(times.sum_ns),
            squares_ns2: times.squares_ns2,
            min_ns: times.min_ns,
            max_ns: times.max_ns,
            histogram: encode_histogram(&times.histogram),
        }
    }

    fn times(self) -> Result<Distribution<u32>, String> {
        let mut times = Distribution::default();
        if self.samples > 0 {
            times.histogram = decode_histogram(&self.histogram)?;
        }
        if times.histogram.len() != self.samples || self.min_ns > self.max_ns {
            return Err("a histogram that does not fit its count".into());
        }
        times.samples = self.samples;
        times.sum_ns = u128::from(self.sum_ns);
        times.squares_ns2 = self.squares_ns2;
        times.min_ns = self.min_ns;
        times.max_ns = self.max_ns;
        Ok(times)
    }
}

/// The sum of an interval's times fits 64 bits: 584 years.
fn clip(sum_ns: u128) -> u64 {
    u64::try_from(sum_ns).unwrap_or(u64::MAX)
}
