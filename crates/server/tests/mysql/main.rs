//! The control connection and the login against a real MariaDB.

mod control;
mod external;
mod login;
mod misbehaving;
mod support;
