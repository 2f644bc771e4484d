{function:create function {prefix}dbms_random(p_low int, p_high int) returns int language plpgsql volatile as
begin
  return p_low + floor((1 + p_high - p_low) * random())::int;
end
}
