//! What is read from the server after the load, when it may just have crashed or been promoted.
//!
//! In: the server's URL, what to read. Out: what was read, or why it was not. Must never: wait longer than it was
//! allowed to, or leave the server at work for nobody.

use crate::job::RunJob;
use crate::signals;
use prony_drive::DriveResult;
use prony_server::control::{Canceller, NOTICE_AFTER};
use prony_server::observe::{is_replica, only_reads};
use prony_server::{Control, Target};
use prony_store::SqlDialect;
use prony_workload::growth::NotCounted;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Pause between two attempts to connect, and between two looks at signals.
const CONNECT_PAUSE: Duration = Duration::from_millis(200);

/// Why nothing is read after the load: it failed, or it was interrupted and the user waits for the end. `None`: it is read.
pub(crate) fn why_not_read(job: &RunJob<'_>, drive_result: &DriveResult) -> Option<String> {
    if let Some(failure) = &drive_result.failure {
        return Some(failure.clone());
    }
    if !drive_result.interrupted {
        return None;
    }
    let cause = job.interrupt.cause()?;
    Some(format!("the run was interrupted by {cause}"))
}

/// Reads after the load, from a primary: what a replica does not have yet is not lost. If no host of the URL accepts writes,
/// the server that answers is read unless it is a replica.
///
/// # Errors
/// There was no such server in time, it did not answer in time, or it refused.
pub(crate) fn read_at_primary<T: Send + 'static>(
    target: &Target,
    timeout: Duration,
    mut read: impl FnMut(&mut Control) -> Result<T, NotCounted> + Send + 'static,
) -> Result<T, String> {
    let mut hosts = target.targets_of_hosts();
    for host in &mut hosts {
        host.has_own_statements = true;
    }
    let mut read_synced = move |control: &mut Control| {
        if control.dialect() == SqlDialect::MySql {
            // A node of Galera first applies what others have acknowledged. Servers without Galera may not know the setting.
            let _ = control.execute("set session wsrep_sync_wait = 1");
        }
        read(control)
    };
    read_from_any(target, timeout, move |control| {
        let is_primary = |control: &mut Control| !only_reads(control) && !is_replica(control);
        if is_primary(control) {
            return read_synced(control);
        }
        for host in &hosts {
            if let Ok(mut other) = Control::connect(host)
                && is_primary(&mut other)
            {
                return read_synced(&mut other);
            }
        }
        if is_replica(control) {
            return Err(NotCounted {
                reason: "the server that answered is a replica".to_owned(),
                is_lost: false,
            });
        }
        read_synced(control)
    })
}

/// What the thread that reads tells the thread that waits for it.
enum ReadMessage<T> {
    /// It has a connection, which this cancels.
    Connected(Canceller),
    /// It has read, or will not.
    Ended(Result<T, NotCounted>),
}

/// Reads on a new connection that follows the rules of the URL, as soon as there is a server; again, if the connection is
/// lost.
///
/// # Errors
/// There was no server in time, it did not answer in time, or it refused.
fn read_from_any<T: Send + 'static>(
    target: &Target,
    timeout: Duration,
    mut read: impl FnMut(&mut Control) -> Result<T, NotCounted> + Send + 'static,
) -> Result<T, String> {
    let deadline = Instant::now() + timeout;
    let (sender, messages) = channel();
    let mut target = target.clone();
    // Sessions under a replaced tool's name execute only that tool's statements.
    target.set_program_name("prony");
    target.has_own_statements = true;
    let mut notice = target.wait_options.notice;
    let body = move || {
        while Instant::now() < deadline && signals::received().is_none() {
            if let Ok(mut control) = Control::connect(&target) {
                let _ = sender.send(ReadMessage::Connected(control.canceller()));
                match read(&mut control) {
                    Err(error) if error.is_lost => {}
                    result => {
                        let _ = sender.send(ReadMessage::Ended(result));
                        return;
                    }
                }
            }
            std::thread::sleep(CONNECT_PAUSE);
        }
    };
    let timeout_s = timeout.as_secs();
    // Not joined: a server that no longer answers must not delay the run any further.
    let thread = std::thread::Builder::new().name("after-load".to_owned());
    thread.spawn(body).map_err(|error| error.to_string())?;
    let mut canceller = None;
    let signal = loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        match messages.recv_timeout(remaining.min(CONNECT_PAUSE)) {
            Ok(ReadMessage::Ended(result)) => return result.map_err(|error| error.reason),
            Ok(ReadMessage::Connected(new_canceller)) => canceller = Some(new_canceller),
            Err(_) if remaining.is_zero() => break None,
            Err(_) => {}
        }
        // Once there is a connection, it gives notice itself if the server is slow to answer.
        if canceller.is_none()
            && timeout.saturating_sub(remaining) >= NOTICE_AFTER
            && let Some(notice) = notice.take()
        {
            notice(&format!(
                "a server that has the commits, at most {timeout_s} s"
            ));
        }
        if let Some(signal) = signals::received() {
            break Some(signal);
        }
    };
    if let Some(signal) = signal {
        return Err(format!("it was interrupted by {}", signal.name()));
    }
    match canceller {
        // The server would otherwise go on reading.
        Some(canceller) => {
            let _ = canceller.cancel();
            Err(format!("the server did not answer within {timeout_s} s"))
        }
        None => Err(format!(
            "no server of the URL accepted a connection within {timeout_s} s"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_server::Environment;
    use std::sync::atomic::{AtomicU32, Ordering};

    static NOTICES: AtomicU32 = AtomicU32::new(0);

    #[test]
    fn a_server_that_stays_away_is_waited_for_with_one_notice() {
        let environment = Environment::without_home("nobody");
        let target = prony_server::resolve("postgres://nobody@127.0.0.1:1/none", &environment);
        let mut target = target.expect("a URL");
        target.wait_options.notice = Some(|awaited| {
            assert_eq!(awaited, "a server that has the commits, at most 4 s");
            NOTICES.fetch_add(1, Ordering::Relaxed);
        });
        let timeout = NOTICE_AFTER + Duration::from_secs(1);
        let read = read_at_primary(&target, timeout, |_| Ok(()));
        assert_eq!(
            read.expect_err("nobody listens"),
            "no server of the URL accepted a connection within 4 s"
        );
        assert_eq!(NOTICES.load(Ordering::Relaxed), 1);
    }
}
