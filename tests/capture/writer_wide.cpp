// Everything that the other themes look at, on tensors so wide that what becomes hot is compiled at once, and
// in loops and calls that are long enough to be compiled by themselves.
#include <utility>

#include <fmt/format.h>

#include "tests/capture/writer.h"

namespace kiln::testing {

void Writer::hot() {
  top("fn kept(f) = checkpoint(f)");
  top(fmt::format("fn batched(f, in_dims=0, out_dims=0) = vmap(f, in_dims, out_dims, randomness=\"{}\"{})",
                  pick({"same", "different"}), pick({"", ", chunk_size=2"})));
  top("struct Layer { w; n = 0; log = []; fn call(self, z) { self.n += 1; return z * self.w + self.n }; fn "
      "keep(self, z) { self.log.append(z.sum()); if len(self.log) > 3 { self.log.pop(0) }; self.w = self.w * "
      "0.5 + z * 0.5; return self } }");
  top("layer = Layer(" + row() + ")");
  has_local_owns_ = true;
  for (int k = 1 + random_.below(2); k > 0; --k) own_function(program_.statements, false);
  for (int k = 1 + random_.below(2); k > 0; --k)
    world_function([&](Block& block, bool in_loop) { hot_part(block, in_loop); });
  const std::string name = fresh("run");
  Statement run{fmt::format("{}fn {}(x, k) {{", random_.chance(50) ? "@eager " : "", name), {}, "}"};
  locals(run.body);
  Statement loop{fmt::format("for i in range({}) {{", 10 + random_.below(40)), {}, "}"};
  line(loop.body, fmt::format("y = y * 0.5 + {}({}, {})", random_.pick(world_functions_),
                              pick({"x", "y.detach()", "ones(320)"}), pick({"k", "i % 2", "1"})));
  hot_part(loop.body, true);
  if (random_.chance(60)) number_change(loop.body);
  run.body.push_back(std::move(loop));
  line(run.body, "return y.detach() * gk.n");
  program_.statements.push_back(std::move(run));
  world_functions_.push_back(name);
}

void Writer::hot_part(Block& block, bool in_loop) {
  switch (random_.below(8)) {
    case 0:
    case 1:
      return own_call(block, in_loop);
    case 2:
    case 3:
      return kept_call(block, in_loop);
    case 4:
      return draw_call(block);
    case 5:
      return line(block,
                  pick({"y = layer(y)", "layer.keep(y.detach())", "y = layer.keep(y.detach())(y) * 0.5"}));
    default:
      return between(block);
  }
}

}  // namespace kiln::testing
