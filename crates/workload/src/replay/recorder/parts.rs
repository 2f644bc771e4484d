//! When sessions are written: what waits in them, and their parts.
//!
//! In: open sessions. Out: chunks and sessions of the file. Must never: split a session whose state the next part needs.

use super::super::file::SessionPart;
use super::SessionRecorder;
use super::session::OpenSession;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};

impl<W: Write> SessionRecorder<W> {
    /// Writes the whole transactions of a session.
    pub(super) fn write_chunk(&mut self, state: &mut OpenSession) -> io::Result<()> {
        if state.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::take(&mut state.chunk);
        self.buffered -= chunk.len();
        state.recorded.chunks.push(self.writer.write_chunk(&chunk)?);
        Ok(())
    }

    /// Writes what waits in all sessions; what has not ended too, as a part, if that is most of it.
    pub(super) fn write_all(&mut self) -> io::Result<()> {
        let mut open = std::mem::take(&mut self.open);
        for state in open.values_mut() {
            self.write_chunk(state)?;
        }
        if self.buffered > self.buffered_max / 2 {
            for state in open.values_mut() {
                self.end_transaction(state)?;
                self.write_chunk(state)?;
            }
        }
        self.open = open;
        Ok(())
    }

    /// Ends the part of each session that executed nothing for the longest time, which is half of them.
    pub(super) fn split_old_sessions(&mut self) -> io::Result<()> {
        let mut times: Vec<u64> = self.open.values().map(|state| state.previous_us).collect();
        let middle = times.len() / 2;
        let (_, median_us, _) = times.select_nth_unstable(middle);
        let is_old = |state: &OpenSession| state.previous_us <= *median_us;
        let old = self.open.iter().filter(|(_, state)| is_old(state));
        let old: Vec<Box<str>> = old.map(|(name, _)| name.clone()).collect();
        for name in old {
            let Some(state) = self.open.remove(&name) else {
                continue;
            };
            if state.can_be_split() {
                self.end_session(&name, state, true)?;
            } else {
                self.open.insert(name, state);
            }
        }
        // Those that remain are not looked at again and again.
        self.open_max = self.open_max.max(self.open.len() * 2);
        Ok(())
    }

    pub(super) fn close(&mut self, session: &str) -> io::Result<()> {
        match self.open.remove(session) {
            Some(mut state) => {
                self.end_waiting(&mut state, None, false)?;
                self.end_session(session, state, false)
            }
            None => Ok(()),
        }
    }

    /// Ends a session, or a part of it; one without statements is not recorded.
    pub(super) fn end_session(
        &mut self,
        session: &str,
        mut state: OpenSession,
        may_continue: bool,
    ) -> io::Result<()> {
        self.end_transaction(&mut state)?;
        self.write_chunk(&mut state)?;
        let key = session_key(session);
        if state.recorded.transactions > 0 {
            let part = SessionPart {
                key: (may_continue || state.is_later_part).then_some(key),
                is_later: state.is_later_part,
                may_continue,
            };
            self.writer.add_session(&state.recorded, part)?;
            self.recorded.sessions += usize::from(!state.is_later_part);
            self.recorded.length_us = self.recorded.length_us.max(state.recorded.end_us);
        }
        // Also a part without statements has others before it.
        if may_continue && (state.recorded.transactions > 0 || state.is_later_part) {
            self.split.insert(key);
        }
        Ok(())
    }
}

/// A number for the name of a session.
pub(super) fn session_key(session: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    session.hash(&mut hasher);
    hasher.finish()
}
