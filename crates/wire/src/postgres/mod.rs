//! PostgreSQL, protocol version 3.0.
