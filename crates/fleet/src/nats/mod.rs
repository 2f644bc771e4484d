//! NATS as a carrier: the bytes of frames in the messages of two core subjects, which belong to one call.
//!
//! A coordinator publishes a call, a random number, to `prony.NAME.call`, and repeats it until the agent of that name
//! answers on `prony.NAME.CALL.from`; from then on the agent reads `prony.NAME.CALL.to`. Core NATS may lose messages, so
//! each has its sender and a number, and a missing one ends the carrier. An empty one is the end of the bytes. Must never:
//! go on after a message was lost, or block on a server that is gone.

mod chunks;
mod waiting;

pub(crate) use chunks::{ChunkReader, ChunkWriter};
pub(crate) use waiting::NatsAgent;

use crate::coordinator::random_number;
use async_nats::{Client, ClientError, ConnectErrorKind, ConnectOptions, Event, Subscriber};
use futures_util::StreamExt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// How often a call is repeated until its agent answers, which may not have been started yet.
const CALL_INTERVAL: Duration = Duration::from_millis(500);
/// How long what was written last may take to leave.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a coordinator that was answered may say nothing: it greets at once. Later `Alive` arrives more often.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of frames in one message; servers take a megabyte unless they are told otherwise.
const CHUNK_MAX_BYTES: usize = 512 << 10;
/// The sender and the number of a message.
const HEADER_BYTES: usize = 16;
/// What an agent answers that drives a load already.
pub(crate) const BUSY: &str = "busy: it serves another coordinator";
/// How long an agent that is busy is called: one whose coordinator has just ended needs some seconds. Shorter than the
/// wait for its welcome, after which nobody would know why.
const BUSY_TIMEOUT: Duration = Duration::from_secs(25);

/// A server, and the name of an agent there, from `nats://host:4222/NAME`.
pub(crate) struct NatsAddress {
    pub server: String,
    pub agent: String,
}

impl NatsAddress {
    /// # Errors
    /// If there is no name, or it cannot be part of a subject.
    pub fn parse(url: &str, default_name: Option<&str>) -> io::Result<NatsAddress> {
        let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
        let url = url.trim();
        let (scheme, rest) = url
            .split_once("://")
            .filter(|(scheme, _)| matches!(*scheme, "nats" | "tls"))
            .ok_or_else(|| {
                invalid("its address must be nats://HOST:4222/NAME, or tls:// for TLS")
            })?;
        let (server, name) = rest.split_once('/').unwrap_or((rest, ""));
        let name = match (name, default_name) {
            // A dot would be a level of the subject.
            ("", Some(name)) => name.replace('.', "-"),
            (name, _) => name.to_owned(),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(invalid(
                "its address must end with the agent's name, of letters, digits, - and _: nats://HOST:4222/NAME",
            ));
        }
        Ok(NatsAddress {
            server: format!("{scheme}://{server}"),
            agent: name,
        })
    }
}

/// The warning of a server that takes messages of anybody.
pub(crate) fn open_server_warning(server: &str) -> String {
    format!(
        "the NATS server {} asks for no log-in: whoever reaches it can read what agents measure, and make them log in to any \
         database server with the passwords of their machines, and execute SQL there",
        prony_server::secrets::redact_argument(server)
    )
}

/// A connection to a NATS server, with a thread of its own.
pub(crate) struct Bus {
    client: Client,
    /// Whether the server refused the log-in, perhaps after a time without it.
    is_refused: Arc<AtomicBool>,
    handle: Handle,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bus {
    /// Connects. With `waits`, the server may come later.
    pub fn connect(server: &str, waits: bool) -> io::Result<Arc<Bus>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().spawn(move || {
            // Ended by the sender, which is never used.
            let _ = runtime.block_on(ended);
        })?;
        let is_refused = Arc::new(AtomicBool::new(false));
        let refused = Arc::clone(&is_refused);
        let connecting = async {
            let options = options(waits).await?.event_callback(move |event| {
                refused.fetch_or(is_refusal(&event), Ordering::Relaxed);
                std::future::ready(())
            });
            options.connect(server).await.map_err(io::Error::other)
        };
        let client = handle.block_on(connecting)?;
        Ok(Arc::new(Bus {
            client,
            is_refused,
            handle,
            end: Some(end),
            thread: Some(thread),
        }))
    }

    /// Whether the server takes commands of anybody who reaches it; `None` before the first connection.
    pub fn is_open(&self) -> Option<bool> {
        let info = self.client.server_info();
        (!info.server_id.is_empty()).then_some(!info.auth_required)
    }

    /// Calls an agent. Its first bytes arrive when it has answered.
    pub fn call(self: &Arc<Self>, agent: &str) -> io::Result<(ChunkReader, ChunkWriter)> {
        let call = format!("{:016x}{:016x}", random_number(), random_number());
        let incoming = self.subscribe(format!("prony.{agent}.{call}.from"))?;
        let (open, opened) = oneshot::channel();
        let (chunks, reader) = ChunkReader::new();
        let mut writer = self.writer(format!("prony.{agent}.{call}.to"), Some(opened));
        let caller = Caller {
            client: self.client.clone(),
            subject: format!("prony.{agent}.call"),
            call,
        };
        let receiver = self.handle.spawn(async move {
            let mut incoming = incoming;
            if let Some(first) = caller.repeat_until_answered(&mut incoming).await {
                let _ = chunks.send(first);
                let _ = open.send(());
                forward(incoming, chunks).await;
            }
        });
        writer.receiver = Some(receiver.abort_handle());
        Ok((reader, writer))
    }

    fn answer(self: &Arc<Self>, agent: &str, call: &str) -> io::Result<(ChunkReader, ChunkWriter)> {
        let incoming = self.subscribe(format!("prony.{agent}.{call}.to"))?;
        let (chunks, mut reader) = ChunkReader::new();
        reader.timeout = Some(GREETING_TIMEOUT);
        let receiver = self.handle.spawn(forward(incoming, chunks));
        let mut writer = self.writer(format!("prony.{agent}.{call}.from"), None);
        writer.receiver = Some(receiver.abort_handle());
        Ok((reader, writer))
    }

    fn subscribe(&self, subject: String) -> io::Result<Subscriber> {
        let subscribing = async {
            let subscriber = self.client.subscribe(subject).await;
            let subscriber = subscriber.map_err(io::Error::other)?;
            // The server must know of it before anybody publishes; a server that is gone is noticed elsewhere.
            let _ = timeout(FLUSH_TIMEOUT, self.client.flush()).await;
            Ok(subscriber)
        };
        self.handle.block_on(subscribing)
    }

    /// `opened`: when somebody reads.
    fn writer(
        self: &Arc<Self>,
        subject: String,
        opened: Option<oneshot::Receiver<()>>,
    ) -> ChunkWriter {
        let (messages, outgoing) = unbounded_channel();
        let (done, flushed) = channel();
        let is_open = Arc::new(AtomicBool::new(opened.is_none()));
        let publisher = Publisher {
            client: self.client.clone(),
            subject,
            is_open: Arc::clone(&is_open),
        };
        self.handle
            .spawn(publisher.publish_all(outgoing, opened, done));
        let server_max = self.client.server_info().max_payload;
        let max_bytes = match server_max.saturating_sub(HEADER_BYTES) {
            // Not connected yet.
            0 => CHUNK_MAX_BYTES,
            server_max => CHUNK_MAX_BYTES.min(server_max),
        };
        ChunkWriter {
            messages: Some(messages),
            flushed,
            is_open,
            sender: random_number(),
            next_number: 0,
            max_bytes,
            receiver: None,
            _bus: Arc::clone(self),
        }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The usual options of NATS clients, from the variables of the `nats` command.
async fn options(waits: bool) -> io::Result<ConnectOptions> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut options = ConnectOptions::new().name("prony");
    if waits {
        options = options.retry_on_initial_connect();
    }
    if let Some(user) = variable("NATS_USER") {
        options = match variable("NATS_PASSWORD") {
            Some(password) => options.user_and_password(user, password),
            // The command takes a user without a password as a token.
            None => options.token(user),
        };
    }
    if let Some(token) = variable("NATS_TOKEN") {
        options = options.token(token);
    }
    if let Some(file) = variable("NATS_NKEY") {
        let text = std::fs::read_to_string(file)?;
        let seed = text
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with('S'));
        let missing = || io::Error::other("the file of NATS_NKEY has no seed");
        options = options.nkey(seed.ok_or_else(missing)?.to_owned());
    }
    if let Some(file) = variable("NATS_CREDS") {
        options = options.credentials_file(file).await?;
    }
    if let Some(file) = variable("NATS_CA") {
        options = options.add_root_certificates(file.into());
    }
    if let (Some(certificate), Some(key)) = (variable("NATS_CERT"), variable("NATS_KEY")) {
        options = options.add_client_certificate(certificate.into(), key.into());
    }
    Ok(options)
}

/// Whether the server does not accept the log-in; the client would try again for ever.
fn is_refusal(event: &Event) -> bool {
    let kinds = [
        ConnectErrorKind::AuthorizationViolation,
        ConnectErrorKind::Authentication,
    ];
    matches!(event, Event::ClientError(ClientError::Other(text))
        if kinds.iter().any(|kind| *text == kind.to_string()))
}

struct Caller {
    client: Client,
    subject: String,
    call: String,
}

impl Caller {
    async fn repeat_until_answered(&self, incoming: &mut Subscriber) -> Option<Vec<u8>> {
        let since = Instant::now();
        loop {
            let call = self.call.clone().into_bytes();
            let published = self.client.publish(self.subject.clone(), call.into());
            published.await.ok()?;
            match timeout(CALL_INTERVAL, incoming.next()).await {
                Ok(message) => {
                    let answer = message?.payload.to_vec();
                    if !is_busy(&answer) || since.elapsed() > BUSY_TIMEOUT {
                        return Some(answer);
                    }
                    sleep(CALL_INTERVAL).await;
                }
                Err(_) => continue,
            }
        }
    }
}

fn is_busy(answer: &[u8]) -> bool {
    answer.get(HEADER_BYTES..) == Some(BUSY.as_bytes())
}

async fn forward(mut incoming: Subscriber, chunks: Sender<Vec<u8>>) {
    while let Some(message) = incoming.next().await {
        if chunks.send(message.payload.to_vec()).is_err() {
            break;
        }
    }
}

struct Publisher {
    client: Client,
    subject: String,
    is_open: Arc<AtomicBool>,
}

impl Publisher {
    /// Publishes until the writer is dropped, from when somebody reads.
    async fn publish_all(
        self,
        mut outgoing: UnboundedReceiver<Vec<u8>>,
        opened: Option<oneshot::Receiver<()>>,
        done: Sender<()>,
    ) {
        if let Some(opened) = opened {
            if opened.await.is_err() {
                return;
            }
            self.is_open.store(true, Ordering::Relaxed);
        }
        while let Some(chunk) = outgoing.recv().await {
            let published = self.client.publish(self.subject.clone(), chunk.into());
            if published.await.is_err() {
                break;
            }
        }
        let _ = timeout(FLUSH_TIMEOUT, self.client.flush()).await;
        let _ = done.send(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn an_address_ends_with_the_name_of_an_agent() {
        let parse = |url: &str| NatsAddress::parse(url, None).map(|a| (a.server, a.agent));
        let (server, agent) = parse("tls://u:p@bus:4222/vm-1").expect("whole");
        assert_eq!((&*server, &*agent), ("tls://u:p@bus:4222", "vm-1"));
        for wrong in [
            "nats://bus:4222",
            "nats://bus/a.b",
            "nats://bus/*",
            "http://bus/a",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let waiting = NatsAddress::parse("nats://bus", Some("vm1.example.org"));
        assert_eq!(waiting.expect("whole").agent, "vm1-example-org");
    }

    /// The server takes 64 KiB in a message, and a frame has three megabytes.
    #[test]
    fn frames_above_the_size_of_a_message_are_split() {
        use crate::frame::{read_frame, write_frame};
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("a port").port();
        drop(free);
        let folder = std::env::temp_dir();
        let config = folder.join(format!("prony-nats-{}.conf", std::process::id()));
        let text = format!("host: 127.0.0.1\nport: {port}\nmax_payload: 65536\n");
        std::fs::write(&config, text).expect("a file");
        let server = std::process::Command::new("/usr/sbin/nats-server")
            .arg("-c")
            .arg(&config)
            .stderr(std::process::Stdio::null())
            .spawn();
        let Ok(mut server) = server else {
            eprintln!("skipped: there is no nats-server here");
            return;
        };
        let address = NatsAddress::parse(&format!("nats://127.0.0.1:{port}/vm1"), None);
        let address = address.expect("an address");
        let mut connected = NatsAgent::connect(&address);
        for _ in 0..100 {
            if connected
                .as_ref()
                .is_ok_and(|agent| agent.is_open().is_some())
            {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            connected = connected.or_else(|_| NatsAgent::connect(&address));
        }
        let agent = connected.expect("a server");
        let bus = Bus::connect(&address.server, false).expect("a server");
        let (mut from_agent, mut to_agent) = bus.call("vm1").expect("a call");
        let (mut input, mut output) = agent.next_coordinator().expect("a call");
        let long = "x".repeat(3 << 20);
        write_frame(&mut output, 7, &long).expect("sent");
        write_frame(&mut to_agent, 7, &long).expect("sent");
        assert!(read_frame::<String>(&mut from_agent, 7).expect("whole") == long);
        assert!(read_frame::<String>(&mut input, 7).expect("whole") == long);
        // Dropping one side is the end of the other's bytes.
        drop(to_agent);
        assert_eq!(input.read(&mut [0; 8]).expect("the end"), 0);
        drop((agent, output));
        server.kill().expect("it runs");
        server.wait().expect("it ends");
        std::fs::remove_file(config).expect("a file");
    }
}
