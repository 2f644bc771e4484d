//! Flags of `load`, `run` and `reproduce` that relate the size of the data to the memory of the server.

use clap::{Args, ValueEnum};
use prony_plan::scenario::parse_share;

/// How much of the data fits into the server's memory.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CachedArgs {
    /// Choose the scale so that this share of the data fits into memory: with 30%, the data is 3.3 times the memory
    #[arg(long, value_name = "SHARE", help_heading = "Data", value_parser = parse_share)]
    pub cached: Option<f64>,

    /// The memory that --cached refers to: 'memory' is the RAM of the server's machine, 'cache' is
    /// shared_buffers or innodb_buffer_pool_size [default: memory if its size is known, else cache]
    #[arg(
        long,
        value_name = "WHAT",
        help_heading = "Data",
        requires = "cached",
        hide_possible_values = true
    )]
    pub cached_of: Option<ReferenceMemory>,
}

/// The memory against which the share of `--cached` or `--expect-cached` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReferenceMemory {
    /// The memory of the server's machine
    Memory,
    /// shared_buffers, or innodb_buffer_pool_size
    Cache,
}
