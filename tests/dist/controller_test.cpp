// Ranks agree on what they perform, whatever the order in which they submit it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/dist/controllers.h"

namespace kiln::controller_test {

using dist::Controller;
using kiln::testing::allreduce_of;
using kiln::testing::on_controllers;
using kiln::testing::tensor_of;
using kiln::testing::values_of;

using Values = std::vector<double>;

TEST_CASE("ranks may submit in any order", "[controller]") {
  for (const int n : {1, 2, 3, 5}) {
    on_controllers(n, [&](Controller& ranks, int rank) {
      std::mt19937 random(static_cast<unsigned>(rank));
      for (int round = 0; round < 3; ++round) {  // from the second on the agreements are known
        std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
        std::ranges::shuffle(order, random);
        std::vector<std::uint64_t> tickets(order.size());
        for (const int i : order)
          tickets[static_cast<std::size_t>(i)] =
              ranks.start({allreduce_of(tensor_of({rank + 1.0, double(i)}, {2}), "x" + std::to_string(i))});
        for (int i = 0; i < 8; ++i) {
          const Tensors sums = ranks.wait(tickets[static_cast<std::size_t>(i)]);
          EXPECT(values_of(sums[0]) == Values{n * (n + 1) / 2.0, double(n * i)});
        }
      }
    });
  }
}

TEST_CASE("collectives without a name are matched by place and count", "[controller]") {
  on_controllers(2, [](Controller& ranks, int rank) {
    std::vector<std::uint64_t> tickets;
    for (int i = 0; i < 4; ++i)
      tickets.push_back(ranks.start({allreduce_of(tensor_of({double(i + rank)}, {1}), "")}));
    for (int i = 3; i >= 0; --i)
      EXPECT(values_of(ranks.wait(tickets[static_cast<std::size_t>(i)])[0]) == Values{2.0 * i + 1});
  });
}

TEST_CASE("each operation and factor", "[controller]") {
  on_controllers(3, [](Controller& ranks, int rank) {
    const auto run = [&](ReduceOp op, DType dtype, const Values& mine, double before = 1, double after = 1) {
      Collective call =
          allreduce_of(tensor_of(mine, {static_cast<std::int64_t>(mine.size())}, dtype), "x", op);
      call.prescale = before;
      call.postscale = after;
      return values_of(ranks.run(std::move(call))[0]);
    };
    const double r = rank;
    EXPECT(run(ReduceOp::Average, DType::F32, {r, 3.0}) == Values{1, 3});
    EXPECT(run(ReduceOp::Min, DType::F64, {r - 1, -r}) == Values{-1, -2});
    EXPECT(run(ReduceOp::Max, DType::I32, {r, -r}) == Values{2, 0});
    EXPECT(run(ReduceOp::Product, DType::I64, {r + 1}) == Values{6});
    EXPECT(run(ReduceOp::Average, DType::I64, {-r - 1, r}) == Values{-2, 1});
    EXPECT(run(ReduceOp::Average, DType::I64, {-1 - (rank == 2 ? 1.0 : 0.0)}) ==
           Values{-1});  // -4 / 3, cut toward zero
    EXPECT(run(ReduceOp::Sum, DType::F32, {r}, 0.5, 4) == Values{6});
    // Halves of which the sum, but not the average, is beyond f16.
    EXPECT(run(ReduceOp::Average, DType::F16, {60000}) == Values{60000});
    EXPECT(run(ReduceOp::Sum, DType::BF16, {r}) == Values{3});
    EXPECT(run(ReduceOp::Adasum, DType::F32,
               {rank == 0 ? 1.0 : 0.0, rank == 1 ? 1.0 : 0.0, rank == 2 ? 1.0 : 0.0}) == Values{1, 1, 1});
  });
}

TEST_CASE("rows may differ between ranks where a collective allows it", "[controller]") {
  on_controllers(3, [](Controller& ranks, int rank) {
    Collective gather =
        allreduce_of(tensor_of(Values(static_cast<std::size_t>(2 * rank), rank), {rank, 2}), "gather");
    gather.kind = Collective::Kind::AllGather;
    const Tensor all = ranks.run(gather)[0];
    EXPECT(all.size(0).fixed() == 3);
    EXPECT(values_of(all) == Values{1, 1, 2, 2, 2, 2});

    Collective scatter = allreduce_of(tensor_of({1, 2, 3, 4, 5}, {5}), "scatter");
    scatter.kind = Collective::Kind::ReduceScatter;
    scatter.rows = rank < 2 ? 2 : 1;
    EXPECT(values_of(ranks.run(scatter)[0]) == (rank == 0   ? Values{3, 6}
                                                : rank == 1 ? Values{9, 12}
                                                            : Values{15}));

    Collective all_to_all =
        allreduce_of(tensor_of({10.0 * rank, 10.0 * rank + 1, 10.0 * rank + 2}, {3}), "to all");
    all_to_all.kind = Collective::Kind::AllToAll;
    const Tensors evenly = ranks.run(all_to_all);
    EXPECT(values_of(evenly[0]) == Values{0.0 + rank, 10.0 + rank, 20.0 + rank});
    EXPECT(values_of(evenly[1]) == Values{1, 1, 1});
    all_to_all.splits = {0, 2, 1};
    all_to_all.total = 7;
    const Tensors unevenly = ranks.run(all_to_all);
    EXPECT(values_of(unevenly[1]) == Values(3, rank == 0 ? 0 : rank == 1 ? 2 : 1));
    if (rank == 1) EXPECT(values_of(unevenly[0]) == Values{0, 1, 10, 11, 20, 21, 0});

    Collective from = allreduce_of(tensor_of({double(rank)}, {1}), "from");
    from.kind = Collective::Kind::Broadcast;
    from.root = 2;
    EXPECT(values_of(ranks.run(from)[0]) == Values{2});
    from.kind = Collective::Kind::Reduce;
    EXPECT(values_of(ranks.run(from)[0]) == Values{rank == 2 ? 3.0 : 0.0});
  });
}

TEST_CASE("a group is one collective, and later writes do not change what was submitted", "[controller]") {
  on_controllers(2, [](Controller& ranks, int rank) {
    const Tensor x = tensor_of({double(rank), 1}, {2});
    std::vector<Collective> group;
    for (const DType dtype : {DType::F32, DType::F32, DType::I64})
      group.push_back(allreduce_of(dtype == DType::F32 ? x : tensor_of({7}, {1}, dtype), "g"));
    for (Collective& each : group) each.group = "g";
    const auto ticket = ranks.start(std::move(group));
    if (x.numel().fixed() == 2) *x.writable<float>() = 100;
    const Tensors sums = ranks.wait(ticket);
    EXPECT(values_of(sums[0]) == Values{1, 2});
    EXPECT(values_of(sums[1]) == Values{1, 2});
    EXPECT(values_of(sums[2]) == Values{14});
  });
}

TEST_CASE("fusion, order and arrival change no bit", "[controller]") {
  std::vector<std::vector<Values>> found;
  for (const std::size_t threshold : {std::size_t{0}, std::size_t{4096}, std::size_t{64} << 20}) {
    std::vector<Values> sums(20);
    on_controllers(3, {{threshold}, {}}, [&](Controller& ranks, int rank) {
      std::mt19937 random(static_cast<unsigned>(rank) + 7 * static_cast<unsigned>(threshold % 11));
      std::vector<std::pair<std::size_t, std::uint64_t>> tickets;
      std::vector<std::size_t> order(sums.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::ranges::shuffle(order, random);
      for (const std::size_t i : order) {
        std::mt19937 elements(static_cast<unsigned>(100 * i) + static_cast<unsigned>(rank));
        Values mine(10 + 37 * i);
        for (double& each : mine) each = std::normal_distribution<>()(elements);
        const auto count = static_cast<std::int64_t>(mine.size());
        tickets.emplace_back(i,
                             ranks.start({allreduce_of(tensor_of(mine, {count}), "x" + std::to_string(i))}));
      }
      for (const auto& [i, ticket] : tickets) {
        const Values sum = values_of(ranks.wait(ticket)[0]);
        if (rank == 1) sums[i] = sum;
      }
    });
    found.push_back(sums);
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] == found[2]);
}

}  // namespace kiln::controller_test
