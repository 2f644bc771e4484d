-- Reads in one transaction.

require("oltp_transaction")({ "point_selects", "ranges" }, 2)
