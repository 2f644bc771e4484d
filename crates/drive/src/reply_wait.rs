//! Decides how a worker waits for replies: whether it wakes for each one, or for several at once.
//!
//! In: the plan's choice; the number of replies of each iteration. Out: a [`WaitStrategy`] for the I/O
//! engine. Must never: coalesce in an open loop, whose result is the time of each reply; or change the
//! strategy after the trial, because a run whose client changes cannot be compared.
//!
//! A worker that wakes for each reply costs CPU, and not only its own: on the server's machine, the process
//! that sends the reply pays for the wake-up, and much more if the worker's CPU was halted in a virtual
//! machine. With server and client on one CPU each (2 CPUs, virtual, 64 clients, select-only), coalescing
//! raised throughput by 20 to 40 %. But where replies arrive together anyway, or the server is on another
//! machine, coalescing only delays them. No property of the machine tells these cases apart, so the worker
//! tries both strategies in short slices when the load starts, and coalesces only if that clearly raises its
//! throughput.

use crate::io::WaitStrategy;
use prony_plan::ReplyWait;

/// Number of slices of time in a trial; a multiple of 4.
const SLICES: usize = 16;
/// Duration of a slice, nanoseconds.
const SLICE_NS: u64 = 50_000_000;
/// The factor by which coalescing must at least raise the number of replies.
const GAIN_MIN: f64 = 1.03;
/// In how many of the 8 pairs of slices coalescing must at least have more replies. By chance, equal
/// strategies reach this in one of seven trials; then [`GAIN_MIN`] decides.
const WINS_MIN: usize = 6;
/// Minimum mean number of replies per slice: with fewer, chance would decide.
const REPLIES_MIN: u64 = 100;
/// Minimum number of clients per worker: with fewer, too few replies are in flight to arrive together.
const CLIENTS_MIN: usize = 4;
/// Longest delay of a reply with 16 clients or more, nanoseconds. With fewer clients the delay is shorter in
/// proportion to their number, because their response times are shorter.
const DELAY_MAX_NS: u64 = 50_000;
/// Time to poll before the worker sleeps, if the plan asks for polling, nanoseconds.
const SPIN_NS: u64 = 50_000;

/// How a worker waits for replies, and the trial that decides it.
#[derive(Debug)]
pub struct WaitPolicy {
    current: WaitStrategy,
    /// The trial, until it is decided; `None` if the worker may not coalesce.
    trial: Option<Trial>,
}

/// Alternates between two strategies and counts the replies of each.
#[derive(Debug)]
struct Trial {
    coalescing: WaitStrategy,
    /// The current slice, from 0.
    slice: usize,
    slice_end_ns: u64,
    replies: [u64; SLICES],
}

impl WaitPolicy {
    /// The policy of a worker that drives `clients` clients.
    pub fn new(choice: ReplyWait, is_closed_loop: bool, clients: usize) -> Self {
        let spin_ns = match choice {
            ReplyWait::Spin => SPIN_NS,
            ReplyWait::Auto | ReplyWait::Sleep => 0,
        };
        let may_coalesce = choice == ReplyWait::Auto && is_closed_loop && clients >= CLIENTS_MIN;
        WaitPolicy {
            current: WaitStrategy {
                spin_ns,
                ..WaitStrategy::default()
            },
            trial: may_coalesce.then(|| Trial {
                coalescing: WaitStrategy {
                    replies: (2 * clients).isqrt() as u32,
                    delay_max_ns: DELAY_MAX_NS * clients.min(16) as u64 / 16,
                    spin_ns: 0,
                },
                slice: 0,
                slice_end_ns: 0,
                replies: [0; SLICES],
            }),
        }
    }

    /// Begins the trial at the start of the load, if the engine can wait for several replies
    /// (`can_coalesce`). Returns the first strategy.
    pub fn start(&mut self, now_ns: u64, can_coalesce: bool) -> WaitStrategy {
        if !can_coalesce {
            self.trial = None;
        }
        if let Some(trial) = &mut self.trial {
            trial.slice_end_ns = now_ns + SLICE_NS;
        }
        self.current
    }

    /// Counts the replies of an iteration. Returns the strategy to use from now on at the end of each slice of the trial.
    #[inline]
    pub fn after_iteration(&mut self, now_ns: u64, replies: usize) -> Option<WaitStrategy> {
        let trial = self.trial.as_mut()?;
        trial.replies[trial.slice] += replies as u64;
        if now_ns < trial.slice_end_ns {
            return None;
        }
        trial.slice += 1;
        trial.slice_end_ns = now_ns + SLICE_NS;
        let coalesces = match trial.slice {
            SLICES => trial.is_coalescing_better(),
            slice => coalesces_in(slice),
        };
        self.current = if coalesces { trial.coalescing } else { WaitStrategy::default() };
        if trial.slice == SLICES {
            self.trial = None;
        }
        Some(self.current)
    }

    /// Whether the worker coalesces replies for the rest of the load.
    pub fn is_coalescing(&self) -> bool {
        self.trial.is_none() && self.current.replies > 1
    }
}

/// Whether a slice of the trial coalesces. The order is no, yes, yes, no, so that a steady drift of the
/// server's speed affects both strategies alike.
fn coalesces_in(slice: usize) -> bool {
    matches!(slice % 4, 1 | 2)
}

impl Trial {
    fn is_coalescing_better(&self) -> bool {
        let mut wins = 0;
        let (mut coalesced, mut others) = (0, 0);
        for block in self.replies.chunks_exact(4) {
            for (other, coalescing) in [(block[0], block[1]), (block[3], block[2])] {
                wins += usize::from(coalescing > other);
                coalesced += coalescing;
                others += other;
            }
        }
        others >= REPLIES_MIN * SLICES as u64 / 2
            && wins >= WINS_MIN
            && coalesced as f64 >= GAIN_MIN * others as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the trial of a worker with 64 clients. `replies`: the number of replies in a slice, by its index
    /// and whether it coalesces. Returns the policy, and how often the strategy changed.
    fn run_trial(replies: impl Fn(usize, bool) -> usize) -> (WaitPolicy, usize) {
        let mut policy = WaitPolicy::new(ReplyWait::Auto, true, 64);
        let mut strategy = policy.start(0, true);
        let mut changes = 0;
        for slice in 0..2 * SLICES {
            let now_ns = (slice as u64 + 1) * SLICE_NS;
            if let Some(next) = policy.after_iteration(now_ns, replies(slice, strategy.replies > 1))
            {
                changes += usize::from(next != strategy);
                strategy = next;
            }
        }
        (policy, changes)
    }

    #[test]
    fn a_worker_coalesces_if_that_raises_its_throughput() {
        let (policy, _) = run_trial(|_, coalesces| if coalesces { 1_100 } else { 1_000 });
        assert!(policy.is_coalescing());
        assert_eq!(policy.current.replies, 11);
        assert_eq!(policy.current.delay_max_ns, 50_000);
    }

    #[test]
    fn a_worker_does_not_coalesce_if_its_throughput_is_equal_or_worse() {
        for coalesced in [500, 1_000, 1_020] {
            let (policy, changes) =
                run_trial(|_, coalesces| if coalesces { coalesced } else { 1_000 });
            assert!(!policy.is_coalescing(), "{coalesced}");
            assert_eq!(policy.current, WaitStrategy::default());
            assert_eq!(changes, SLICES / 2, "all changes are in the trial");
        }
    }

    #[test]
    fn a_drift_of_the_server_or_one_good_slice_does_not_count_as_a_gain() {
        let (drifting, _) = run_trial(|slice, _| 1_000 + 100 * slice);
        assert!(!drifting.is_coalescing());
        let (lucky, _) = run_trial(|slice, _| if slice == 5 { 9_000 } else { 1_000 });
        assert!(!lucky.is_coalescing());
        let (slow, _) = run_trial(|_, coalesces| if coalesces { 80 } else { 60 });
        assert!(!slow.is_coalescing(), "too few replies to decide");
    }

    #[test]
    fn only_auto_in_a_closed_loop_with_enough_clients_tries_to_coalesce() {
        let has_trial = |choice, is_closed, clients| {
            WaitPolicy::new(choice, is_closed, clients).trial.is_some()
        };
        assert!(has_trial(ReplyWait::Auto, true, 4));
        assert!(!has_trial(ReplyWait::Auto, true, 3));
        assert!(!has_trial(ReplyWait::Auto, false, 64));
        assert!(!has_trial(ReplyWait::Sleep, true, 64));
        assert!(!has_trial(ReplyWait::Spin, true, 64));
        let mut policy = WaitPolicy::new(ReplyWait::Auto, true, 64);
        policy.start(0, false);
        assert_eq!(policy.after_iteration(SLICE_NS, 1), None);
        let mut spin = WaitPolicy::new(ReplyWait::Spin, true, 8);
        assert_eq!(spin.start(0, true).spin_ns, SPIN_NS);
    }
}
