//! Command lines of sysbench: what they mean, and how sysbench 1.0.20 refuses them.
//!
//! What a refusal prints, where, and which of several errors it reports was recorded from the
//! real program.

mod anything;
mod meaning;
mod refusals;
mod support;
