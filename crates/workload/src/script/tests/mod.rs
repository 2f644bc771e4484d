//! The language against pgbench's own behaviour.

mod expressions;
mod scripts;
mod values;
