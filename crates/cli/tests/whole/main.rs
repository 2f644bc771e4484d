//! End-to-end tests: the program on a real server, as a user runs it.
//!
//! Requires PostgreSQL's programs on this machine, like all tests on a real server. These tests form a single
//! binary, so they share one server and are linked once.

mod benchmark;
mod capture;
mod commit_counts;
mod common;
mod documentation;
mod drills;
mod endpoints;
mod find;
mod fleet;
mod fleet_nats;
mod full_disk;
mod half_open;
mod hammerdb;
mod initialize;
mod invalid;
mod kits;
mod liar;
mod life;
mod load_size;
mod logins;
mod lost_commits;
mod lua;
mod lua_api;
mod lua_commands;
mod lua_connections;
mod maria;
mod modes;
mod noise;
mod observation;
mod observers;
mod oltp;
mod other_versions;
mod own_sql;
mod passwords;
mod pgbench;
mod poolers;
mod relay;
mod repeats;
mod reproduce;
mod requirements;
mod script;
mod server_settings;
mod services;
mod split;
mod sqlserver;
mod stalls;
mod statements;
mod suite;
mod sweeps;
mod sysbench;
mod tpcc;
mod tpcc_errors;
mod ycsb;
