//! A database for one test.

use crate::{MariaDb, shared_mariadb, shared_postgres};
use prony_server::embedded::EmbeddedPostgres;
use prony_server::{Control, Environment, Target};

pub struct TestDatabase {
    pub target: Target,
    pub url: String,
    /// Drops the database at the end of the test, if it is large: a target to connect to, and the statement.
    dropped_by: Option<(Target, String)>,
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // A failed test has already reported its failure, and a stopped server keeps the database.
        if let Some((target, statement)) = &self.dropped_by
            && let Ok(mut control) = Control::connect(target)
        {
            let _ = control.execute(statement);
        }
    }
}

impl TestDatabase {
    /// The database at a URL, without the test's environment.
    ///
    /// # Panics
    /// The URL is invalid.
    pub fn at(url: &str) -> TestDatabase {
        let target = prony_server::resolve(url, &Environment::without_home("postgres"));
        TestDatabase {
            target: target.expect("a good URL"),
            url: url.to_owned(),
            dropped_by: None,
        }
    }

    pub fn postgres(name: &str) -> TestDatabase {
        TestDatabase::on_postgres(shared_postgres(), "postgres")
            .execute(&format!("create database {name}"));
        TestDatabase::on_postgres(shared_postgres(), name)
    }

    pub fn on_postgres(server: &EmbeddedPostgres, name: &str) -> TestDatabase {
        TestDatabase::at(&server.url_for(name))
    }

    /// Creates a database with this name on the MariaDB that all tests share.
    pub fn maria(name: &str) -> TestDatabase {
        TestDatabase::on_maria(shared_mariadb(), name)
    }

    pub fn on_maria(server: &MariaDb, name: &str) -> TestDatabase {
        TestDatabase::on_existing_maria(server, "test").execute(&format!("create database {name}"));
        TestDatabase::on_existing_maria(server, name)
    }

    pub fn on_existing_maria(server: &MariaDb, name: &str) -> TestDatabase {
        TestDatabase::at(&server.url_for("root", name))
    }

    /// Drops the database when the test ends, by a statement on a connection to this database.
    #[must_use]
    pub fn dropped_by(mut self, database: &TestDatabase, statement: String) -> TestDatabase {
        self.dropped_by = Some((database.target.clone(), statement));
        self
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.target).expect("connects")
    }

    /// Executes a statement and ignores its result.
    pub fn execute(&self, sql: &str) {
        self.control().execute(sql).expect(sql);
    }

    /// Executes statements that are separated by semicolons.
    pub fn execute_all(&self, sql: &str) {
        let mut control = self.control();
        for statement in sql.split(';').filter(|sql| !sql.trim().is_empty()) {
            control.run(statement);
        }
    }

    pub fn query_number(&self, sql: &str) -> i64 {
        self.query_text(sql).parse().expect("a number")
    }

    pub fn query_text(&self, sql: &str) -> String {
        let value = self.control().query_value(sql).expect(sql);
        value.expect("not null")
    }
}

pub trait TestControl {
    /// Executes a statement.
    ///
    /// # Panics
    /// The server refuses it; the message has the statement.
    fn run(&mut self, sql: impl AsRef<str>);
}

impl TestControl for Control {
    #[track_caller]
    fn run(&mut self, sql: impl AsRef<str>) {
        let sql = sql.as_ref();
        if let Err(error) = self.execute(sql) {
            panic!("{sql}: {error}");
        }
    }
}
