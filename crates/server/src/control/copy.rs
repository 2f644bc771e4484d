//! A stream of rows into a table.
//!
//! In: the bytes of COPY's data, in pieces of any size. Out: CopyData messages, the count of rows.
//! Must never: copy the data more than once, or go on sending what the server no longer wants.

use super::error::Error;
use super::postgres::{Control, affected_rows, unexpected};

/// How much data one message carries, in bytes; also how much one system call sends.
pub const CHUNK_BYTES: usize = 64 * 1024;

const OVER: Error = Error::Usage("this COPY is over");

/// `COPY ... FROM STDIN` under way. Dropped before [`CopyIn::finish`], it is aborted: no row stays.
pub struct CopyIn<'a> {
    control: &'a mut Control,
    buffer: Vec<u8>,
    /// The server has ended the copy, or we have.
    over: bool,
}

impl<'a> CopyIn<'a> {
    pub(super) fn start(control: &'a mut Control, sql: &str) -> Result<Self, Error> {
        control.send_query(sql)?;
        let mut failed = None;
        loop {
            let message = control.next(&mut failed)?;
            match message.0 {
                b'G' if failed.is_none() => break,
                b'Z' => {
                    let other = Error::Usage("the statement is not COPY ... FROM STDIN");
                    return Err(failed.unwrap_or(other));
                }
                // Another statement before the COPY, or in its place.
                b'C' | b'T' | b'D' | b'I' | b'H' | b'd' | b'c' => {}
                tag => {
                    control.dead = true;
                    return Err(unexpected(tag));
                }
            }
        }
        let buffer = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
        Ok(CopyIn {
            control,
            buffer,
            over: false,
        })
    }

    /// Adds data, to be sent in large pieces.
    ///
    /// # Errors
    /// The server has refused what was sent before (a full disk, a bad value), or is gone. The copy
    /// is then over and nothing of it stays.
    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        if self.buffer.is_empty() && data.len() >= CHUNK_BYTES {
            return self.send(data);
        }
        self.buffer.extend_from_slice(data);
        self.flush_if_full()
    }

    /// The buffer itself, for a writer that makes rows in place: append to it, then call
    /// [`CopyIn::flush_if_full`], after each row or every few kilobytes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Sends the buffer if it holds [`CHUNK_BYTES`] or more.
    ///
    /// # Errors
    /// As for [`CopyIn::write`].
    #[inline]
    pub fn flush_if_full(&mut self) -> Result<(), Error> {
        if self.buffer.len() < CHUNK_BYTES {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Ends the stream; gives the rows that the server counted.
    ///
    /// # Errors
    /// As for [`CopyIn::write`]: rows are checked late, some only here.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.flush()?;
        if std::mem::replace(&mut self.over, true) {
            return Err(OVER);
        }
        if let Err(error) = self.control.guard(|link| link.send(b'c', [&[], &[]])) {
            return Err(self.control.last_words(error));
        }
        self.drain(None)
    }

    /// Gives the copy up: no row of it stays. `reason` appears in the server's log.
    ///
    /// # Errors
    /// The connection was lost meanwhile.
    pub fn abort(mut self, reason: &str) -> Result<(), Error> {
        self.give_up(reason)
    }

    fn give_up(&mut self, reason: &str) -> Result<(), Error> {
        if std::mem::replace(&mut self.over, true) || self.control.dead {
            return Ok(());
        }
        let reason = reason.replace('\0', " ");
        if let Err(error) = self
            .control
            .guard(|link| link.send(b'f', [reason.as_bytes(), b"\0"]))
        {
            return Err(self.control.last_words(error));
        }
        match self.drain(None) {
            // The server confirms with an error (57014) that it stopped.
            Err(error) if error.is_lost() => Err(error),
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let sent = self.send(&buffer);
        buffer.clear();
        self.buffer = buffer;
        sent
    }

    /// Sends one CopyData message, and looks whether the server has said anything.
    fn send(&mut self, data: &[u8]) -> Result<(), Error> {
        if self.over {
            return Err(OVER);
        }
        if data.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.control.guard(|link| link.send(b'd', [data, &[]])) {
            self.over = true;
            return Err(self.control.last_words(error));
        }
        let mut failed = None;
        loop {
            match self.control.guard(|link| link.next_now()) {
                Ok(None) => break,
                Ok(Some(message)) => {
                    if let Some(message) = self.control.sort_out(message, &mut failed)? {
                        self.over = true;
                        self.control.dead = true;
                        return Err(unexpected(message.0));
                    }
                }
                Err(error) => {
                    self.over = true;
                    return Err(failed.unwrap_or(error));
                }
            }
            if failed.is_some() {
                break;
            }
        }
        // After an error the server skips what is still on the way, and then is ready again.
        match failed {
            Some(error) => {
                self.over = true;
                Err(self.drain(Some(error)).err().unwrap_or(Error::Closed))
            }
            None => Ok(()),
        }
    }

    /// Reads to the end of the statement; gives the count of rows or the first error.
    fn drain(&mut self, mut failed: Option<Error>) -> Result<u64, Error> {
        let mut count = 0;
        loop {
            let message = self.control.next(&mut failed)?;
            match message.0 {
                b'Z' => return failed.map_or(Ok(count), Err),
                b'C' => count = affected_rows(self.control.link.body(&message)),
                // A statement behind the COPY.
                b'T' | b'D' | b'I' => {}
                tag => {
                    self.control.dead = true;
                    return Err(unexpected(tag));
                }
            }
        }
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.give_up("the copy was given up");
    }
}
