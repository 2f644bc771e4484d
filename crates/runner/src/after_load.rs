//! What is read from the server after the load, when it may just have crashed or been promoted.
//!
//! In: the server's URL, what to read. Out: what was read, or why it was not. Must never: wait longer than it was
//! allowed to, or leave the server at work for nobody.

use crate::job::RunJob;
use crate::signals;
use prony_drive::DriveResult;
use prony_server::control::NOTICE_AFTER;
use prony_server::observe::{is_replica, only_reads};
use prony_server::{Control, Target};
use prony_store::SqlDialect;
use prony_workload::growth::NotCounted;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const CONNECT_PAUSE: Duration = Duration::from_millis(200);

/// Why nothing is read: the load failed, or the user waits for the end.
pub(crate) fn why_not_read(job: &RunJob<'_>, drive_result: &DriveResult) -> Option<String> {
    if let Some(failure) = &drive_result.failure {
        return Some(failure.clone());
    }
    let cause = job.interrupt.cause().filter(|_| drive_result.interrupted)?;
    Some(format!("the run was interrupted by {cause}"))
}

/// Reads after the load, from a server that is not a replica, and not one that only reads beside one that writes: what that
/// does not have yet is not lost.
///
/// # Errors
/// There was no such server in time, it did not answer in time, or it refused.
pub(crate) fn read_at_primary<T: Send + 'static>(
    target: &Target,
    timeout: Duration,
    mut read: impl FnMut(&mut Control) -> Result<T, NotCounted> + Send + 'static,
) -> Result<T, String> {
    let mut hosts = target.targets_of_hosts();
    hosts
        .iter_mut()
        .for_each(|host| host.has_own_statements = true);
    let mut read = move |control: &mut Control| {
        if control.dialect() == SqlDialect::MySql {
            // A node of Galera first applies what others have acknowledged. Servers without Galera may not know the setting.
            let _ = control.execute("set session wsrep_sync_wait = 1");
        }
        read(control)
    };
    read_from_any(target, timeout, move |control| {
        let is_primary = |control: &mut Control| !only_reads(control) && !is_replica(control);
        if is_primary(control) {
            return read(control);
        }
        let mut others = hosts.iter().filter_map(|host| Control::connect(host).ok());
        match others.find_map(|mut other| is_primary(&mut other).then_some(other)) {
            Some(mut other) => read(&mut other),
            // It only reads, and there is no other that it could be a replica of.
            None if !is_replica(control) => read(control),
            None => Err(NotCounted {
                reason: "the server that answered is a replica".to_owned(),
                is_lost: false,
            }),
        }
    })
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
    let (sender, results) = channel();
    let mut target = target.clone();
    // A tool's own sessions execute only its statements.
    target.set_program_name("prony");
    target.has_own_statements = true;
    let mut notice = target.wait_options.notice;
    let body = move || {
        while Instant::now() < deadline && signals::received().is_none() {
            if let Ok(mut control) = Control::connect(&target) {
                let _ = sender.send(Err(control.canceller()));
                match read(&mut control) {
                    Err(error) if error.is_lost => {}
                    result => {
                        let _ = sender.send(Ok(result));
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
    let ended = loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        match results.recv_timeout(remaining.min(CONNECT_PAUSE)) {
            Ok(Ok(result)) => return result.map_err(|error| error.reason),
            Ok(Err(of_connection)) => canceller = Some(of_connection),
            Err(_) if remaining.is_zero() => break None,
            Err(_) => {}
        }
        // Of a server that is slow to answer, its connection says what is waited for.
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
    if let Some(signal) = ended {
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
