-- An append per request, to a session per connection slot in turn; prints what bench.load prints.
local number = 0
local body = '{"type":"message","details":' .. os.getenv("BENCH_PAYLOAD") .. '}'

request = function()
  number = (number + 1) % 64
  local path = string.format("/api/actions/agent:main:telegram:direct:user-4815162342:t%07d", number)
  return wrk.format("POST", path, { ["Content-Type"] = "application/json" }, body)
end

done = function(summary, latency)
  local refused = summary.errors.status + summary.errors.read + summary.errors.timeout
  local rate = (summary.requests - refused) / (summary.duration / 1e6)
  print(string.format('{"rate": %f, "p99_ms": %f, "refused": %d}', rate, latency:percentile(99) / 1000, refused))
end
