//! Scripts in Lua on real servers.

mod api;
mod bad;
mod front;
mod legacy;
mod oltp;
mod styles;
mod support;
