// Collectives against what one process computes: every dtype, op, number of ranks, size and chunk.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "dist/algorithms/halving.h"
#include "dist/algorithms/moves.h"
#include "dist/algorithms/reductions.h"
#include "tests/dist/ranks.h"

namespace kiln::algorithms_test {

using dist::Group;
using dist::ReduceOp;
using kiln::testing::on_ranks;

namespace {

using Bytes = std::vector<std::byte>;

Group group_of_all(dist::Transport& transport) {
  Group group{transport, {}, static_cast<std::size_t>(transport.rank()), 3};
  for (int rank = 0; rank < transport.size(); ++rank) group.ranks.push_back(rank);
  return group;
}

// Values of a rank: small numbers of both signs, which no order of sums leaves alike in halves and floats,
// some infinities and nan.
Bytes values(DType dtype, std::size_t count, int rank) {
  Bytes bytes(count * size_of(dtype));
  std::mt19937 random(static_cast<unsigned>(rank) + 100);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::ldexp(double(random() % 2001) - 1000.0, int(random() % 12) - 6);
    const bool is_special = random() % 50 == 0;
    visit_dtype(dtype, [&]<class T>() {
      T value{};
      if constexpr (std::is_same_v<T, Half>) {
        value = to_half(is_special ? NAN : static_cast<float>(x));
      } else if constexpr (std::is_same_v<T, BFloat16>) {
        value = to_bfloat16(is_special ? INFINITY : static_cast<float>(x));
      } else if constexpr (std::is_floating_point_v<T>) {
        value = static_cast<T>(is_special ? NAN : x);
      } else {
        value = static_cast<T>(is_special ? std::numeric_limits<T>::max() : static_cast<T>(random() % 100));
      }
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    });
  }
  return bytes;
}

Bytes reduced(DType dtype, dist::ReduceOp op, std::size_t count, const std::vector<int>& ranks) {
  std::vector<Bytes> all;
  std::vector<const std::byte*> inputs;
  for (const int rank : ranks) all.push_back(values(dtype, count, rank));
  for (const Bytes& bytes : all) inputs.push_back(bytes.data());
  Bytes result(count * size_of(dtype));
  dist::reduce_in_order(dtype, op, inputs, result.data(), count);
  return result;
}

std::vector<int> first(int n) {
  std::vector<int> ranks;
  for (int rank = 0; rank < n; ++rank) ranks.push_back(rank);
  return ranks;
}

constexpr dist::ReduceOp kOps[] = {dist::ReduceOp::Sum, dist::ReduceOp::Min, dist::ReduceOp::Max,
                                   dist::ReduceOp::Product};

template <class T>
Bytes bytes_of(std::vector<T> values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <class T>
Bytes reduce_one(DType dtype, dist::ReduceOp op, std::vector<T> ranks) {
  std::vector<const std::byte*> inputs;
  for (const T& value : ranks) inputs.push_back(reinterpret_cast<const std::byte*>(&value));
  Bytes result(sizeof(T));
  dist::reduce_in_order(dtype, op, inputs, result.data(), 1);
  return result;
}

}  // namespace

TEST_CASE("values of ranks are reduced in a fixed tree", "[algorithms]") {
  // In f32 a sum shows its order: 2^24 + 1 is 2^24.
  const float big = 0x1p24F;
  // ((big + 1) + (1 + 1)) + 1 = big + 3, halfway: to even. From left to right it would be big.
  CHECK(reduce_one<float>(DType::F32, dist::ReduceOp::Sum, {big, 1, 1, 1, 1}) == bytes_of<float>({big + 4}));
  // (1 + 1) + big
  CHECK(reduce_one<float>(DType::F32, dist::ReduceOp::Sum, {1, 1, big}) == bytes_of<float>({big + 2}));
  // ((1 + big) + (1 + 1)) + (1 + 1)
  CHECK(reduce_one<float>(DType::F32, dist::ReduceOp::Sum, {1, big, 1, 1, 1, 1}) ==
        bytes_of<float>({big + 4}));
  CHECK(dist::cut_of_tree(2) == 1);
  CHECK(dist::cut_of_tree(5) == 4);
  CHECK(dist::cut_of_tree(8) == 4);
  CHECK(dist::cut_of_tree(9) == 8);
}

TEST_CASE("halves are carried in f32 and rounded once", "[algorithms]") {
  // 2048 + 1 is 2048 in f16; carried, 2048 + 1 + 1 + 1 + 1 is 2052.
  const Half big = to_half(2048), one = to_half(1);
  CHECK(reduce_one<Half>(DType::F16, dist::ReduceOp::Sum, {big, one, one, one, one}) ==
        bytes_of<Half>({to_half(2052)}));
  const BFloat16 large = to_bfloat16(256), single = to_bfloat16(1);
  CHECK(reduce_one<BFloat16>(DType::BF16, dist::ReduceOp::Sum, {large, single, single}) ==
        bytes_of<BFloat16>({to_bfloat16(258)}));
}

TEST_CASE("integers wrap, bools are or and and, nan propagates", "[algorithms]") {
  CHECK(reduce_one<std::int8_t>(DType::I8, dist::ReduceOp::Sum, {100, 100, 100}) ==
        bytes_of<std::int8_t>({44}));
  CHECK(reduce_one<std::int64_t>(DType::I64, dist::ReduceOp::Product, {std::int64_t{1} << 62, 2, 2}) ==
        bytes_of<std::int64_t>({0}));
  CHECK(reduce_one<std::int32_t>(DType::I32, dist::ReduceOp::Sum, {2147483647, 1}) ==
        bytes_of<std::int32_t>({-2147483647 - 1}));
  CHECK(reduce_one<std::uint8_t>(DType::Bool, dist::ReduceOp::Sum, {1, 1, 0}) == bytes_of<std::uint8_t>({1}));
  CHECK(reduce_one<std::uint8_t>(DType::Bool, dist::ReduceOp::Product, {1, 1, 0}) ==
        bytes_of<std::uint8_t>({0}));
  for (const dist::ReduceOp op : {dist::ReduceOp::Min, dist::ReduceOp::Max}) {
    const Bytes result = reduce_one<float>(DType::F32, op, {1, NAN, 2});
    float value = 0;
    std::memcpy(&value, result.data(), sizeof(value));
    CHECK(std::isnan(value));
  }
}

TEST_CASE("allreduce gives the bits of the tree for every dtype, op and number of ranks", "[algorithms]") {
  for (int n = 1; n <= 9; ++n) {
    const std::size_t count = 211 + static_cast<std::size_t>(n);
    on_ranks(n, [&](dist::Transport& transport) {
      const Group group = group_of_all(transport);
      for (int d = 0; d < kRealDTypeCount; ++d) {
        const auto dtype = static_cast<DType>(d);
        for (const dist::ReduceOp op : kOps) {
          Bytes data = values(dtype, count, transport.rank());
          dist::allreduce(group, dtype, op, data, data);
          if (n == 1 || data == reduced(dtype, op, count, group.ranks)) continue;
          throw std::runtime_error("allreduce of " + std::string(name(dtype)) + " differs from the tree");
        }
      }
    });
  }
}

TEST_CASE("halving gives the bits of the tree for every dtype, op and power of two of ranks",
          "[algorithms]") {
  for (const int n : {2, 4, 8, 16}) {
    for (const std::size_t count : {1U, 5U, 211U}) {
      on_ranks(n, [&](dist::Transport& transport) {
        const Group group = group_of_all(transport);
        for (int d = 0; d < kRealDTypeCount; ++d) {
          const auto dtype = static_cast<DType>(d);
          for (const dist::ReduceOp op : kOps) {
            const Bytes input = values(dtype, count, transport.rank());
            Bytes apart(input.size()), same = input;
            dist::allreduce_by_halving(group, dtype, op, input, apart);
            dist::allreduce_by_halving(group, dtype, op, same, same);
            const Bytes expected = reduced(dtype, op, count, group.ranks);
            if (apart == expected && same == expected) continue;
            throw std::runtime_error("halving of " + std::string(name(dtype)) + " differs from the tree");
          }
        }
      });
    }
  }
}

TEST_CASE("sixteen ranks reduce as fewer do", "[algorithms]") {
  const Bytes expected = reduced(DType::F32, dist::ReduceOp::Sum, 5000, first(16));
  on_ranks(16, [&](dist::Transport& transport) {
    Bytes data = values(DType::F32, 5000, transport.rank());
    dist::allreduce(group_of_all(transport), DType::F32, dist::ReduceOp::Sum, data, data);
    if (data != expected) throw std::runtime_error("sixteen ranks differ from the tree");
  });
}

TEST_CASE("chunks change no bit", "[algorithms]") {
  for (const int n : {2, 3, 4, 7}) {
    for (const std::size_t count : {1U, 2U, 5U, 1000U, 20001U}) {
      const Bytes expected = reduced(DType::F32, dist::ReduceOp::Sum, count, first(n));
      on_ranks(n, [&](dist::Transport& transport) {
        const Group group = group_of_all(transport);
        for (const std::size_t piece : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 18U}) {
          if (count / (piece / 4) > 500) continue;
          const Bytes input = values(DType::F32, count, transport.rank());
          Bytes output(input.size());
          dist::allreduce(group, DType::F32, dist::ReduceOp::Sum, input, output, piece);
          if (output != expected || input != values(DType::F32, count, transport.rank()))
            throw std::runtime_error("pieces of " + std::to_string(piece) + " bytes differ");
        }
      });
    }
  }
}

TEST_CASE("a group may be some of the ranks", "[algorithms]") {
  on_ranks(6, [&](dist::Transport& transport) {
    const std::vector<int> odd{1, 3, 5}, even{0, 2, 4};
    const std::vector<int>& ranks = transport.rank() % 2 == 0 ? even : odd;
    const Group group{transport, ranks, static_cast<std::size_t>(transport.rank()) / 2, 9};
    Bytes data = values(DType::F64, 5000, transport.rank());
    dist::allreduce(group, DType::F64, dist::ReduceOp::Sum, data, data);
    if (data != reduced(DType::F64, dist::ReduceOp::Sum, 5000, ranks))
      throw std::runtime_error("a subset differs");
  });
}

TEST_CASE("reduce_scatter leaves each member its part", "[algorithms]") {
  for (const int n : {1, 2, 5}) {
    for (const std::size_t count : {0U, 3U, 4099U}) {
      const Bytes expected = reduced(DType::BF16, dist::ReduceOp::Sum, count, first(n));
      on_ranks(n, [&](dist::Transport& transport) {
        const Group group = group_of_all(transport);
        const auto parts = dist::cut_evenly(count, group.size());
        const dist::Range mine = parts[group.me];
        for (const std::size_t piece : {std::size_t{256}, dist::kPiecesOfMemory}) {
          Bytes output(mine.count() * 2);
          dist::reduce_scatter(group, DType::BF16, dist::ReduceOp::Sum,
                               values(DType::BF16, count, transport.rank()), parts, output, piece);
          if (!std::equal(output.begin(), output.end(), expected.begin() + std::ptrdiff_t(mine.begin * 2)))
            throw std::runtime_error("a part differs");
        }
      });
    }
  }
}

TEST_CASE("rows are cut with one more for the first", "[algorithms]") {
  const auto parts = dist::cut_evenly(11, 4);
  std::vector<std::size_t> counts;
  for (const dist::Range& part : parts) counts.push_back(part.count());
  CHECK(counts == std::vector<std::size_t>{3, 3, 3, 2});
}

TEST_CASE("allgather, broadcast and alltoall move bytes of uneven sizes", "[algorithms]") {
  for (const int n : {1, 2, 3, 5, 8}) {
    on_ranks(n, [&](dist::Transport& transport) {
      const Group group = group_of_all(transport);
      const auto require = [](bool holds, const char* what) {
        if (!holds) throw std::runtime_error(what);
      };
      // Member k has 3 k bytes.
      std::vector<std::size_t> sizes;
      Bytes expected;
      for (std::size_t k = 0; k < group.size(); ++k) {
        sizes.push_back(3 * k);
        const Bytes theirs = values(DType::U8, 3 * k, int(k));
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      Bytes all(expected.size());
      dist::allgather(group, values(DType::U8, 3 * group.me, int(group.me)), sizes, all);
      require(all == expected, "allgather differs");

      for (std::size_t root = 0; root < group.size(); ++root) {
        const Bytes message = values(DType::U8, root == 0 ? (std::size_t{1} << 20U) + 1 : root, int(root));
        Bytes data = group.me == root ? message : Bytes(message.size());
        dist::broadcast(group, root, data);
        require(data == message, "broadcast differs");
      }

      // Member k sends member j the byte 10 k + j, j times.
      Bytes input, output, wanted;
      std::vector<std::size_t> sent, received;
      for (std::size_t j = 0; j < group.size(); ++j) {
        input.insert(input.end(), j, std::byte(10 * group.me + j));
        wanted.insert(wanted.end(), group.me, std::byte(10 * j + group.me));
        sent.push_back(j);
        received.push_back(group.me);
      }
      output.resize(wanted.size());
      dist::alltoall(group, input, sent, output, received);
      require(output == wanted, "alltoall differs");
      dist::barrier(group);
    });
  }
}

TEST_CASE("a barrier waits for the last", "[algorithms]") {
  for (const int n : {2, 3, 7}) {
    std::atomic<int> here{0};
    on_ranks(n, [&](dist::Transport& transport) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * transport.rank()));
      ++here;
      dist::barrier(group_of_all(transport));
      if (here != n) throw std::runtime_error("the barrier opened early");
    });
  }
}

namespace {

// Adasum of what each rank has, as every rank gets it.
std::vector<double> adasum_of(const std::vector<std::vector<double>>& ranks) {
  std::vector<double> result;
  on_ranks(int(ranks.size()), [&](dist::Transport& transport) {
    std::vector<double> mine = ranks[std::size_t(transport.rank())];
    dist::adasum(group_of_all(transport), DType::F64, std::as_writable_bytes(std::span(mine)));
    if (transport.rank() == int(ranks.size()) - 1) result = mine;
  });
  return result;
}

}  // namespace

TEST_CASE("Adasum is the adaptive sum of pairs", "[algorithms]") {
  // Orthogonal ones add up, equal ones are averaged, of others each loses half of its share along the other.
  CHECK(adasum_of({{1, 0}, {0, 2}}) == std::vector<double>{1, 2});
  CHECK(adasum_of({{3, 4}, {3, 4}}) == std::vector<double>{3, 4});
  // a·b = 2, |a|² = 4, |b|² = 2: (1 - 2/8) a + (1 - 2/4) b
  CHECK(adasum_of({{2, 0}, {1, 1}}) == std::vector<double>{2, 0.5});
  // A vector of zeros, whose norm is below √DBL_MIN, changes nothing.
  CHECK(adasum_of({{0, 0}, {5, 7}}) == std::vector<double>{5, 7});
  // Three ranks: Adasum(Adasum(r0, r1), r2) = Adasum({2, 0.5}, {2, 0.5}).
  CHECK(adasum_of({{2, 0}, {1, 1}, {2, 0.5}}) == std::vector<double>{2, 0.5});
  // Four: both pairs are {2, 0.5} and {1, 2}; a·b = 3, |a|² = 4.25, |b|² = 5.
  const std::vector<double> four = adasum_of({{2, 0}, {1, 1}, {1, 0}, {0, 2}});
  CHECK(four[0] == (1 - 3 / 8.5) * 2 + (1 - 3 / 10.0) * 1);
  CHECK(four[1] == (1 - 3 / 8.5) * 0.5 + (1 - 3 / 10.0) * 2);
}

TEST_CASE("Adasum carries halves in f32, and is for floats", "[algorithms]") {
  on_ranks(2, [&](dist::Transport& transport) {
    std::vector<Half> mine{to_half(transport.rank() == 0 ? 2.0F : 1.0F),
                           to_half(transport.rank() == 0 ? 0.0F : 1.0F)};
    dist::adasum(group_of_all(transport), DType::F16, std::as_writable_bytes(std::span(mine)));
    if (to_float(mine[0]) != 2.0F || to_float(mine[1]) != 0.5F)
      throw std::runtime_error("Adasum of halves differs");
  });
  const auto self = dist::make_self_transport();
  std::vector<std::int32_t> ints{1};
  CHECK_THROWS_AS(dist::adasum(group_of_all(*self), DType::I32, std::as_writable_bytes(std::span(ints))),
                  std::invalid_argument);
}

}  // namespace kiln::algorithms_test
