-- Reads and writes in one transaction.

require("oltp_transaction")({ "point_selects", "ranges", "index_updates", "non_index_updates", "delete_inserts" })
