//! An agent that waits at a NATS server, and answers one call after the other.
//!
//! In: calls. Out: the streams of one. Must never: serve two coordinators at once.

use super::{BUSY, Bus, CALL_INTERVAL, ChunkReader, ChunkWriter, HEADER_BYTES, NatsAddress};
use crate::carrier::lock;
use async_nats::{Client, Subscriber};
use futures_util::StreamExt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};

pub(crate) struct NatsAgent {
    bus: Arc<Bus>,
    name: String,
    calls: Receiver<String>,
    state: Arc<Mutex<AgentState>>,
}

/// The call that an agent answers, or answered last.
#[derive(Default)]
struct AgentState {
    call: String,
    is_busy: bool,
}

impl NatsAgent {
    pub fn connect(address: &NatsAddress) -> io::Result<NatsAgent> {
        let bus = Bus::connect(&address.server, true)?;
        let subscriber = bus.subscribe(format!("prony.{}.call", address.agent))?;
        let (sender, calls) = channel();
        let agent = NatsAgent {
            bus,
            name: address.agent.clone(),
            calls,
            state: Arc::default(),
        };
        let listener = CallListener {
            client: agent.bus.client.clone(),
            name: agent.name.clone(),
            state: Arc::clone(&agent.state),
            calls: sender,
        };
        agent.bus.handle.spawn(listener.listen(subscriber));
        Ok(agent)
    }

    pub fn is_open(&self) -> Option<bool> {
        self.bus.is_open()
    }

    pub fn next_coordinator(&self) -> io::Result<(ChunkReader, ChunkWriter)> {
        loop {
            match self.calls.recv_timeout(CALL_INTERVAL) {
                Ok(call) => return self.bus.answer(&self.name, &call),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the connection to NATS has ended"));
                }
                Err(RecvTimeoutError::Timeout) if self.bus.is_refused.load(Ordering::Relaxed) => {
                    return Err(io::Error::other("the NATS server refuses the log-in"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The coordinator is gone: the next one may call.
    pub fn rest(&self) {
        lock(&self.state).is_busy = false;
    }
}

struct CallListener {
    client: Client,
    name: String,
    state: Arc<Mutex<AgentState>>,
    calls: Sender<String>,
}

impl CallListener {
    async fn listen(self, mut incoming: Subscriber) {
        while let Some(message) = incoming.next().await {
            let call = String::from_utf8_lossy(&message.payload).into_owned();
            let is_call = call.len() == 32 && call.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_call && !self.accept(&call) {
                let mut answer = vec![0; HEADER_BYTES];
                answer.extend_from_slice(BUSY.as_bytes());
                let subject = format!("prony.{}.{call}.from", self.name);
                let _ = self.client.publish(subject, answer.into()).await;
            }
        }
    }

    /// Passes a new call on; `false` if the agent is busy with another one.
    fn accept(&self, call: &str) -> bool {
        let mut state = lock(&self.state);
        if state.call == call {
            // Repeated before the answer arrived.
            return true;
        }
        if state.is_busy {
            return false;
        }
        *state = AgentState {
            call: call.to_owned(),
            is_busy: true,
        };
        self.calls.send(call.to_owned()).is_ok()
    }
}
