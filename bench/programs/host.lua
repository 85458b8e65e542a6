local scale = os.getenv("KILN_BENCH_QUICK") and 10 or 1

local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end

local function float_loop(n)
  local s, i = 0.0, 0
  while i < n do
    s = s + i * 0.5
    i = i + 1
  end
  return s
end

local function lists(n)
  local xs = {}
  for i = 0, n - 1 do xs[#xs + 1] = i * 7 % 1000 end
  table.sort(xs)
  local total = 0
  for _, x in ipairs(xs) do total = total + x end
  return total
end

local function dicts(n)
  local counts = {}
  for i = 0, n - 1 do
    local k = i * 7919 % 5003
    counts[k] = (counts[k] or 0) + 1
  end
  local total = 0
  for k, v in pairs(counts) do total = total + v * k end
  return total
end

local function strings(n)
  local parts = {}
  for i = 0, n - 1 do parts[#parts + 1] = tostring(i) end
  return #table.concat(parts, ",")
end

local function timed(name, f, n)
  local started = os.clock()
  local value = f(n)
  print(string.format("%s %.9f %.14g", name, os.clock() - started, value))
end

timed("fib", fib, scale == 10 and 27 or 32)
timed("float_loop", float_loop, 50000000 / scale)
timed("lists", lists, 2000000 / scale)
timed("dicts", dicts, 2000000 / scale)
timed("strings", strings, 2000000 / scale)
