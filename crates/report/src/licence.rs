//! A notice about licences that restrict the publication of results.
//!
//! Must never: say what a licence permits, because editions and versions differ.

use prony_store::Run;

/// The notice for pages with results of SQL Server.
const SQL_SERVER: &str = "Licences of SQL Server, above all of older versions, may forbid publishing the results of \
     benchmarks without Microsoft's approval. Read the licence of this server before you pass this page on.";

/// The notice for these runs; `None` if no engine's licence is known to restrict publication.
pub(crate) fn publication_notice<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
) -> Option<&'static str> {
    let is_restricted = |run: &Run| {
        let product = run.server.product;
        product.is_some_and(|product| product.may_forbid_publication)
    };
    runs.into_iter().any(is_restricted).then_some(SQL_SERVER)
}
