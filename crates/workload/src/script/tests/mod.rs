//! The language against pgbench's own behaviour.

mod expressions;
mod running;
mod scripts;
mod values;
