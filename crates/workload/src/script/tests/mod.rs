//! The language against pgbench's own behaviour, and against any text at all.

mod allocation;
mod any_input;
mod choice;
mod details;
mod expressions;
mod running;
mod scripts;
mod values;
