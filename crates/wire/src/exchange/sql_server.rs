//! Requests that only SQL Server's protocol has. On another protocol these methods build nothing.

use super::*;
use crate::tds::BulkLoad;

impl Exchange {
    /// Begins the message with the rows of a bulk load, after the server has accepted its statement
    /// ([`BulkLoad::statement`]). The message is sent in parts, which [`Exchange::bulk_packets`] makes; the reply
    /// follows the last. Returns false if the protocol has no bulk load.
    pub fn begin_bulk_rows(&mut self) -> bool {
        match &mut self.state {
            ProtocolState::Tds(tds) => {
                tds.begin_bulk_rows();
                true
            }
            ProtocolState::Postgres { .. } | ProtocolState::Mysql(_) => false,
        }
    }

    /// Moves rows of a bulk load into `out`, as full packets; with `is_finished`, after [`BulkLoad::finish`], all
    /// that remain, with the end of the message. Does nothing on another protocol.
    pub fn bulk_packets(&self, load: &mut BulkLoad, is_finished: bool, out: &mut Vec<u8>) {
        match &self.state {
            ProtocolState::Tds(tds) => tds.bulk_packets(load, is_finished, out),
            ProtocolState::Postgres { .. } | ProtocolState::Mysql(_) => {}
        }
    }

    /// The message that cancels the request in flight; send it on the same connection, after the whole
    /// request. The reply is then complete when the server has acknowledged the message. It is an error,
    /// unless the server had completed the reply before. Returns `None` if no request is in flight, if the
    /// request is canceled already, or if the protocol cancels over another connection.
    pub fn attention(&mut self) -> Option<&'static [u8]> {
        match &mut self.state {
            ProtocolState::Tds(tds) => tds.attention(),
            ProtocolState::Postgres { .. } | ProtocolState::Mysql(_) => None,
        }
    }

    /// The collation of the session, which [`BulkLoad::new`] needs; zeros on another protocol.
    pub fn collation(&self) -> [u8; 5] {
        match &self.state {
            ProtocolState::Tds(tds) => tds.codec.collation(),
            ProtocolState::Postgres { .. } | ProtocolState::Mysql(_) => [0; 5],
        }
    }
}
