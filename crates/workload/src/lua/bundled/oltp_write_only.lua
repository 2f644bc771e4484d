-- Writes in one transaction.

require("oltp_transaction")({ "index_updates", "non_index_updates", "delete_inserts" })
