-- Reads the balance of an account, and counts recent payments.
\set aid random_zipfian(1, 100000 * :scale, 1.1)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
SELECT count(*) FROM pgbench_history
  WHERE tid = 1 AND mtime > CURRENT_TIMESTAMP - :days * INTERVAL '1 day';
