//! Arguments of the commands that generate completions and man pages.

use clap_complete::aot::Shell;
use std::path::PathBuf;

/// Arguments of `prony completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Arguments of `prony man-pages`.
#[derive(Debug, clap::Args)]
pub struct ManPagesArgs {
    /// The folder for the pages, which is created if it is missing
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
