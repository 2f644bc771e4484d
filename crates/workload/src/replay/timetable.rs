//! Which client replays which sessions, and when.
//!
//! A client replays one session after the other, each on a connection of its own. As many clients are needed as sessions
//! were open at once; with fewer, sessions are late, and their lateness is measured.

use super::file::RecordedSession;
use prony_plan::{REPLAY_LEAD, SplitMix};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How long before its first statement a session connects, and so how long before the first statement the load begins. A
/// run measures from there on.
pub(super) const CONNECT_LEAD_NS: u64 = REPLAY_LEAD.as_nanos() as u64;
/// The copies of a session begin within this time of the recording.
const COPIES_WITHIN_US: u64 = 1_000_000;
/// At which pause between sessions a client can replay both, in recorded microseconds. It also has to connect in time, so
/// that sessions which follow closely get clients of their own.
const PAUSE_US: u64 = 1_000_000;

/// The number of sessions that are open at once, for each copy.
pub(super) fn concurrent_sessions(sessions: &[RecordedSession], copies: u32) -> u32 {
    let shift_us_max = if copies > 1 { COPIES_WITHIN_US } else { 0 };
    let pause_us = PAUSE_US + shift_us_max;
    let mut order: Vec<&RecordedSession> = sessions.iter().collect();
    order.sort_by_key(|session| session.start_us);
    let mut free_us: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for session in order {
        // The client that is free first takes it, if that is in time.
        if let Some(Reverse(first_us)) = free_us.peek()
            && first_us.saturating_add(pause_us) <= session.start_us
        {
            free_us.pop();
        }
        free_us.push(Reverse(session.end_us));
    }
    u32::try_from(free_us.len()).unwrap_or(u32::MAX).max(1)
}

/// A session that a client replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Appearance {
    pub session: usize,
    /// How much later than recorded it begins, for one of several copies, in recorded time.
    pub shift_us: u64,
}

/// The sessions of each client, in the order in which it replays them. Clients that get none have nothing to do.
pub(super) fn assign(
    sessions: &[RecordedSession],
    copies: u32,
    clients: u32,
    seed: u64,
) -> Vec<Vec<Appearance>> {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_key(|session| sessions[*session].start_us);
    let mut by_client = vec![Vec::new(); clients as usize];
    let mut random = SplitMix::new(seed);
    let mut free: BinaryHeap<Reverse<(u64, usize)>> = (0..by_client.len())
        .map(|client| Reverse((0, client)))
        .collect();
    for session in order {
        for copy in 0..copies {
            let Some(Reverse((free_us, client))) = free.pop() else {
                return by_client;
            };
            let shift_us =
                if copy == 0 { 0 } else { random.below(COPIES_WITHIN_US as usize) as u64 };
            by_client[client].push(Appearance { session, shift_us });
            let RecordedSession {
                start_us, end_us, ..
            } = sessions[session];
            let end_us = free_us
                .max(start_us.saturating_add(shift_us))
                .saturating_add(end_us.saturating_sub(start_us));
            free.push(Reverse((end_us, client)));
        }
    }
    by_client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(times: &[(u64, u64)]) -> Vec<RecordedSession> {
        let sessions = times.iter().map(|(start_us, end_us)| RecordedSession {
            start_us: *start_us,
            end_us: *end_us,
            ..RecordedSession::default()
        });
        sessions.collect()
    }

    #[test]
    fn sessions_that_follow_each_other_share_a_client() {
        let second = 1_000_000;
        let list = sessions(&[
            (0, 10 * second),
            (second, 2 * second),
            (5 * second, 6 * second),
            (5 * second, 30 * second),
        ]);
        assert_eq!(concurrent_sessions(&list, 1), 3);
        assert_eq!(concurrent_sessions(&[], 1), 1);
        // A copy may begin, and so end, a second later.
        let list_of_copies = sessions(&[(0, 10), (1_500_000, 1_500_010)]);
        let clients = [1, 2].map(|copies| concurrent_sessions(&list_of_copies, copies));
        assert_eq!(clients, [1, 2]);
        let assigned = assign(&list, 1, 3, 1);
        let of_client = |client: usize| {
            let list = assigned[client].iter().map(|appearance| appearance.session);
            list.collect::<Vec<_>>()
        };
        assert_eq!(
            [of_client(0), of_client(1), of_client(2)],
            [vec![0], vec![1, 3], vec![2]]
        );
    }

    #[test]
    fn each_copy_is_played_once() {
        let list = sessions(&[(0, 5), (1, 7), (2, 9)]);
        for clients in [1, 4, 9, 20] {
            let assigned = assign(&list, 3, clients, 7);
            assert_eq!(assigned.len(), clients as usize);
            let mut counts = [0; 3];
            for appearance in assigned.iter().flatten() {
                counts[appearance.session] += 1;
                assert!(appearance.shift_us < COPIES_WITHIN_US);
            }
            assert_eq!(counts, [3; 3]);
            let mut starts = assigned
                .iter()
                .flatten()
                .filter(|appearance| appearance.shift_us == 0);
            assert!(starts.by_ref().count() >= 3);
        }
    }
}
