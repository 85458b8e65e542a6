// What the module `dist` is made of: this process in its job, and collectives that are no ops.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dist/launch/rank.h"
#include "interpreter/host/packed_value.h"
#include "interpreter/host/rank_job.h"
#include "interpreter/shadow.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "interpreter/vm/kept_place.h"
#include "interpreter/vm/tables.h"
#include "tensor/collective.h"
#include "tensor/host_view.h"
#include "tensor/tape/backward_watch.h"
#include "tensor/warning.h"

namespace kiln::interp {
namespace {

using namespace host;
using Args = std::span<Value>;

int set_argument(const Value& v) { return static_cast<int>(int_argument(v, "process_set")); }

Value init(Interpreter&, Args) {
  shadow::leave();
  join_ranks();
  return {};
}

Value shutdown(Interpreter& interpreter, Args) {
  shadow::leave();
  interpreter.flush();
  leave_ranks(true);
  return {};
}

Value rejoin(Interpreter&, Args) {
  shadow::leave();
  leave_ranks(false);
  join_ranks();
  return {};
}

Value have_come(Interpreter&, Args) {
  shadow::leave();
  return kiln::dist::has_newer_epoch();
}

Value warn(Interpreter& interpreter, Args a) {
  interpreter.flush();
  kiln::warn(text_argument(a[0], "sentence"));
  return {};
}

// A check does not join, so it cannot tell whether the program has.
Value is_joined(Interpreter&, Args) {
  if (rank_controller() == nullptr) shadow::need_run();
  return rank_controller() != nullptr;
}

Value places(Interpreter&, Args) {
  joined_controller();
  const kiln::dist::RankPlace at = rank_place();
  return tuple_value({at.rank, at.size, at.local_rank, at.local_size, at.cross_rank, at.cross_size});
}

Value rank(Interpreter&, Args a) { return joined_controller().rank(set_argument(a[0])); }
Value size(Interpreter&, Args a) { return joined_controller().size(set_argument(a[0])); }
Value members(Interpreter&, Args a) {
  const std::vector<int> ranks = joined_controller().members(set_argument(a[0]));
  return list_value({ranks.begin(), ranks.end()});
}

Value place(Interpreter& interpreter, Args) {
  const Frame* const frame = user_frame(interpreter.impl().vm);
  const lang::Span span = frame == nullptr ? lang::Span() : frame->code->span(frame->place());
  if (!span) return Value("");
  const auto at = span.file->locate(span.begin);
  const std::string file = std::filesystem::path(span.file->name()).filename().string();
  return Value(fmt::format("{}:{}:{}", file, at.line, at.column));
}

kiln::Collective::Kind kind_argument(const Value& v) {
  const std::string& word = text_argument(v, "kind");
  if (word == "all rows") return kiln::Collective::Kind::AllGather;
  if (word == "root") return kiln::Collective::Kind::Broadcast;
  if (word == "exchange") return kiln::Collective::Kind::AllToAll;
  return kiln::Collective::Kind::ReduceScatter;
}

Value start(Interpreter&, Args a) {
  shadow::leave();
  joined_controller();
  kiln::Collective call;
  call.kind = kind_argument(a[0]);
  call.input = tensor_argument(a[1], "x");
  call.process_set = set_argument(a[2]);
  call.name = text_argument(a[3], "name");
  call.place = text_argument(a[4], "place");
  call.root = static_cast<int>(int_argument(a[5], "root"));
  if (const auto* splits = items_of(a[6])) {
    for (const Value& each : *splits) call.splits.push_back(int_argument(each, "splits"));
  }
  call.rows = int_argument(a[7], "rows");
  call.prescale = float_argument(a[8], "prescale");
  call.postscale = float_argument(a[9], "postscale");
  std::vector<kiln::Collective> calls;
  calls.push_back(std::move(call));
  return static_cast<std::int64_t>(kiln::start_collectives(std::move(calls)));
}

std::uint64_t ticket_argument(const Value& v) {
  return static_cast<std::uint64_t>(int_argument(v, "ticket"));
}

Value poll(Interpreter&, Args a) {
  shadow::leave();
  return joined_controller().is_done(ticket_argument(a[0]));
}

Value wait(Interpreter&, Args a) {
  shadow::leave();
  std::vector<Value> results;
  for (const kiln::Tensor& each : joined_controller().wait(ticket_argument(a[0]))) results.emplace_back(each);
  return list_value(std::move(results));
}

Value barrier(Interpreter&, Args a) {
  shadow::leave();
  joined_controller().barrier(set_argument(a[0]), text_argument(a[1], "place"));
  return {};
}

Value join(Interpreter&, Args a) {
  shadow::leave();
  return joined_controller().join(text_argument(a[0], "place"));
}

Value add_set(Interpreter&, Args a) {
  shadow::leave();
  std::vector<std::int64_t> ranks;
  for (const Value& each : *items_of(a[0])) ranks.push_back(int_argument(each, "ranks"));
  return joined_controller().add_process_set(std::move(ranks), text_argument(a[1], "place"));
}

Value remove_set(Interpreter&, Args a) {
  shadow::leave();
  joined_controller().remove_process_set(set_argument(a[0]), text_argument(a[1], "place"));
  return {};
}

Value pack(Interpreter&, Args a) {
  const std::vector<std::byte> bytes = packed(a[0]);
  const kiln::Tensor x = kiln::Tensor::empty(kiln::Dims{static_cast<std::int64_t>(bytes.size())},
                                             kiln::DType::U8, kiln::Device{});
  const kiln::WritableHostView view(x);
  std::ranges::copy(bytes, view.bytes());
  return Value(x);
}

Value unpack(Interpreter&, Args a) {
  const kiln::Tensor x = tensor_argument(a[0], "x");
  const kiln::HostView view(x, kiln::DType::U8);
  return unpacked({view.bytes(), view.byte_count()});
}

Value has_transport(Interpreter&, Args a) { return kiln::dist::has_transport(text_argument(a[0], "name")); }
Value transport(Interpreter&, Args) { return Value(joined_controller().transport_name()); }
Value uses_nccl(Interpreter&, Args) { return joined_controller().channels().uses_nccl(); }

// Backward passes stand beside what is done with other ranks. They are of the program's thread.
void record_backward(bool begins) {
  static std::int64_t begin = 0;
  static int depth = 0;  // compiled backward graphs run within those of the tape
  if (begins) {
    if (depth++ == 0) begin = kiln::dist::microseconds_now();
  } else if (--depth == 0 && rank_controller() != nullptr) {
    rank_controller()->spans().add({"backward", "backward", begin, kiln::dist::microseconds_now()});
  }
}

Value record(Interpreter&, Args) {
  shadow::leave();
  joined_controller().spans().start();
  kiln::set_backward_watch(record_backward);
  return {};
}

Value recorded(Interpreter&, Args) {
  shadow::leave();
  kiln::set_backward_watch(nullptr);
  std::vector<Value> rows;
  for (const auto& span : joined_controller().spans().stop())
    rows.push_back(tuple_value({Value(span.name), Value(span.phase), span.begin, span.end}));
  return list_value(std::move(rows));
}

Value report(Interpreter&, Args) {
  shadow::leave();
  const std::vector<std::string> lines = joined_controller().report();
  return list_value({lines.begin(), lines.end()});
}

constexpr NativeDef kRanksNatives[] = {
    {"dist_init()", "`dist.init`.", init},
    {"dist_shutdown()", "`dist.shutdown`.", shutdown},
    {"dist_rejoin()", "Leaves the job at once, and meets the ranks that are left.", rejoin},
    {"dist_ranks_came()", "Has the launcher begun anew with more ranks?", have_come},
    {"dist_warn(sentence)", "Tells the user what is no error.", warn},
    {"dist_is_initialized()", "`dist.is_initialized`.", is_joined},
    {"dist_places()", "Rank and size of this process in its job, on its host, and across hosts.", places},
    {"dist_rank(process_set=0)", "The rank of this process in a set; ValueError where it is not in it.",
     rank},
    {"dist_size(process_set=0)", "How many ranks are in a set.", size},
    {"dist_members(process_set=0)", "The ranks of a set.", members},
    {"dist_place()",
     "Where the program is, as collectives are called that have no name: \"train.kiln:41:7\".", place},
    {"dist_start(kind, x, process_set, name, place, root=0, splits=none, rows=0, prescale=1.0, "
     "postscale=1.0)",
     "Begins a collective of a kind, \"all rows\", \"root\", \"exchange\" or \"share\"; gives a ticket for "
     "`dist_wait`.",
     start},
    {"dist_poll(ticket)", "Is what `dist_start` began done? Never waits.", poll},
    {"dist_wait(ticket)", "A list of the results of what `dist_start` began, once.", wait},
    {"dist_barrier(process_set, place)", "`dist.barrier`.", barrier},
    {"dist_join(place)", "`dist.join`.", join},
    {"dist_add_set(ranks, place)", "The number of a new process set.", add_set},
    {"dist_remove_set(process_set, place)", "Removes a process set.", remove_set},
    {"dist_pack(value)", "A value as bytes, u8[n], for other ranks.", pack},
    {"dist_unpack(x)",
     "The value that `dist_pack` was given.\n>>> dist_unpack(dist_pack([1, (\"a\", 2.5), none]))\n[1, ('a', "
     "2.5), none]",
     unpack},
    {"dist_has_transport(name)", "Can ranks be connected by \"mpi\", \"gloo\", \"shm\" or \"nccl\" here?",
     has_transport},
    {"dist_transport()", "What connects the ranks of this job.", transport},
    {"dist_uses_nccl()", "`dist.nccl_enabled`.", uses_nccl},
    {"dist_record()", "Begins to record what collectives take time.", record},
    {"dist_recorded()", "Ends the recording: a list of (name, phase, begin, end), in microseconds.",
     recorded},
    {"dist_report()", "What each rank waits for, a line each; complete on rank 0.", report},
};

}  // namespace

std::span<const NativeDef> rank_natives() { return kRanksNatives; }

}  // namespace kiln::interp
