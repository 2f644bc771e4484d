//! The bytes of one direction of a call, in numbered messages.
//!
//! In: messages, or bytes. Out: the other. Must never: go on after a message was lost, or one of another sender.

use super::{Bus, FLUSH_TIMEOUT, HEADER_BYTES};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

/// The bytes of the other side.
pub(crate) struct ChunkReader {
    chunks: Receiver<Vec<u8>>,
    /// How long to wait for the next message, if not forever.
    pub(super) timeout: Option<Duration>,
    /// Who sends, from the first message.
    sender: Option<u64>,
    next: u64,
    chunk: Vec<u8>,
    position: usize,
}

impl ChunkReader {
    pub(super) fn new() -> (Sender<Vec<u8>>, ChunkReader) {
        let (sender, chunks) = channel();
        let reader = ChunkReader {
            chunks,
            timeout: None,
            sender: None,
            next: 0,
            chunk: Vec::new(),
            position: 0,
        };
        (sender, reader)
    }

    /// The next message must follow the last one of the same sender.
    fn check(&mut self, chunk: &[u8]) -> io::Result<()> {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let header = chunk
            .get(..HEADER_BYTES)
            .ok_or_else(|| io::Error::other("it sent a message without a header"))?;
        let (sender, index) = (number(&header[..8]), number(&header[8..]));
        if *self.sender.get_or_insert(sender) != sender {
            return Err(io::Error::other("two agents have its name"));
        }
        if index != self.next {
            return Err(io::Error::other("NATS lost messages"));
        }
        self.next += 1;
        Ok(())
    }
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.chunk.len() {
            let chunk = match self.timeout {
                None => self.chunks.recv().ok(),
                Some(timeout) => match self.chunks.recv_timeout(timeout) {
                    Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                    received => received.ok(),
                },
            };
            let Some(chunk) = chunk else {
                return Ok(0);
            };
            self.check(&chunk)?;
            self.chunk = chunk;
            self.position = HEADER_BYTES;
        }
        let bytes = &self.chunk[self.position..];
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.position += length;
        Ok(length)
    }
}

/// Bytes for the other side. Dropping it ends them, and those of the other side.
pub(crate) struct ChunkWriter {
    pub(super) chunks: Option<UnboundedSender<Vec<u8>>>,
    pub(super) flushed: Receiver<()>,
    pub(super) is_open: Arc<AtomicBool>,
    pub(super) sender: u64,
    pub(super) number: u64,
    pub(super) max_bytes: usize,
    /// What reads the other side's bytes, which ends too.
    pub(super) reading: Option<AbortHandle>,
    /// Keeps the connection.
    pub(super) _bus: Arc<Bus>,
}

impl ChunkWriter {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = Vec::with_capacity(HEADER_BYTES + bytes.len());
        chunk.extend_from_slice(&self.sender.to_le_bytes());
        chunk.extend_from_slice(&self.number.to_le_bytes());
        chunk.extend_from_slice(bytes);
        self.number += 1;
        let chunks = self.chunks.as_ref();
        let sent = chunks.and_then(|chunks| chunks.send(chunk).ok());
        sent.ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.max_bytes);
        if length > 0 {
            self.send(&buffer[..length])?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ChunkWriter {
    fn drop(&mut self) {
        let _ = self.send(&[]);
        self.chunks = None;
        if self.is_open.load(Ordering::Relaxed) {
            let _ = self.flushed.recv_timeout(FLUSH_TIMEOUT);
        }
        if let Some(reading) = &self.reading {
            reading.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever calls an agent and says nothing does not keep it from others.
    #[test]
    fn a_silent_coordinator_is_not_waited_for() {
        let (sender, mut reader) = ChunkReader::new();
        reader.timeout = Some(Duration::from_millis(10));
        let error = reader.read(&mut [0; 8]).expect_err("silence");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(sender);
        assert_eq!(reader.read(&mut [0; 8]).expect("the end"), 0);
    }

    fn chunk(sender: u64, number: u64, bytes: &[u8]) -> Vec<u8> {
        [&sender.to_le_bytes()[..], &number.to_le_bytes(), bytes].concat()
    }

    #[test]
    fn lost_messages_and_a_second_sender_end_the_carrier() {
        let read = |chunks: &[Vec<u8>]| {
            let (sender, mut reader) = ChunkReader::new();
            for chunk in chunks {
                sender.send(chunk.clone()).expect("a reader");
            }
            drop(sender);
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        };
        let first = chunk(7, 0, b"ab");
        assert_eq!(
            read(&[first.clone(), chunk(7, 1, b"c")]).expect("whole"),
            "abc"
        );
        // What follows the end is not read.
        let ended = [first.clone(), chunk(7, 1, b""), chunk(7, 2, b"d")];
        assert_eq!(read(&ended).expect("whole"), "ab");
        for (second, expected) in [
            (chunk(7, 2, b"c"), "lost messages"),
            (chunk(7, 0, b"c"), "lost messages"),
            (chunk(8, 0, b"c"), "two agents"),
            (b"short".to_vec(), "without a header"),
        ] {
            let error = read(&[first.clone(), second])
                .expect_err("a fault")
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
