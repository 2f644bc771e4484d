//! The distributions of a run as an HdrHistogram log, for tools that read such logs.
//!
//! In: a Run. Out: lines of log format 1.3 (compressed V2 histograms in base64), which HdrHistogram's log
//! reader accepts. Must never: change a bucket, or write a count that differs from the Run's.
//!
//! A stored run has one distribution per kind for the measured window, so the log has one interval. The line
//! of all kinds together has no tag, because readers use untagged lines by default.

use crate::text::plain;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use prony_store::{Latency, Run};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Divisor of the maximum column, which is in milliseconds as in logs of other writers; histograms are in
/// nanoseconds.
const NS_PER_MS: f64 = 1e6;

pub struct HdrLog<'a> {
    run: &'a Run,
    /// Each with its tag; the one of all kinds together has none.
    intervals: Vec<(Option<String>, Histogram<u64>)>,
}

impl<'a> HdrLog<'a> {
    /// Creates the log of a run's measured window.
    pub fn of(run: &'a Run) -> Result<HdrLog<'a>, String> {
        let mut intervals = Vec::new();
        for kind in &run.measured.kinds {
            let tag = kind.kind.as_deref().map(tag_of_kind);
            let service_tag = match &tag {
                Some(tag) => format!("{tag}:service"),
                None => "service".to_owned(),
            };
            // The first entry is that of all kinds together. A document with a single kind stores the histograms only there.
            let histograms = match run.measured.kinds.as_slice() {
                [all, only] if only.response.histogram.is_empty() => all,
                _ => kind,
            };
            add_interval(&mut intervals, tag, &histograms.response)?;
            // In a closed loop, which has no lag, response time and service time are the same.
            if kind.lag.is_some() {
                add_interval(&mut intervals, Some(service_tag), &histograms.service)?;
            }
        }
        if intervals.is_empty() {
            return Err("the run has no histograms: nothing was committed".into());
        }
        Ok(HdrLog { run, intervals })
    }

    /// Writes the log. `started` is the start of the run, if known.
    pub fn write(&self, mut out: &mut dyn Write, started: Option<SystemTime>) -> io::Result<()> {
        let run = self.run;
        let mut builder = IntervalLogWriterBuilder::new();
        builder.add_comment("[Histogram log format version 1.3]");
        builder.add_comment(&plain(&format!(
            "[Prony {}: run {}, {}, the whole measured window]",
            run.build.version, run.id, run.workload.name
        )));
        builder.add_comment(
            "[Times in nanoseconds. Without a tag: response times of all kinds of transaction; with \
             one: of that kind. With :service at its end: from the actual start.]",
        );
        if let Some(started) = started {
            builder.with_start_time(started).with_base_time(started);
        }
        builder.with_max_value_divisor(NS_PER_MS);
        let mut serializer = V2DeflateSerializer::new();
        let mut log = builder.begin_log_with(&mut out, &mut serializer)?;
        let since_start = duration(run.window.connect_s + run.window.warmup_s);
        let length = duration(run.measured.length_s);
        for (tag, histogram) in &self.intervals {
            let tag = tag.as_deref().and_then(Tag::new);
            log.write_histogram(histogram, since_start, length, tag)
                .map_err(|error| match error {
                    IntervalLogWriterError::IoError(error) => error,
                    // Only a bucket with a count above i64::MAX cannot be written.
                    IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
                })?;
        }
        Ok(())
    }
}

/// Adds the histogram of `times`; does nothing if it is empty.
fn add_interval(
    intervals: &mut Vec<(Option<String>, Histogram<u64>)>,
    tag: Option<String>,
    times: &Latency,
) -> Result<(), String> {
    if times.samples > 0 && !times.histogram.is_empty() {
        intervals.push((tag, times.distribution()?.histogram));
    }
    Ok(())
}

/// The tag of a kind: its name with `_` instead of characters that separate fields and lines.
fn tag_of_kind(kind: &str) -> String {
    let replace_separator = |c: char| match c {
        ',' => '_',
        c if c.is_whitespace() || c.is_control() => '_',
        c => c,
    };
    kind.chars().map(replace_separator).collect()
}

/// Converts seconds to a duration; zero if they are invalid, as documents of other origin may be.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{self, histogram, latency_of, written};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use prony_assertions::TextAssertions;

    /// Decodes a log with HdrHistogram's reader: tag, start, length and histogram per line.
    fn read(text: &str) -> Vec<(Option<String>, f64, f64, Histogram<u64>)> {
        let mut lines = Vec::new();
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            let LogEntry::Interval(interval) = entry.expect("a line of a log") else {
                continue;
            };
            let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
            let histogram = Deserializer::new()
                .deserialize(&mut bytes.as_slice())
                .unwrap();
            lines.push((
                interval.tag().map(|tag| tag.as_str().to_owned()),
                interval.start_timestamp().as_secs_f64(),
                interval.duration().as_secs_f64(),
                histogram,
            ));
        }
        lines
    }

    #[test]
    fn a_reader_decodes_the_same_histograms() {
        let mut run = sample_run::closed();
        let first_times = || (1..5_000).map(|n| (n * 977, 1));
        let second_times = || (1..300).map(|n| (n * 10_000_001, 1));
        let (first, second) = (histogram(first_times()), histogram(second_times()));
        let mut all = first.clone();
        all.add(&second).unwrap();
        let mut third = run.measured.kinds[1].clone();
        third.kind = Some("pay, by card\n".into());
        run.measured.kinds.push(third);
        run.measured.kinds[0].response = latency_of(first_times().chain(second_times()));
        run.measured.kinds[1].response = latency_of(first_times());
        run.measured.kinds[2].response = latency_of(second_times());
        run.measured.kinds[2].lag = Some(Latency::default());
        run.measured.kinds[2].service = latency_of(first_times());
        let started = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_215_222_125);
        let log = HdrLog::of(&run).unwrap();
        let text = written(|out| log.write(out, Some(started)));
        text.assert_starts_with("#[Histogram log format version 1.3]\n#[Prony 0.1.0: run 2026");
        text.assert_contains("#[BaseTime: 1795215222.125 (seconds since epoch)]\n");
        let lines = read(&text);
        let tags: Vec<Option<&str>> = lines.iter().map(|line| line.0.as_deref()).collect();
        let sanitised = "pay__by_card_";
        assert_eq!(
            tags,
            [
                None,
                Some("tpcb"),
                Some(sanitised),
                Some("pay__by_card_:service")
            ]
        );
        for (line, expected) in lines.iter().zip([&all, &first, &second, &first]) {
            assert_eq!(&line.3, expected);
            assert_eq!((line.1, line.2), (1.1, 4.0));
        }
    }

    #[test]
    fn missing_and_invalid_histograms_are_errors() {
        let mut run = sample_run::closed();
        let error = HdrLog::of(&run).err().expect("no histograms");
        error.assert_contains("no histograms");
        let mut invalid = latency_of((1..100).map(|n| (n, 1)));
        invalid.samples = 5;
        run.measured.kinds[0].response = invalid;
        assert!(HdrLog::of(&run).is_err());
    }
}
