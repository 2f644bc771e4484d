-- A payment: credits an account and records it in the history.
\set aid random_zipfian(1, 100000 * :scale, 1.1)
\set amount random(1, 500)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :amount WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
  VALUES (1, 1, :aid, :amount, CURRENT_TIMESTAMP);
COMMIT;
