//! One direction of a call: a stream of bytes in the messages of a subject. A message is its sender, its number from 0 on,
//! and a chunk of the stream; an empty chunk ends the stream. Must never go on after a message was lost, or after one of
//! another sender.

use super::{Bus, FLUSH_TIMEOUT, HEADER_BYTES};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;

/// Reads the stream of the other side.
pub(crate) struct ChunkReader {
    messages: Receiver<Vec<u8>>,
    /// How long to wait for the next message, if not forever.
    pub(super) timeout: Option<Duration>,
    /// The sender of the first message, and of all others.
    sender: Option<u64>,
    next_number: u64,
    /// The last message, and how much of it was read.
    message: Vec<u8>,
    position: usize,
}

impl ChunkReader {
    pub(super) fn new() -> (Sender<Vec<u8>>, ChunkReader) {
        let (sender, messages) = channel();
        let reader = ChunkReader {
            messages,
            timeout: None,
            sender: None,
            next_number: 0,
            message: Vec::new(),
            position: 0,
        };
        (sender, reader)
    }

    /// Checks that a message follows the last one, and has the same sender.
    fn check_header(&mut self, message: &[u8]) -> io::Result<()> {
        let Some((sender, number)) = parse_header(message) else {
            return Err(io::Error::other("it sent a message without a header"));
        };
        if *self.sender.get_or_insert(sender) != sender {
            return Err(io::Error::other("two agents have its name"));
        }
        if number != self.next_number {
            return Err(io::Error::other("NATS lost messages"));
        }
        self.next_number += 1;
        Ok(())
    }
}

/// Sender and number of a message.
fn parse_header(message: &[u8]) -> Option<(u64, u64)> {
    let (sender, message) = message.split_first_chunk()?;
    let (number, _) = message.split_first_chunk()?;
    Some((u64::from_le_bytes(*sender), u64::from_le_bytes(*number)))
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.message.len() {
            let message = match self.timeout {
                None => self.messages.recv().ok(),
                Some(timeout) => match self.messages.recv_timeout(timeout) {
                    Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                    received => received.ok(),
                },
            };
            let Some(message) = message else {
                return Ok(0);
            };
            self.check_header(&message)?;
            self.message = message;
            self.position = HEADER_BYTES;
        }
        let bytes = &self.message[self.position..];
        let length = bytes.len().min(buffer.len());
        buffer[..length].copy_from_slice(&bytes[..length]);
        self.position += length;
        Ok(length)
    }
}

/// Writes the stream of this side. Dropping it ends that stream, and the other side's too.
pub(crate) struct ChunkWriter {
    pub(super) messages: Option<UnboundedSender<Vec<u8>>>,
    /// Receives when all messages have left.
    pub(super) flushed: Receiver<()>,
    /// Whether somebody reads, so that messages leave.
    pub(super) is_open: Arc<AtomicBool>,
    pub(super) sender: u64,
    pub(super) next_number: u64,
    /// Longest chunk.
    pub(super) max_bytes: usize,
    /// The task that receives the other side's messages.
    pub(super) receiver: Option<AbortHandle>,
    /// Keeps the connection.
    pub(super) _bus: Arc<Bus>,
}

impl ChunkWriter {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let header = [self.sender, self.next_number].map(u64::to_le_bytes);
        let message = [header.as_flattened(), bytes].concat();
        self.next_number += 1;
        let messages = self.messages.as_ref();
        let sent = messages.and_then(|messages| messages.send(message).ok());
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
        self.messages = None;
        if self.is_open.load(Ordering::Relaxed) {
            let _ = self.flushed.recv_timeout(FLUSH_TIMEOUT);
        }
        if let Some(receiver) = &self.receiver {
            receiver.abort();
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
