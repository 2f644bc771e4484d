//! The language against pgbench's own behaviour.

mod expressions;
