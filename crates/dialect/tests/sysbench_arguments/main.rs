//! Command lines of sysbench: the values of valid command lines, and the errors of invalid ones.
//!
//! The errors were recorded from sysbench 1.0.20: the text, the stream, and which of several errors is
//! reported.

mod anything;
mod meaning;
mod plans;
mod refusals;
mod support;
