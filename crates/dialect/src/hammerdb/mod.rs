//! The hammerdbcli dialect, after HammerDB 4.6.
//!
//! In: arguments, scripts and kept settings; plain figures. Out: requests to a [`World`], and what they
//! mean to the core; the text of commands, builds, runs and time profiles. Must never: connect, measure, read a clock or print;
//! show or store a password.
//!
//! HammerDB's words are its interface: scripts grep them. They are facts here; the code is Prony's.
//! Where Prony differs on purpose: passwords are hidden in `print dict` and `diset`; the summary of a
//! time profile counts each call once; a script that `print script` could show does not exist.

mod console;
mod counter;
mod dictionary;
pub mod mix;
pub mod plan;
mod print;
mod profile;
mod reading;
mod request;
mod session;
mod set;
mod settings;
pub mod tcl;
pub mod text;
mod time_profile;
mod work;
mod world;

pub use console::{COMPAT_VARIABLE, Console, Invocation, PROFILES, USAGE, banner, compat, read};
pub use profile::{ProcTiming, TimeProfile, UserTiming};
pub use reading::read_output;
pub use request::{
    BuildRequest, Counter, Driver, Login, Output, Product, RunRequest, SchemaRequest, Ssl,
};
pub use session::{Session, VERSION};
pub use settings::Settings;
pub use text::{BuildLine, RunLine};
pub use world::{Ended, World};
