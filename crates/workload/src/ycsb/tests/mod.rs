//! Users on a mock server, and what they request.

mod distributions;
mod operations;
