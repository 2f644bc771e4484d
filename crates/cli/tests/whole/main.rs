//! The whole house from outside: the program on a real server, as a user runs it.
//!
//! Needs PostgreSQL's programs on this machine, as all tests on a real server do. One binary, so
//! that its tests share one server and are linked once.

mod benchmark;
mod common;
mod hammerdb;
mod initialize;
mod life;
mod logins;
mod looking_on;
mod lua;
mod lua_connections;
mod manual;
mod maria;
mod modes;
mod oltp;
mod orders;
mod others;
mod pgbench;
mod repeats;
mod reproduce;
mod script;
mod secrecy;
mod split;
mod sysbench;
mod trouble;
mod watched;
