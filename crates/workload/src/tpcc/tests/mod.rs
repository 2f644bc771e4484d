//! Tests of the running half that need no server.

mod allocation;
mod inputs;
