//! Bulk loads over the control connection; only SQL Server has them.

use super::{Control, Error};
use prony_wire::Engine;
use prony_wire::tds::BulkLoad;

impl Control {
    /// The collation of the session on SQL Server, which [`BulkLoad::new`] needs; zeros on another engine.
    pub fn collation(&self) -> [u8; 5] {
        self.connection.exchange().collation()
    }

    /// Sends the rows of `load`, on which [`BulkLoad::finish`] must have been called, as part of the open
    /// transaction if there is one. Returns the number of rows that the server stored.
    ///
    /// # Errors
    /// As for [`Control::execute`]; [`Error::Usage`] if the server is not SQL Server.
    pub fn bulk_load(&mut self, load: &BulkLoad) -> Result<u64, Error> {
        match self.engine() {
            Engine::PostgreSql | Engine::MySql | Engine::MariaDb => {
                Err(Error::Usage("only SQL Server has bulk loads"))
            }
            Engine::SqlServer => {
                self.request(load.statement(), |exchange| {
                    exchange.bulk_load(load);
                })?;
                Ok(self.connection.exchange().affected_rows())
            }
        }
    }
}
