//! Test support: mock servers, and checks of statements on a real server. Tests of all workloads on SQL Server.

pub mod inferred_types;
pub mod mock_mysql;
pub mod mock_postgres;
pub mod mock_sqlserver;

mod t_sql;
