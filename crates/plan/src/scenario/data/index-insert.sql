-- A row of history with random numbers in all its indexed columns.
\set tid random(1, :ids)
\set bid random(1, :ids)
\set aid random(1, :ids)
\set delta random(-:reach, :reach)
BEGIN;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
