//! An answer: a text or a page, or events that the client gets as they happen (server-sent events of HTML).

use super::{SEND_TIMEOUT, SENDS_ANSWER};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{sleep, timeout};

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";
/// Time between two events.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);

/// Makes the next event, in the form of the standard; `None` after the last one.
pub type EventSource = Box<dyn FnMut() -> Option<String> + Send>;

pub struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pub(super) body: AnswerBody,
}

pub(super) enum AnswerBody {
    Whole(Vec<u8>),
    Events(EventSource),
}

impl Answer {
    pub fn new(content_type: &str, body: Vec<u8>) -> Answer {
        Answer {
            status: 200,
            headers: Vec::new(),
            body: AnswerBody::Whole(body),
        }
        .with_header(CONTENT_TYPE.as_str(), content_type)
    }

    pub fn text(status: u16, line: &str) -> Answer {
        Answer::new(PLAIN_TEXT, format!("{line}\n").into_bytes()).with_status(status)
    }

    /// Events, one a second, until the source ends or the client disconnects.
    pub fn events(source: EventSource) -> Answer {
        Answer {
            body: AnswerBody::Events(source),
            ..Answer::new("text/event-stream", Vec::new())
        }
    }

    pub(super) fn busy() -> Answer {
        Answer::text(503, "too many connections at a time").with_header("Retry-After", "1")
    }

    #[must_use]
    pub fn with_status(self, status: u16) -> Answer {
        Answer { status, ..self }
    }

    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Answer {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// `progress`: of the connection.
    pub(super) fn into_response(self, progress: Arc<AtomicU8>) -> Response<AnswerStream> {
        let stream = match self.body {
            AnswerBody::Whole(bytes) => AnswerStream::Whole(Some(bytes.into())),
            AnswerBody::Events(source) => AnswerStream::Events(send_events(source, progress)),
        };
        let mut response = Response::new(stream);
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let every_answer = [
            ("X-Content-Type-Options", "nosniff".to_owned()),
            ("Cache-Control", "no-store".to_owned()),
        ];
        for (name, value) in self.headers.into_iter().chain(every_answer) {
            // A value that is no header is left out: a text from outside cannot add another header.
            if let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(name.as_bytes()),
                HeaderValue::from_str(&value),
            ) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

/// Calls the source each second, on a thread of its own, as long as somebody listens and takes the events.
fn send_events(mut source: EventSource, progress: Arc<AtomicU8>) -> Receiver<Bytes> {
    let (sender, receiver) = channel(1);
    tokio::spawn(async move {
        loop {
            let made = tokio::task::spawn_blocking(move || {
                let event = source();
                (event, source)
            });
            let Ok((Some(event), same_source)) = made.await else {
                break;
            };
            source = same_source;
            let sent = timeout(SEND_TIMEOUT, sender.send(event.into())).await;
            if !matches!(sent, Ok(Ok(()))) {
                break;
            }
            sleep(EVENT_INTERVAL).await;
        }
        progress.store(SENDS_ANSWER, Ordering::Relaxed);
    });
    receiver
}

/// The body of a response, as the client takes it.
pub(super) enum AnswerStream {
    Whole(Option<Bytes>),
    Events(Receiver<Bytes>),
}

impl Body for AnswerStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match self.get_mut() {
            AnswerStream::Whole(bytes) => Poll::Ready(bytes.take()),
            AnswerStream::Events(events) => events.poll_recv(context),
        };
        bytes.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            AnswerStream::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            AnswerStream::Events(_) => SizeHint::default(),
        }
    }
}
