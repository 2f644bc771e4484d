//! Streams rows into a table with COPY.
//!
//! In: the bytes of COPY's data, in pieces of any size. Out: CopyData messages, the count of rows.
//! Must never: copy the data more than once, or continue to send after the server has reported an
//! error.

use super::error::Error;
use super::{Control, refuse_zero_bytes};
use prony_wire::FeedStatus;
use prony_wire::postgres::codec::{COPY_DONE, copy_data_header, put_copy_fail};

/// Size of one message, and of one system call, in bytes.
pub const CHUNK_BYTES: usize = 64 * 1024;

const COPY_ENDED: Error = Error::Usage("this COPY has ended");

/// A `COPY ... FROM STDIN` in progress. If dropped before [`CopyIn::finish`], it is aborted and no
/// row remains.
pub struct CopyIn<'a> {
    control: &'a mut Control,
    buffer: Vec<u8>,
    ended: bool,
}

impl<'a> CopyIn<'a> {
    pub(super) fn start(control: &'a mut Control, sql: &str) -> Result<Self, Error> {
        refuse_zero_bytes(sql)?;
        control.connection.begin(|exchange| exchange.query(sql))?;
        if control.connection.wait()? != FeedStatus::Send {
            control.complete()?;
            return Err(Error::Usage("the statement is not COPY ... FROM STDIN"));
        }
        let buffer = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
        Ok(CopyIn {
            control,
            buffer,
            ended: false,
        })
    }

    /// Adds data, which is sent in large chunks.
    ///
    /// # Errors
    /// The server has refused earlier data (a full disk, a bad value), or the connection is lost.
    /// The copy has then ended and no row remains.
    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        if self.buffer.is_empty() && data.len() >= CHUNK_BYTES {
            return self.send(data);
        }
        self.buffer.extend_from_slice(data);
        self.flush_if_full()
    }

    /// The buffer, for writing rows in place: append to it, then call
    /// [`CopyIn::flush_if_full`], after each row or every few kilobytes.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Sends the buffer if it holds [`CHUNK_BYTES`] or more.
    #[inline]
    pub fn flush_if_full(&mut self) -> Result<(), Error> {
        if self.buffer.len() < CHUNK_BYTES { Ok(()) } else { self.flush() }
    }

    /// Ends the stream; returns the server's count of rows.
    ///
    /// # Errors
    /// As for [`CopyIn::write`]; the server may report a bad row only now.
    pub fn finish(mut self) -> Result<u64, Error> {
        // An error if it has ended.
        self.flush()?;
        self.ended = true;
        self.control.connection.send([COPY_DONE, &[]])?;
        self.control.complete()?;
        Ok(self.control.connection.exchange().affected_rows())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let sent = self.send(&buffer);
        buffer.clear();
        self.buffer = buffer;
        sent
    }

    /// Sends one CopyData message, and checks whether the server has replied.
    fn send(&mut self, data: &[u8]) -> Result<(), Error> {
        if self.ended {
            return Err(COPY_ENDED);
        }
        if data.is_empty() {
            return Ok(());
        }
        let header = copy_data_header(data.len())
            .ok_or(Error::Usage("the data is too long for one message"))?;
        let connection = &mut self.control.connection;
        let sent = connection.send([&header, data]);
        match sent.and_then(|()| connection.process_arrived()) {
            Ok(FeedStatus::More) if connection.exchange().error_summary().is_none() => Ok(()),
            // The server has reported an error: it skips the data in flight, and is then ready again.
            Ok(_) => {
                self.ended = true;
                Err(self.control.complete().err().unwrap_or(Error::Closed))
            }
            Err(error) => {
                self.ended = true;
                Err(error)
            }
        }
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut message = Vec::new();
        put_copy_fail("the copy was abandoned", &mut message);
        let sent = self.control.connection.send([&message, &[]]);
        // The server confirms the end with an error (57014), and `drop` cannot report a lost connection.
        let _ = sent.and_then(|()| self.control.complete());
    }
}
