//! Bulk loads over the control connection; only SQL Server has them.
//!
//! Must never: hold more of the rows than a few packets, because a load has many connections.

use super::{Control, Error};
use prony_document::SqlDialect;
use prony_wire::FeedStatus;
use prony_wire::tds::BulkLoad;

/// A bulk load in progress. If dropped before [`BulkIn::finish`], its connection can no longer be used, and the
/// server stores none of its rows.
pub struct BulkIn<'a> {
    control: &'a mut Control,
    packets: Vec<u8>,
    has_ended: bool,
}

impl Control {
    /// The collation of the session on SQL Server, which [`BulkLoad::new`] needs; zeros on another engine.
    pub fn collation(&self) -> [u8; 5] {
        self.connection.exchange().collation()
    }

    /// Starts a bulk load, as part of the open transaction if there is one. `load` must have no rows yet, or those
    /// to send first.
    ///
    /// # Errors
    /// As for [`Control::execute`]; [`Error::Usage`] if the server is not SQL Server.
    pub fn start_bulk_load(&mut self, load: &BulkLoad) -> Result<BulkIn<'_>, Error> {
        match self.dialect() {
            SqlDialect::PostgreSql | SqlDialect::MySql => {
                return Err(Error::Usage("only SQL Server has bulk loads"));
            }
            SqlDialect::TransactSql => {}
        }
        self.execute(load.statement())?;
        self.connection.begin(|exchange| {
            exchange.begin_bulk_rows();
        })?;
        Ok(BulkIn {
            control: self,
            packets: Vec::new(),
            has_ended: false,
        })
    }
}

impl BulkIn<'_> {
    /// Sends the rows of `load` and removes them from it, except a rest that does not fill a packet.
    ///
    /// # Errors
    /// The server has refused earlier rows, or the connection is lost; no row remains.
    pub fn send(&mut self, load: &mut BulkLoad) -> Result<(), Error> {
        self.send_packets(load, false)?;
        match self.control.connection.process_arrived()? {
            FeedStatus::More => Ok(()),
            // The server refuses a row, and reads no further: what it has not read yet would be the start of the
            // next request.
            FeedStatus::Send | FeedStatus::Complete => {
                let error = self.control.complete().err();
                Err(error.unwrap_or(Error::Closed))
            }
        }
    }

    /// Ends the load, on which [`BulkLoad::finish`] must have been called. Returns the number of rows that the
    /// server stored.
    ///
    /// # Errors
    /// As for [`BulkIn::send`]. The connection can then be used, unless it is lost.
    pub fn finish(mut self, load: &mut BulkLoad) -> Result<u64, Error> {
        self.send_packets(load, true)?;
        self.has_ended = true;
        self.control.complete()?;
        Ok(self.control.connection.exchange().affected_rows())
    }

    fn send_packets(&mut self, load: &mut BulkLoad, is_finished: bool) -> Result<(), Error> {
        let connection = &mut self.control.connection;
        self.packets.clear();
        let exchange = connection.exchange();
        exchange.bulk_packets(load, is_finished, &mut self.packets);
        connection.send([&self.packets, &[]])
    }
}

impl Drop for BulkIn<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.control.connection.mark_unusable();
        }
    }
}
