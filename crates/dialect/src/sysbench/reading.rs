//! What sysbench's output says: the inverse of `header`, `progress` and `report`.
//!
//! In: its standard output, of 1.0 and 1.1. Out: a [`Reported`] for each run in it. Must never: take
//! the report of a checkpoint for that of the run.

use crate::reading::{Printed, between, count, leading, relation, small, unreadable};
use prony_store::{QueryCounts, RelationKind, Reported, Second};

/// A run that is being read.
#[derive(Default)]
struct Reading {
    run: Reported,
    block: Block,
    /// Reports of checkpoints so far end here, seconds from the start.
    checkpoint_s: Option<f64>,
    /// The block that is being read is one of them.
    at_checkpoint: bool,
    began: bool,
}

/// The figures of one report.
#[derive(Clone, Default)]
struct Block {
    reads: Option<u64>,
    writes: Option<u64>,
    others: Option<u64>,
    total: Option<u64>,
    transactions: Option<(u64, Printed)>,
    queries: Option<(u64, Printed)>,
    errors: Option<u64>,
    reconnects: Option<u64>,
    total_s: Option<Printed>,
    events: Option<u64>,
    rate: Option<Printed>,
    min_ms: Option<Printed>,
    avg_ms: Option<Printed>,
    max_ms: Option<Printed>,
    sum_ms: Option<Printed>,
    percentile: Option<(f64, Printed)>,
    thread_events: Option<Printed>,
    thread_time_s: Option<Printed>,
}

/// Reads all runs in the text; none where it is not of sysbench.
pub fn read_output(text: &str) -> Vec<Reported> {
    let mut found = Vec::new();
    let mut reading: Option<Reading> = None;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("sysbench ")
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            found.extend(reading.take().and_then(Reading::end));
            let version = rest.split([' ', '(']).next().unwrap_or_default();
            let mut next = Reading::new();
            next.run.version = version.chars().take(40).collect();
            reading = Some(next);
            continue;
        }
        let begins = ["SQL statistics:", "General statistics:", "Throughput:"].contains(&line)
            || (line.starts_with('[') && line.contains(" thds: "));
        if begins && reading.is_none() {
            reading = Some(Reading::new());
        }
        if let Some(reading) = &mut reading {
            reading.line(line);
        }
    }
    found.extend(reading.and_then(Reading::end));
    found
}

impl Reading {
    fn new() -> Reading {
        let mut reading = Reading::default();
        reading.run.tool = "sysbench";
        reading
    }

    fn line(&mut self, line: &str) {
        if line.starts_with('[') {
            self.interval(line);
            return;
        }
        match line {
            "SQL statistics:" => {
                self.block = Block::default();
                self.began = true;
                return;
            }
            "General statistics:" | "Throughput:" => {
                // Without a database there is no block before this one.
                if self.block.total_s.is_some() {
                    self.block = Block::default();
                }
                self.began = true;
                return;
            }
            _ => {}
        }
        if let Some(trouble) = line.strip_prefix("FATAL: ") {
            if self.run.troubles.len() < 5 {
                self.run.troubles.push(trouble.chars().take(120).collect());
            }
            return;
        }
        let Some((key, value)) = line.split_once(':') else {
            return;
        };
        if self.known(key.trim(), value.trim()) == Some(false) {
            unreadable(&mut self.run, line);
        }
    }

    /// Whether a line that is known could be read; `None` for all others.
    fn known(&mut self, key: &str, value: &str) -> Option<bool> {
        let block = &mut self.block;
        let counted = |place: &mut Option<u64>| {
            *place = count(value).map(|(number, _)| number);
            Some(place.is_some())
        };
        match key {
            "Number of threads" => {
                self.run.threads = count(value).and_then(|(number, _)| small(number));
                self.run.clients = self.run.threads;
                return Some(self.run.threads.is_some());
            }
            "Target transaction rate" => {
                self.run.rate_tps = leading(value).map(|(rate, _)| rate.value);
                self.run.scheduled = true;
                return Some(self.run.rate_tps.is_some());
            }
            "read" => return counted(&mut block.reads),
            "write" => return counted(&mut block.writes),
            "other" => return counted(&mut block.others),
            "total" => return counted(&mut block.total),
            "ignored errors" => return counted(&mut block.errors),
            "reconnects" => return counted(&mut block.reconnects),
            "total number of events" => {
                let read = counted(&mut block.events);
                return read;
            }
            "transactions" => block.transactions = rated(value),
            "queries" if value.contains('(') => block.queries = rated(value),
            _ => return self.figure(key, value),
        }
        Some(rated(value).is_some())
    }

    fn figure(&mut self, key: &str, value: &str) -> Option<bool> {
        let block = &mut self.block;
        let number = leading(value).map(|(number, _)| number);
        let place = match key {
            "total time" | "time elapsed" => &mut block.total_s,
            "events/s (eps)" => &mut block.rate,
            "min" => &mut block.min_ms,
            "avg" => &mut block.avg_ms,
            "max" => &mut block.max_ms,
            "events (avg/stddev)" => &mut block.thread_events,
            "sum" => &mut block.sum_ms,
            "execution time (avg/stddev)" => {
                block.thread_time_s = number;
                // The last line of a report.
                self.end_of_report();
                return Some(number.is_some());
            }
            _ => {
                let which = key.strip_suffix("th percentile")?;
                let (which, rest) = leading(which)?;
                block.percentile = number.map(|number| (which.value, number));
                return Some(rest.is_empty() && number.is_some());
            }
        };
        *place = number;
        Some(number.is_some())
    }

    /// A line of `--report-interval`, or the head of a checkpoint's report.
    fn interval(&mut self, line: &str) {
        let Some((at, rest)) = between(line, "[ ", "s ]").and_then(leading) else {
            return;
        };
        if !rest.is_empty() || at.value > 1e9 {
            return;
        }
        if line.ends_with("Checkpoint report:") {
            self.at_checkpoint = true;
            self.checkpoint_s = Some(at.value);
            return;
        }
        let series = &mut self.run.series;
        let from = series.last().map_or(0.0, |last| last.at_s + last.seconds);
        let number = |name: &str| {
            let (_, rest) = line.split_once(name)?;
            leading(rest).map(|(number, _)| number.value)
        };
        let Some(tps) = number(" tps: ").or_else(|| number(" eps: ")) else {
            return;
        };
        let p95 = number("lat (ms,95%): ").filter(|ms| *ms > 0.0);
        let p99 = number("lat (ms,99%): ").filter(|ms| *ms > 0.0);
        let ns = |ms: f64| (ms * 1e6).min(1e18) as u64;
        let seconds = at.value - from;
        if seconds > 0.0 {
            series.push(Second {
                at_s: from,
                seconds,
                part: "measured".to_owned(),
                committed: (tps * seconds).round().min(1e15) as u64,
                p95_ns: p95.map(ns),
                p99_ns: p99.map(ns),
                ..Second::default()
            });
        }
    }

    fn end_of_report(&mut self) {
        if self.at_checkpoint {
            self.block = Block::default();
            self.at_checkpoint = false;
            self.began = false;
        }
    }

    /// What all lines together say; nothing where no run was (`prepare`, `cleanup`).
    fn end(self) -> Option<Reported> {
        let (mut run, block) = (self.run, self.block);
        if !self.began && run.series.is_empty() && run.threads.is_none() {
            return None;
        }
        // After a checkpoint the figures are of what came after it, the total time is not.
        let since_s = block
            .total_s
            .map(|total| total.value - self.checkpoint_s.unwrap_or(0.0));
        let since_s = since_s.filter(|since| *since > 0.0);
        run.ran_s = since_s;
        run.transactions = block.transactions.map(|(count, _)| count).or(block.events);
        let rate = block.transactions.map(|(_, rate)| rate).or(block.rate);
        run.tps = rate.map(|rate| rate.value);
        run.mean_ms = block.avg_ms.map(|mean| mean.value);
        run.mean_slack_ms = block.avg_ms.map_or(0.0, |mean| mean.slack);
        // The sum has more digits than the mean.
        if let (Some(sum), Some(events)) = (block.sum_ms, block.events.filter(|events| *events > 0))
        {
            run.mean_ms = Some(sum.value / events as f64);
            run.mean_slack_ms = sum.slack / events as f64;
        }
        run.min_ms = block.min_ms.map(|min| min.value);
        run.max_ms = block.max_ms.map(|max| max.value);
        let percentile = block.percentile.map(|(which, ms)| (which, ms.value));
        run.percentiles_ms = percentile.into_iter().collect();
        run.ignored_errors = block.errors.unwrap_or(0);
        run.queries = block.queries();
        if let Some(queries) = run.queries {
            super::mix::recognise(&mut run, &queries);
        }
        for (told, what) in [
            (
                run.transactions.is_some() || run.queries.is_some(),
                "the number of transactions",
            ),
            (block.total_s.is_some(), "the total time"),
            (block.avg_ms.is_some(), "the latency"),
            (block.thread_time_s.is_some(), "the end of its report"),
        ] {
            if !told {
                run.lacks.push(what);
            }
        }
        block.relate(&mut run, since_s, rate);
        Some(run)
    }
}

impl Block {
    fn queries(&self) -> Option<QueryCounts> {
        Some(QueryCounts {
            reads: self.reads?,
            writes: self.writes?,
            others: self.others.unwrap_or(0),
            ignored_errors: self.errors.unwrap_or(0),
            reconnects: self.reconnects.unwrap_or(0),
        })
    }

    fn relate(&self, run: &mut Reported, since_s: Option<f64>, rate: Option<Printed>) {
        self.relate_counts(run, since_s, rate);
        self.relate_threads(run);
        self.relate_latencies(run);
    }

    fn relate_counts(&self, run: &mut Reported, since_s: Option<f64>, rate: Option<Printed>) {
        use RelationKind::{Sum, Time};
        let mut add = |kind, what: [&str; 2], says: f64, follows: f64, slack: f64| {
            run.relations
                .push(relation(kind, what, says, follows, slack));
        };
        if let (Some(total), Some(reads), Some(writes), Some(others)) =
            (self.total, self.reads, self.writes, self.others)
        {
            let sum = reads as f64 + writes as f64 + others as f64;
            add(
                Sum,
                ["queries, total", "read + write + other"],
                total as f64,
                sum,
                0.0,
            );
            if let Some((again, _)) = self.queries {
                let what = ["queries, in the line with the rate", "queries, total"];
                add(Sum, what, again as f64, total as f64, 0.0);
            }
        }
        if let (Some((transactions, _)), Some(events)) = (self.transactions, self.events) {
            let what = ["total number of events", "transactions"];
            add(Sum, what, events as f64, transactions as f64, 0.0);
        }
        let counted = self.transactions.map(|(count, _)| count).or(self.events);
        for (name, count, rate) in [
            ("transactions / their rate", counted, rate),
            (
                "queries / their rate",
                self.queries.map(|it| it.0),
                self.queries.map(|it| it.1),
            ),
        ] {
            if let (Some(count), Some(rate), Some(since_s)) = (count, rate, since_s)
                && rate.value > 0.0
            {
                let follows = count as f64 / rate.value;
                let slack =
                    follows * rate.slack / rate.value + self.total_s.map_or(0.0, |it| it.slack);
                add(Time, ["total time", name], since_s, follows, slack);
            }
        }
    }

    fn relate_threads(&self, run: &mut Reported) {
        use RelationKind::Share;
        let threads = run.threads.map(f64::from);
        if let (Some(threads), Some(mean), Some(events)) =
            (threads, self.thread_events, self.events)
        {
            let slack = mean.slack * threads;
            let what = ["total number of events", "events of a thread x threads"];
            run.relations.push(relation(
                Share,
                what,
                events as f64,
                mean.value * threads,
                slack,
            ));
        }
        if let (Some(threads), Some(mean), Some(sum)) = (threads, self.thread_time_s, self.sum_ms) {
            let slack = mean.slack * threads + sum.slack / 1e3;
            let what = ["latency, sum, s", "execution time of a thread x threads"];
            let follows = mean.value * threads;
            run.relations
                .push(relation(Share, what, sum.value / 1e3, follows, slack));
        }
    }

    fn relate_latencies(&self, run: &mut Reported) {
        use RelationKind::{AtMost, Share};
        if let (Some(avg), Some(sum), Some(events)) = (self.avg_ms, self.sum_ms, self.events)
            && events > 0
        {
            let follows = sum.value / events as f64;
            run.relations.push(relation(
                Share,
                ["latency, avg, ms", "sum / events"],
                avg.value,
                follows,
                avg.slack,
            ));
        }
        let at_most = [
            (["latency, min, ms", "avg"], self.min_ms, self.avg_ms, 0.0),
            (["latency, avg, ms", "max"], self.avg_ms, self.max_ms, 0.0),
            // A percentile is the upper end of a bar of the histogram, 2 % wide.
            (
                ["latency, percentile, ms", "max"],
                self.percentile.map(|it| it.1),
                self.max_ms,
                0.02,
            ),
        ];
        for (what, less, more, width) in at_most {
            if let (Some(less), Some(more)) = (less, more) {
                let slack = less.slack + more.slack + width * more.value;
                run.relations
                    .push(relation(AtMost, what, less.value, more.value, slack));
            }
        }
    }
}

/// A count with its rate: `4694   (1444.52 per sec.)`.
fn rated(value: &str) -> Option<(u64, Printed)> {
    let (number, rest) = count(value)?;
    let inside = between(rest, "(", " per sec.")?;
    leading(inside).map(|(rate, _)| (number, rate))
}
