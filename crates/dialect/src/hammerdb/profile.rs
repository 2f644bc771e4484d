//! Writes the time profile (`pg_timeprofile`) as xtprof does.
//!
//! In: timings as plain data. Out: the text of `hdbxtprofile.log`. Must never: count a call twice in the
//! summary, as HammerDB 4.6 does if it stores jobs.

use prony_measure::{Counter, Distribution};

/// The timings of one routine, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcTiming {
    /// `NEWORD`, `PAYMENT`, `DELIVERY`, `SLEV` or `OSTAT`.
    pub name: String,
    pub calls: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub total_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 95th percentile.
    pub p95_ns: u64,
    pub p50_ns: u64,
    pub deviation_ns: f64,
}

impl ProcTiming {
    /// The timings of a routine; `None` if it was not called.
    pub fn of<C: Counter>(routine: &str, times: &Distribution<C>) -> Option<ProcTiming> {
        if times.samples == 0 {
            return None;
        }
        // xtprof prints a percentile for any number of calls.
        let quantile = |quantile| {
            let value_ns = times.histogram.value_at_quantile(quantile);
            value_ns.clamp(times.min_ns, times.max_ns)
        };
        let calls = times.samples as f64;
        let mean_ns = times.mean_ns();
        Some(ProcTiming {
            name: routine.to_owned(),
            calls: times.samples,
            min_ns: times.min_ns,
            max_ns: times.max_ns,
            total_ns: u64::try_from(times.sum_ns).unwrap_or(u64::MAX),
            p99_ns: quantile(0.99),
            p95_ns: quantile(0.95),
            p50_ns: quantile(0.5),
            deviation_ns: (times.squares_ns2 / calls - mean_ns * mean_ns)
                .max(0.0)
                .sqrt(),
        })
    }

    pub fn avg_ns(&self) -> f64 {
        self.total_ns as f64 / self.calls.max(1) as f64
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserTiming {
    /// The virtual user's number; the first that runs transactions is 2.
    pub vuser: u32,
    /// Nanoseconds from the start of the user's first call to the end of the last call.
    pub elapsed_ns: u64,
    pub procs: Vec<ProcTiming>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeProfile {
    /// The database's name, such as `PostgreSQL`.
    pub database: String,
    /// When the run ended, as HammerDB prints dates.
    pub date: String,
    pub users: Vec<UserTiming>,
    /// All virtual users together, merged by the caller, which has the histograms.
    pub summary: Vec<ProcTiming>,
}

/// The timings of one virtual user, or of all together.
pub struct TimingSection<'a> {
    /// The virtual user's number; `None` for the summary.
    pub vuser: Option<u32>,
    /// The user's elapsed time, or the median of all users', in nanoseconds.
    pub elapsed_ns: f64,
    /// The elapsed time multiplied by the number of users.
    user_time_ns: f64,
    /// The routines, the one with the largest total time first.
    pub procs: Vec<&'a ProcTiming>,
}

impl<'a> TimingSection<'a> {
    fn new(vuser: Option<u32>, elapsed_ns: f64, users: usize, procs: &'a [ProcTiming]) -> Self {
        let mut procs: Vec<&ProcTiming> = procs.iter().collect();
        procs.sort_by_key(|proc| std::cmp::Reverse(proc.total_ns));
        TimingSection {
            vuser,
            elapsed_ns,
            user_time_ns: elapsed_ns * users as f64,
            procs,
        }
    }

    /// The share of a routine in the elapsed time, in per cent.
    pub fn ratio_pct(&self, proc: &ProcTiming) -> f64 {
        if self.user_time_ns > 0.0 {
            100.0 * proc.total_ns as f64 / self.user_time_ns
        } else {
            0.0
        }
    }
}

const SEPARATOR_LINE: &str =
    "+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n";

impl TimeProfile {
    /// The median of the users' elapsed times in nanoseconds; 0 without users.
    fn median_elapsed_ns(&self) -> f64 {
        let mut elapsed: Vec<u64> = self.users.iter().map(|user| user.elapsed_ns).collect();
        elapsed.sort_unstable();
        match elapsed.len() {
            0 => 0.0,
            count if count % 2 == 1 => elapsed[count / 2] as f64,
            count => (elapsed[count / 2 - 1] as f64 + elapsed[count / 2] as f64) / 2.0,
        }
    }

    pub fn summary_section(&self) -> TimingSection<'_> {
        let (median_ns, users) = (self.median_elapsed_ns(), self.users.len());
        TimingSection::new(None, median_ns, users, &self.summary)
    }

    pub fn user_sections(&self) -> impl Iterator<Item = TimingSection<'_>> {
        let users = self.users.iter();
        users.map(|user| {
            TimingSection::new(Some(user.vuser), user.elapsed_ns as f64, 1, &user.procs)
        })
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "{} Hammerdb Time Profile Report @ {}\n{SEPARATOR_LINE}",
            self.database, self.date
        );
        for section in self.user_sections().chain([self.summary_section()]) {
            let elapsed_ms = section.elapsed_ns / 1e6;
            text += &match section.vuser {
                Some(vuser) => {
                    format!(">>>>> VIRTUAL USER {vuser} : ELAPSED TIME : {elapsed_ms:.0}ms\n")
                }
                None => format!(
                    ">>>>> SUMMARY OF {} ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : {elapsed_ms:.0}ms\n",
                    self.users.len()
                ),
            };
            for proc in &section.procs {
                write_proc(&mut text, proc, section.ratio_pct(proc));
            }
            text.push_str(SEPARATOR_LINE);
        }
        text
    }
}

fn write_proc(text: &mut String, proc: &ProcTiming, ratio_pct: f64) {
    let ms = |ns: f64| format!("{:.3}ms", ns / 1e6);
    let whole_ms = |ns: u64| ms(ns as f64);
    *text += &format!(
        ">>>>> PROC: {}\nCALLS: {}\tMIN: {}\tAVG: {}\tMAX: {}\tTOTAL: {}\n",
        proc.name,
        proc.calls,
        whole_ms(proc.min_ns),
        ms(proc.avg_ns()),
        whole_ms(proc.max_ns),
        whole_ms(proc.total_ns)
    );
    // xtprof prints no unit for the deviation, which is in microseconds.
    *text += &format!(
        "P99: {}\tP95: {}\tP50: {}\tSD: {:.3}\tRATIO: {ratio_pct:.3}%\n",
        whole_ms(proc.p99_ns),
        whole_ms(proc.p95_ns),
        whole_ms(proc.p50_ns),
        proc.deviation_ns / 1e3
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_exact_for_few_calls() {
        assert_eq!(
            ProcTiming::of("NEWORD", &Distribution::<u32>::default()),
            None
        );
        let mut times = Distribution::<u32>::coarse();
        for time_ns in [1_000_000, 2_000_000, 9_000_000] {
            times.record(time_ns);
        }
        let timing = ProcTiming::of("NEWORD", &times).expect("three calls");
        assert_eq!((timing.calls, timing.total_ns), (3, 12_000_000));
        assert_eq!((timing.min_ns, timing.max_ns), (1_000_000, 9_000_000));
        // The histogram is precise to two digits.
        assert!(timing.p50_ns.abs_diff(2_000_000) < 20_000, "{timing:?}");
        assert_eq!(timing.p99_ns, timing.max_ns);
        // The mean is 4 ms, the differences from it are 3, 2 and 5 ms: sqrt((9 + 4 + 25) / 3) ms.
        assert!(
            (timing.deviation_ns - 3_559_026.0).abs() < 1.0,
            "{timing:?}"
        );
    }
}
