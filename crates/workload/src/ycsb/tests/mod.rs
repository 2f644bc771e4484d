//! Tests of users on a mock server, and of the distribution of their requests.

mod distributions;
mod operations;
