# No server is asked, and nothing is set.
puts "[ expr { [ numberOfWHs ] / 10 * 10 } ] warehouses"
print db
puts ""
vustatus
vudestroy
diset tpcc pg_nosuch 1
jobs result
if { [ vucomplete ] } { puts "not reached" }
frob
