//! Tests of program execution that need no server, and of the statements on PostgreSQL.

mod allocation;
mod inputs;
mod parameter_types;
mod sqlserver;
mod sqlserver_plans;
