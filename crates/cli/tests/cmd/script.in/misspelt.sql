\set aid random(1, 10)
SELECT :client_id + :aid;
SELECT :adi;
