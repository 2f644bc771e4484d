//! Reads results from the output of sysbench 1.0 and 1.1: its header, progress lines and reports.
//!
//! Must never: take a checkpoint's report for the report of the run.

use crate::reading::{
    PrintedNumber, add_missing_parts, add_relation, count, leading_count, leading_number, number,
    record_unreadable, small_count, text_between,
};
use prony_store::{QueryCounts, RelationKind, ReportedRun, Second, SecondPhase};

#[derive(Default)]
struct OutputReader {
    run: ReportedRun,
    figures: ReportFigures,
    /// The time of the last checkpoint, in seconds from the start.
    checkpoint_s: Option<f64>,
    /// Whether the report that is being read is a checkpoint's.
    in_checkpoint: bool,
    has_report: bool,
}

#[derive(Clone, Default)]
struct ReportFigures {
    reads: Option<u64>,
    writes: Option<u64>,
    others: Option<u64>,
    total_queries: Option<u64>,
    /// The count, and its rate per second.
    transactions: Option<(u64, PrintedNumber)>,
    /// The count, and its rate per second.
    queries: Option<(u64, PrintedNumber)>,
    errors: Option<u64>,
    reconnects: Option<u64>,
    total_s: Option<PrintedNumber>,
    events: Option<u64>,
    rate: Option<PrintedNumber>,
    min_ms: Option<PrintedNumber>,
    avg_ms: Option<PrintedNumber>,
    max_ms: Option<PrintedNumber>,
    sum_ms: Option<PrintedNumber>,
    /// Per cent, and the latency in ms.
    percentile: Option<(f64, PrintedNumber)>,
    thread_events: Option<PrintedNumber>,
    thread_time_s: Option<PrintedNumber>,
}

/// Reads all runs in the text; empty if the text is not sysbench's output.
pub fn read_output(text: &str) -> Vec<ReportedRun> {
    let mut runs = Vec::new();
    let mut reader: Option<OutputReader> = None;
    for line in text.lines().map(str::trim) {
        if let Some(version_text) = line.strip_prefix("sysbench ")
            && version_text.starts_with(|c: char| c.is_ascii_digit())
        {
            runs.extend(reader.take().and_then(OutputReader::finish));
            let version = version_text.split([' ', '(']).next().unwrap_or_default();
            let mut new_reader = OutputReader::new();
            new_reader.run.version = version.chars().take(40).collect();
            reader = Some(new_reader);
            continue;
        }
        let starts_report = ["SQL statistics:", "General statistics:", "Throughput:"]
            .contains(&line)
            || (line.starts_with('[') && line.contains(" thds: "));
        if starts_report && reader.is_none() {
            reader = Some(OutputReader::new());
        }
        if let Some(reader) = &mut reader {
            reader.read_line(line);
        }
    }
    runs.extend(reader.and_then(OutputReader::finish));
    runs
}

impl OutputReader {
    fn new() -> OutputReader {
        let mut reader = OutputReader::default();
        reader.run.tool = "sysbench";
        reader
    }

    fn read_line(&mut self, line: &str) {
        if line.starts_with('[') {
            self.read_interval(line);
            return;
        }
        match line {
            "SQL statistics:" => {
                self.figures = ReportFigures::default();
                self.has_report = true;
                return;
            }
            "General statistics:" | "Throughput:" => {
                // Without a database, this is the first block of a report.
                if self.figures.total_s.is_some() {
                    self.figures = ReportFigures::default();
                }
                self.has_report = true;
                return;
            }
            _ => {}
        }
        if let Some(message) = line.strip_prefix("FATAL: ") {
            if self.run.messages.len() < 5 {
                self.run.messages.push(message.chars().take(120).collect());
            }
            return;
        }
        let Some((key, value)) = line.split_once(':') else {
            return;
        };
        if self.read_value(key.trim(), value.trim()) == Some(false) {
            record_unreadable(&mut self.run, line);
        }
    }

    /// Reads a line with a known key. Returns whether its value was readable; `None` for an unknown key.
    fn read_value(&mut self, key: &str, value: &str) -> Option<bool> {
        let figures = &mut self.figures;
        let read_count = |field: &mut Option<u64>| {
            *field = count(value);
            Some(field.is_some())
        };
        match key {
            "Number of threads" => {
                self.run.threads = small_count(value);
                self.run.clients = self.run.threads;
                return Some(self.run.threads.is_some());
            }
            "Target transaction rate" => {
                self.run.rate_tps = number(value).map(|rate| rate.value);
                self.run.scheduled = true;
                return Some(self.run.rate_tps.is_some());
            }
            "read" => return read_count(&mut figures.reads),
            "write" => return read_count(&mut figures.writes),
            "other" => return read_count(&mut figures.others),
            "total" => return read_count(&mut figures.total_queries),
            "ignored errors" => return read_count(&mut figures.errors),
            "reconnects" => return read_count(&mut figures.reconnects),
            "total number of events" => return read_count(&mut figures.events),
            "transactions" => figures.transactions = count_with_rate(value),
            "queries" if value.contains('(') => figures.queries = count_with_rate(value),
            _ => return self.read_figure(key, value),
        }
        Some(count_with_rate(value).is_some())
    }

    /// As [`OutputReader::read_value`], for a key whose value is a number that may have decimals.
    fn read_figure(&mut self, key: &str, value: &str) -> Option<bool> {
        let figures = &mut self.figures;
        let number = number(value);
        let field = match key {
            "total time" | "time elapsed" => &mut figures.total_s,
            "events/s (eps)" => &mut figures.rate,
            "min" => &mut figures.min_ms,
            "avg" => &mut figures.avg_ms,
            "max" => &mut figures.max_ms,
            "events (avg/stddev)" => &mut figures.thread_events,
            "sum" => &mut figures.sum_ms,
            "execution time (avg/stddev)" => {
                figures.thread_time_s = number;
                // This line is the last one of a report.
                self.finish_report();
                return Some(number.is_some());
            }
            _ => {
                let percent = key.strip_suffix("th percentile")?;
                let (percent, remaining) = leading_number(percent)?;
                figures.percentile = number.map(|number| (percent.value, number));
                return Some(remaining.is_empty() && number.is_some());
            }
        };
        *field = number;
        Some(number.is_some())
    }

    /// Reads a line of `--report-interval`, or the header of a checkpoint's report.
    fn read_interval(&mut self, line: &str) {
        let Some((time, remaining)) = text_between(line, "[ ", "s ]").and_then(leading_number)
        else {
            return;
        };
        if !remaining.is_empty() || time.value > 1e9 {
            return;
        }
        if line.ends_with("Checkpoint report:") {
            self.in_checkpoint = true;
            self.checkpoint_s = Some(time.value);
            return;
        }
        let series = &mut self.run.series;
        let start_s = series.last().map_or(0.0, |last| last.at_s + last.length_s);
        let figure = |name: &str| Some(number(line.split_once(name)?.1)?.value);
        let Some(tps) = figure(" tps: ").or_else(|| figure(" eps: ")) else {
            return;
        };
        let p95 = figure("lat (ms,95%): ").filter(|ms| *ms > 0.0);
        let p99 = figure("lat (ms,99%): ").filter(|ms| *ms > 0.0);
        let ns = |ms: f64| (ms * 1e6).min(1e18) as u64;
        let seconds = time.value - start_s;
        if seconds > 0.0 {
            series.push(Second {
                at_s: start_s,
                length_s: seconds,
                phase: SecondPhase::Measured,
                committed: (tps * seconds).round().min(1e15) as u64,
                p95_ns: p95.map(ns),
                p99_ns: p99.map(ns),
                ..Second::default()
            });
        }
    }

    /// Ends a report: the figures of a checkpoint's report are dropped.
    fn finish_report(&mut self) {
        if self.in_checkpoint {
            self.figures = ReportFigures::default();
            self.in_checkpoint = false;
            self.has_report = false;
        }
    }

    /// Ends the output and returns the run; `None` if the output is of a command without a run, such as
    /// `prepare`.
    fn finish(self) -> Option<ReportedRun> {
        let (mut run, figures) = (self.run, self.figures);
        if !self.has_report && run.series.is_empty() && run.threads.is_none() {
            return None;
        }
        // After a checkpoint, the figures cover the time since the checkpoint; the total time covers the run.
        let total_s = figures.total_s.map(|total| total.value);
        let covered_s = total_s.map(|total_s| total_s - self.checkpoint_s.unwrap_or(0.0));
        let covered_s = covered_s.filter(|seconds| *seconds > 0.0);
        run.actual_s = covered_s;
        let (transactions, rate) = figures.transactions.unzip();
        run.transactions = transactions.or(figures.events);
        let rate = rate.or(figures.rate);
        run.tps = rate.map(|rate| rate.value);
        run.mean_ms = figures.avg_ms.map(|mean| mean.value);
        run.mean_tolerance_ms = figures.avg_ms.map_or(0.0, |mean| mean.tolerance);
        // Compute the mean from the sum, which is printed with more digits than the mean.
        if let (Some(sum), Some(events)) =
            (figures.sum_ms, figures.events.filter(|events| *events > 0))
        {
            run.mean_ms = Some(sum.value / events as f64);
            run.mean_tolerance_ms = sum.tolerance / events as f64;
        }
        run.min_ms = figures.min_ms.map(|min| min.value);
        run.max_ms = figures.max_ms.map(|max| max.value);
        let percentile = figures.percentile.map(|(percent, ms)| (percent, ms.value));
        run.percentiles_ms = percentile.into_iter().collect();
        run.ignored_errors = figures.errors.unwrap_or(0);
        run.queries = figures.queries();
        if let Some(queries) = run.queries {
            super::mix::identify_test(&mut run, &queries);
        }
        let has_count = run.transactions.is_some() || run.queries.is_some();
        let parts = [
            (has_count, "the number of transactions"),
            (figures.total_s.is_some(), "the total time"),
            (figures.avg_ms.is_some(), "the latency"),
            (figures.thread_time_s.is_some(), "the end of its report"),
        ];
        add_missing_parts(&mut run, &parts);
        figures.add_count_relations(&mut run, covered_s, rate);
        figures.add_thread_relations(&mut run);
        figures.add_latency_relations(&mut run);
        Some(run)
    }
}

impl ReportFigures {
    fn queries(&self) -> Option<QueryCounts> {
        Some(QueryCounts {
            reads: self.reads?,
            writes: self.writes?,
            others: self.others.unwrap_or(0),
            ignored_errors: self.errors.unwrap_or(0),
            reconnects: self.reconnects.unwrap_or(0),
        })
    }

    fn add_count_relations(
        &self,
        run: &mut ReportedRun,
        covered_s: Option<f64>,
        rate: Option<PrintedNumber>,
    ) {
        use RelationKind::{Sum, Time};
        if let (Some(total), Some(reads), Some(writes), Some(others)) =
            (self.total_queries, self.reads, self.writes, self.others)
        {
            let names = ["queries, total", "read + write + other"];
            let sum = reads as f64 + writes as f64 + others as f64;
            add_relation(run, Sum, names, [total as f64, sum], 0.0);
            if let Some((queries, _)) = self.queries {
                let names = ["queries, in the line with the rate", "queries, total"];
                add_relation(run, Sum, names, [queries as f64, total as f64], 0.0);
            }
        }
        if let (Some((transactions, _)), Some(events)) = (self.transactions, self.events) {
            let names = ["total number of events", "transactions"];
            add_relation(run, Sum, names, [events as f64, transactions as f64], 0.0);
        }
        let transactions = self.transactions.map(|(count, _)| count).or(self.events);
        let (queries, query_rate) = self.queries.unzip();
        for (name, count, rate) in [
            ("transactions / their rate", transactions, rate),
            ("queries / their rate", queries, query_rate),
        ] {
            if let (Some(count), Some(rate), Some(covered_s)) = (count, rate, covered_s)
                && rate.value > 0.0
            {
                let derived = count as f64 / rate.value;
                let tolerance = derived * rate.tolerance / rate.value
                    + self.total_s.map_or(0.0, |total| total.tolerance);
                let names = ["total time", name];
                add_relation(run, Time, names, [covered_s, derived], tolerance);
            }
        }
    }

    fn add_thread_relations(&self, run: &mut ReportedRun) {
        use RelationKind::Share;
        let threads = run.threads.map(f64::from);
        if let (Some(threads), Some(mean), Some(events)) =
            (threads, self.thread_events, self.events)
        {
            let names = ["total number of events", "events of a thread x threads"];
            let figures = [events as f64, mean.value * threads];
            add_relation(run, Share, names, figures, mean.tolerance * threads);
        }
        if let (Some(threads), Some(mean), Some(sum)) = (threads, self.thread_time_s, self.sum_ms) {
            let tolerance = mean.tolerance * threads + sum.tolerance / 1e3;
            let names = ["latency, sum, s", "execution time of a thread x threads"];
            let figures = [sum.value / 1e3, mean.value * threads];
            add_relation(run, Share, names, figures, tolerance);
        }
    }

    fn add_latency_relations(&self, run: &mut ReportedRun) {
        use RelationKind::{AtMost, Share};
        if let (Some(avg), Some(sum), Some(events)) = (self.avg_ms, self.sum_ms, self.events)
            && events > 0
        {
            let names = ["latency, avg, ms", "sum / events"];
            let figures = [avg.value, sum.value / events as f64];
            add_relation(run, Share, names, figures, avg.tolerance);
        }
        let percentile_ms = self.percentile.map(|(_, ms)| ms);
        let mut add_at_most =
            |names: [&str; 2], figures: [Option<PrintedNumber>; 2], bucket_width: f64| {
                if let [Some(smaller), Some(larger)] = figures {
                    let bucket = bucket_width * larger.value;
                    let tolerance = smaller.tolerance + larger.tolerance + bucket;
                    let figures = [smaller.value, larger.value];
                    add_relation(run, AtMost, names, figures, tolerance);
                }
            };
        add_at_most(["latency, min, ms", "avg"], [self.min_ms, self.avg_ms], 0.0);
        add_at_most(["latency, avg, ms", "max"], [self.avg_ms, self.max_ms], 0.0);
        // A percentile is the value of a histogram's bucket, and buckets are 2 % wide.
        let names = ["latency, percentile, ms", "max"];
        add_at_most(names, [percentile_ms, self.max_ms], 0.02);
    }
}

/// Reads a count with its rate: `4694   (1444.52 per sec.)`.
fn count_with_rate(value: &str) -> Option<(u64, PrintedNumber)> {
    let (transactions, remaining) = leading_count(value)?;
    Some((
        transactions,
        number(text_between(remaining, "(", " per sec.")?)?,
    ))
}
