-- Prony's routines are recognised by their prefix or, if they have HammerDB's names, by their first line.
select proname, prokind, prosrc, 'drop routine ' || oid::regprocedure, ours::int
from (select p.*, starts_with(proname::text, 'prony_tpcc_')
    or prosrc like E'\n-- Installed by Prony.%' as ours
  from pg_proc p
  where pronamespace = (select oid from pg_namespace where nspname = current_schema())
    and (starts_with(proname::text, 'prony_tpcc_')
      or proname in ('dbms_random', 'neword', 'payment', 'delivery', 'ostat', 'slev'))) p
