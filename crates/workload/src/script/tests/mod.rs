//! Tests of the language against recordings of pgbench, and with arbitrary text.

mod allocation;
mod any_input;
mod choice;
mod details;
mod expressions;
mod own_sql;
mod own_sql_sqlserver;
mod running;
mod samples;
mod scripts;
mod values;
