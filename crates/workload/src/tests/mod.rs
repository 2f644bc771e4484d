//! Test support: mock servers, and checks of statements on a real server.

pub mod inferred_types;
pub mod mock_mysql;
pub mod mock_postgres;
pub mod mock_sqlserver;
