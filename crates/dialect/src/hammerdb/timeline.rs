//! The events of a run: lines to print and counters to read, by time.
//!
//! In: a request. Out: events in order of time. Must never: read a clock.

use super::request::{Driver, RunRequest};
use super::text;
use std::time::Duration;

impl RunRequest {
    /// The number of the first virtual user that runs transactions: a timed run has a monitor before it.
    pub fn first_vuser(&self) -> u32 {
        match self.driver {
            Driver::Timed { .. } => 2,
            Driver::Test => 1,
        }
    }

    /// The number of the virtual user that is client `client`, counted from 0.
    pub fn vuser_of_client(&self, client: u32) -> u32 {
        client + self.first_vuser()
    }

    /// The time from the start of the load to the start of client `client`, counted from 0.
    pub fn start_delay(&self, client: u32) -> Duration {
        Duration::from_millis(self.user_delay_ms).saturating_mul(client)
    }
}

/// What happens at one time of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimelineEvent {
    /// Print a line of this virtual user.
    PrintLine(u32, String),
    /// Print that this virtual user starts.
    PrintRunning(u32),
    /// Read the server's counters, at the start of the window.
    ReadStartCounts,
    /// Read the server's counters, at the end of the window; the last event.
    ReadEndCounts,
    /// Read the transaction counter of `tcstart`.
    ReadTransactionCounter,
}

/// Events by their time since the start of the load.
#[derive(Debug, Default)]
pub struct Timeline {
    events: Vec<(Duration, TimelineEvent)>,
}

impl Timeline {
    /// The timeline of a run on this many warehouses. `minute`: the length of a minute of the script;
    /// `cipher`: the connections' cipher, which virtual users print on MySQL and MariaDB.
    pub fn new(
        request: &RunRequest,
        minute: Duration,
        warehouses: u32,
        cipher: Option<&str>,
    ) -> Timeline {
        let mut timeline = Timeline::default();
        timeline.add_monitor_events(request, minute, cipher);
        timeline.add_user_events(request, warehouses, cipher);
        // The sort is stable: events at the same time keep the order in which they were added.
        timeline.events.sort_by_key(|(at, _)| *at);
        if let Some(end) = timeline
            .events
            .iter()
            .position(|(_, event)| *event == TimelineEvent::ReadEndCounts)
        {
            timeline.events.truncate(end + 1);
        }
        timeline
    }

    fn push_line(&mut self, at: Duration, vuser: u32, line: impl Into<String>) {
        let event = TimelineEvent::PrintLine(vuser, line.into());
        self.events.push((at, event));
    }

    /// Pushes the lines before a virtual user's first statement.
    fn push_first_lines(
        &mut self,
        at: Duration,
        vuser: u32,
        has_profile: bool,
        cipher: Option<&str>,
    ) {
        if has_profile {
            self.push_line(at, vuser, "Initializing xtprof time profiler");
        }
        if let Some(cipher) = cipher {
            self.push_line(at, vuser, text::cipher_line(cipher));
        }
    }

    /// Adds the events of virtual user 1, the monitor of a timed run; none for the test driver.
    fn add_monitor_events(&mut self, request: &RunRequest, minute: Duration, cipher: Option<&str>) {
        let Driver::Timed {
            rampup_min,
            duration_min,
            ..
        } = request.driver
        else {
            return;
        };
        let after =
            |minutes: u64| minute.saturating_mul(u32::try_from(minutes).unwrap_or(u32::MAX));
        self.push_first_lines(
            Duration::ZERO,
            1,
            request.time_profile_path.is_some(),
            cipher,
        );
        let rampup = format!("Beginning rampup time of {rampup_min} minutes");
        self.push_line(Duration::ZERO, 1, rampup);
        for minutes in 1..=rampup_min {
            self.push_line(
                after(minutes),
                1,
                format!("Rampup {minutes} minutes complete ..."),
            );
        }
        let start = after(rampup_min);
        self.push_line(start, 1, "Rampup complete, Taking start Transaction Count.");
        self.events.push((start, TimelineEvent::ReadStartCounts));
        self.push_line(
            start,
            1,
            format!("Timing test period of {duration_min} in minutes"),
        );
        for minutes in 1..=duration_min {
            let at = start.saturating_add(after(minutes));
            self.push_line(at, 1, format!("{minutes} ...,"));
        }
        let end = start.saturating_add(after(duration_min));
        if let Some(counter) = &request.counter {
            let interval = Duration::from_secs(counter.refresh_s.max(1));
            let mut at = Duration::ZERO;
            while at < end {
                self.events
                    .push((at, TimelineEvent::ReadTransactionCounter));
                at = at.saturating_add(interval);
            }
        }
        self.push_line(end, 1, "Test complete, Taking end Transaction Count.");
        self.events.push((end, TimelineEvent::ReadEndCounts));
    }

    fn add_user_events(&mut self, request: &RunRequest, warehouses: u32, cipher: Option<&str>) {
        let is_timed = matches!(request.driver, Driver::Timed { .. });
        for client in 0..request.vusers {
            let vuser = request.vuser_of_client(client);
            let at = request.start_delay(client);
            if vuser > 1 {
                self.events.push((at, TimelineEvent::PrintRunning(vuser)));
            }
            let has_profile = is_timed && request.time_profile_path.is_some();
            self.push_first_lines(at, vuser, has_profile, cipher);
            if request.all_warehouses {
                let users = request.vusers;
                let assigned = text::assigned_warehouses(client + 2, users, warehouses.into());
                let count = assigned.len();
                for (index, warehouse) in (1..).zip(assigned) {
                    let line = format!(
                        "VU {vuser} : Assigning WID={warehouse} based on VU count {users}, Warehouses = {warehouses} \
                         ({index} out of {count})"
                    );
                    self.push_line(at, vuser, line);
                }
            }
            let with = if is_timed { "with" } else { "without" };
            let iterations = request.iterations;
            let line = format!("Processing {iterations} transactions {with} output suppressed...");
            self.push_line(at, vuser, line);
        }
    }
}

impl IntoIterator for Timeline {
    type Item = (Duration, TimelineEvent);
    type IntoIter = std::vec::IntoIter<(Duration, TimelineEvent)>;

    fn into_iter(self) -> Self::IntoIter {
        self.events.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hammerdb::plan::tests::run_request;

    #[test]
    fn a_timed_run_counts_at_both_window_edges_and_then_ends() {
        let mut request = run_request(&[]);
        request.driver = Driver::Timed {
            rampup_min: 1,
            duration_min: 2,
            checkpoint: false,
        };
        request.vusers = 2;
        request.user_delay_ms = 500;
        let timeline = Timeline::new(&request, Duration::from_secs(10), 1, None);
        let events: Vec<(Duration, TimelineEvent)> = timeline.into_iter().collect();
        assert!(events.is_sorted_by_key(|(at, _)| *at));
        let at = |event: &TimelineEvent| {
            events
                .iter()
                .find(|(_, candidate)| candidate == event)
                .map(|(at, _)| *at)
        };
        let seconds = |seconds: u64| Some(Duration::from_secs(seconds));
        assert_eq!(at(&TimelineEvent::ReadStartCounts), seconds(10));
        assert_eq!(at(&TimelineEvent::ReadEndCounts), seconds(30));
        assert_eq!(
            at(&TimelineEvent::PrintRunning(3)),
            Some(Duration::from_millis(500))
        );
        assert_eq!(
            at(&TimelineEvent::PrintRunning(1)),
            None,
            "the monitor runs already"
        );
        assert_eq!(
            events.last().map(|(_, event)| event),
            Some(&TimelineEvent::ReadEndCounts)
        );
    }
}
