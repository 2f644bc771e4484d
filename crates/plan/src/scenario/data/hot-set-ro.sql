-- The balance of an account of the hot set: near the middle of the range more often than at its ends.
\set aid random_gaussian(1, :range, 10.0)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
