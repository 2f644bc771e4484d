-- Prony's routines are recognised by their prefix or by the comment in their text.
select o.name, 'p',
  substring(m.definition, charindex('Installed by Prony', m.definition), 37),
  'drop procedure [' + replace(cast(o.name as nvarchar(128)), ']', ']]') + ']',
  case when o.name like 'prony[_]tpcc[_]%' or m.definition like '%Installed by Prony%' then 1 else 0 end
from sys.objects o join sys.sql_modules m on m.object_id = o.object_id
where o.type = 'P' and o.schema_id = schema_id()
  and (o.name like 'prony[_]tpcc[_]%'
    or o.name in ('neword', 'payment', 'delivery', 'ostat', 'slev'))
