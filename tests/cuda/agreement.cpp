#include "tests/cuda/agreement.h"

#include "tensor/delayed_error.h"
#include "tensor/product_mode.h"
#include "tensor/random.h"

namespace kiln::testing {

const std::vector<Shown> kShown = {
    {"in order", as_it_is},
    {"permuted", [](const Tensor& x) { return ops::permute(x, Dims{2, 0, 1}); }},
    {"backwards", [](const Tensor& x) { return ops::permute(x, Dims{2, 1, 0}); }},
    {"stepped", [](const Tensor& x) { return ops::slice(x, 2, 1, x.size(2), 2); }},
    {"cut", [](const Tensor& x) { return ops::slice(x, 1, 1, x.size(1), 1); }},
    {"broadcast",
     [](const Tensor& x) { return ops::expand(ops::slice(x, 1, 0, 1), Dims{x.size(0), 7, x.size(2)}); }},
    {"one row", [](const Tensor& x) { return ops::slice(x, 0, 0, 1); }},
    {"of many dimensions",
     [](const Tensor& x) {
       return ops::permute(ops::reshape(x, Dims{2, -1, 2, 3, 1, 3}), Dims{5, 1, 3, 4, 0, 2});
     }},
};

Agreement::Agreement() : card_(parse_device("cuda")) { set_product_mode(ProductMode::Exact); }

Agreement::Outcome Agreement::outcome(const Run& run, Device device) const {
  Outcome found;
  seed(7);
  generator().offset = 3;
  try {
    for (const Tensor& each : run(device)) found.results.push_back(ops::to(each, Device{}));
    settle_devices();  // the host copies no result without elements, so it waits here
  } catch (const OpError& error) {
    found.error = std::string(name(error.kind())) + ": " + error.message();
  }
  found.offset = generator().offset;
  return found;
}

void Agreement::check_program(const std::string& what, const std::function<Tensors(Device)>& program) {
  compare(what + ":", [&](Device device) {
    const Tensors made = program(device);
    return std::vector<Tensor>(made.begin(), made.end());
  });
}

void Agreement::compare(const std::string& what, const Run& run) {
  const Outcome here = outcome(run, Device{}), there = outcome(run, card_);
  ++compared_;
  if (here.error != there.error) wrong_ += what + " '" + there.error + "' is not '" + here.error + "'\n";
  if (!here.error.empty() || !there.error.empty()) return;
  if (here.offset != there.offset) wrong_ += what + " the generator\n";
  for (std::size_t k = 0; k < here.results.size(); ++k) {
    if (!same_bits(here.results[k], there.results[k]))
      wrong_ += what + " " + describe(there.results[k]) + " is not " + describe(here.results[k]) + "\n";
  }
}

void Agreement::check(const std::string& op, const Tensor& operand, const Shown& shown,
                      const std::vector<NamedAttr>& attrs, const std::vector<Tensor>& others) {
  const std::string of = operand ? to_string(operand.type()) : std::string("nothing");
  compare(op + " of " + of + " " + shown.name + ":", [&](Device device) {
    std::vector<NamedAttr> given = attrs;
    std::vector<Tensor> operands;
    if (operand) {
      operands.push_back(shown.of(ops::to(operand, device)));
    } else {
      given.push_back({"device", device});
    }
    for (const Tensor& each : others)
      operands.push_back(each && !each.is_number() ? ops::to(each, device) : each);
    const Tensors results = call(op, operands, given);
    return std::vector<Tensor>(results.begin(), results.end());
  });
}

void Agreement::check_written(const std::string& op, const Tensor& operand, const Shown& shown,
                              const std::vector<NamedAttr>& attrs) {
  compare(op + " into " + to_string(operand.type()) + " " + shown.name + ":", [&](Device device) {
    const Op& row = OpTable::get().at(op);
    const Tensor all = ops::clone(ops::to(operand, device));
    const Tensor target[] = {shown.of(all)};
    bind_inplace(row, target, attrs_of(row, attrs));
    return std::vector<Tensor>{all};
  });
}

std::string Agreement::wrong(int expected) const {
  if (wrong_.size() > 4000) return wrong_.substr(0, 4000) + "…";
  return compared_ < expected ? "only " + std::to_string(compared_) + " were compared\n" + wrong_ : wrong_;
}

}  // namespace kiln::testing
