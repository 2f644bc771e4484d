//! Tests of more than one part of the room.

mod allocation;
mod asked;
mod distributions;
mod rows;
mod server;
mod statements;
