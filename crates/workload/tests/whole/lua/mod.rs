//! Tests Lua scripts on real servers.

mod api;
mod legacy;
mod oltp;
mod outside;
mod script_errors;
mod styles;
mod support;
