-- Prony's routines are recognised by their prefix or, if they have HammerDB's names, by their comment.
select routine_name, 'p', routine_comment,
  concat('drop procedure if exists `', replace(routine_name, '`', '``'), '`'),
  left(routine_name, 11) = 'prony_tpcc_' or routine_comment like 'Installed by Prony %'
from information_schema.routines
where routine_schema = database() and routine_type = 'PROCEDURE'
  and (left(routine_name, 11) = 'prony_tpcc_'
    or routine_name in ('NEWORD', 'PAYMENT', 'DELIVERY', 'OSTAT', 'SLEV'))
