-- Loads a bundled test by `require`, as other scripts do; its name is an option.

local name
for _, word in ipairs(sysbench.cmdline.argv) do
   name = word:match("^%-%-required=(.*)") or name
end
require(name)
sysbench.cmdline.options.required = { "Test to carry out", name }
