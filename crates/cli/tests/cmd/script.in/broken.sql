SELECT 1;
\set x 1 +
SELECT :x;
