-- Report hooks that fail, and which thread reports in which state.

function sysbench.hooks.report_intermediate(stat)
   error("intermediate")
end

function sysbench.hooks.report_cumulative(stat)
   print("cumulative", from_init)
   error("cumulative")
end

function init()
   from_init = "as init left it"
end

function event() end
