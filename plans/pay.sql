-- A payment: one account gets the money, and the history says so.
\set aid random_zipfian(1, 100000 * :scale, 1.1)
\set amount random(1, 500)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :amount WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
  VALUES (1, 1, :aid, :amount, CURRENT_TIMESTAMP);
COMMIT;
