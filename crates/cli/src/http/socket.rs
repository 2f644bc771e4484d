//! A socket of tokio as hyper reads and writes it.

use hyper::rt::{Read, ReadBufCursor, Write};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Time limit for the client to close the connection after the answer.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Bytes that are read at once.
const READ_BYTES: usize = 4096;

pub struct Socket {
    tcp: TcpStream,
    /// How long the client may still send after the answer; absent before.
    closing: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    pub fn new(tcp: TcpStream) -> Socket {
        Socket { tcp, closing: None }
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        let room = buffer.remaining().min(READ_BYTES);
        let mut read = ReadBuf::new(&mut bytes[..room]);
        ready!(pin!(&mut self.tcp).poll_read(context, &mut read))?;
        buffer.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        pin!(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        pin!(&mut self.tcp).poll_flush(context)
    }

    /// Ends after the client has read the answer, or after [`CLOSE_TIMEOUT`]. Earlier, the kernel would reset the
    /// connection and discard the answer if the client had sent more than the head.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = &mut *self;
        if socket.closing.is_none() {
            ready!(pin!(&mut socket.tcp).poll_shutdown(context))?;
        }
        let closing = socket
            .closing
            .get_or_insert_with(|| Box::pin(sleep(CLOSE_TIMEOUT)));
        loop {
            let mut bytes = [0; READ_BYTES];
            let mut read = ReadBuf::new(&mut bytes);
            match pin!(&mut socket.tcp).poll_read(context, &mut read) {
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return closing.as_mut().poll(context).map(Ok),
            }
        }
    }
}
