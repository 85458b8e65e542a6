// Generated from the op table: every count among the attributes of every sample, far beyond what there is
// memory for. An op refuses it, or computes what it means, soon and in little memory: nothing is as large as
// an argument says before that was looked at.
#include <sys/resource.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <limits>

#include "tests/tensor/samples.h"

namespace kiln::limits_test {

using namespace kiln::testing;

namespace {

constexpr std::int64_t kHuge[] = {std::int64_t{1} << 31,    std::int64_t{1} << 40,
                                  std::int64_t{1} << 62,    std::numeric_limits<std::int64_t>::max(),
                                  -(std::int64_t{1} << 40), std::numeric_limits<std::int64_t>::min()};

// Kilobytes that the process ever had.
long most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Of the memory of tensors, for a scope; that of the host is looked at.
class MemoryLimit {
 public:
  MemoryLimit() { set_memory_limit(Device{}, std::size_t{1} << 28); }
  ~MemoryLimit() { set_memory_limit(Device{}, std::numeric_limits<std::size_t>::max()); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

void check_call(const Op& op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  const auto start = std::chrono::steady_clock::now();
  const long before = most_memory();
  try {
    kiln::bind(op, inputs, attrs);
  } catch (const OpError& error) {
    CHECK(!error.message().empty());
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  CHECK(most_memory() - before < 1 << 20);
}

// The attribute with this number in place of one of its own.
std::vector<Attr> with_number(const Attr& attr, std::int64_t number) {
  if (std::holds_alternative<Dim>(attr)) return {number};
  if (std::holds_alternative<double>(attr)) return {static_cast<double>(number)};
  const Dims* dims = std::get_if<Dims>(&attr);
  if (dims == nullptr) return {};
  std::vector<Attr> result;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    Dims other = *dims;
    other[i] = number;
    result.emplace_back(other);
  }
  return result;
}

}  // namespace

TEST_CASE("counts beyond all memory are refused soon", "[limits]") {
  const MemoryLimit limit;
  for (const Op* op : OpTable::get().ops()) {
    for (const Sample& sample : samples_of(*op)) {
      const std::vector<Tensor> inputs = sample.in_domain(sample.inputs);
      const Attrs attrs = attrs_of(*op, sample.attrs);
      for (std::size_t i = 0; i < attrs.values().size(); ++i) {
        for (const std::int64_t number : kHuge) {
          for (const Attr& each : with_number(attrs.values()[i], number)) {
            Attrs other = attrs;
            other.values()[i] = each;
            INFO(op->name() << ", attribute " << i << " with " << number);
            check_call(*op, inputs, other);
          }
        }
      }
    }
  }
}

}  // namespace kiln::limits_test
