// Owns what one rank says of a collective when it submits it, and the form of that in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dist/controller/wire.h"
#include "tensor/collective.h"
#include "tensor/dtype.h"

namespace kiln::dist {

enum class Kind : std::uint8_t {
  Allreduce,
  Allgather,
  Broadcast,
  Reduce,
  Alltoall,
  Reducescatter,
  Barrier,
  Join,
  AddSet,
  RemoveSet,
};
std::string_view name(Kind kind);  // "allreduce", as the program calls it

/// How a collective is called among ranks. Those that the program names have occurrence 0, the others are
/// named by their place in the program and by how often their rank came there.
struct Name {
  std::string base;
  std::uint64_t occurrence = 0;
  std::string text() const;  // for messages: "`fc1.weight`", "train.kiln:41 (call 3)"
  /// Is the kind of the call all there is to say of it: a barrier, a change of process sets?
  bool says_nothing() const { return base.starts_with("dist."); }
  auto operator<=>(const Name&) const = default;
};

struct TensorSpec {
  DType dtype = DType::F32;
  std::vector<std::int64_t> sizes;
  std::int64_t numel() const;
  std::size_t bytes() const;
  std::string text() const;  // "f32[3, 4]"
  bool operator==(const TensorSpec&) const = default;
};

inline constexpr std::int64_t kUnstated = -1;

/// What a rank asks for, but the name and the elements.
struct Signature {
  Kind kind = Kind::Allreduce;
  kiln::ReduceOp op = kiln::ReduceOp::Average;
  double prescale = 1;
  double postscale = 1;
  int root = 0;  // a global rank
  int process_set = 0;
  std::string device;
  std::vector<TensorSpec> tensors;
  std::vector<std::int64_t> splits;  // of alltoall, a row count for each rank; of add_process_set its ranks
  std::int64_t rows = 0;             // of reducescatter: how many this rank takes
  std::int64_t total = kUnstated;    // of allgather and alltoall: rows of the result
  std::string place;
  bool operator==(const Signature&) const = default;
};

void write(Writer& writer, const Name& name);
void write(Writer& writer, const TensorSpec& spec);
void write(Writer& writer, const Signature& signature);
/// What a rank says of a collective, but how often: equal for equal calls, and for no others.
void write_key(Writer& writer, const Name& name, const Signature& signature);
Name read_name(Reader& reader);
TensorSpec read_spec(Reader& reader);
Signature read_signature(Reader& reader);

/// "allreduce", "grouped_allreduce" of several tensors.
std::string spoken_name(const Signature& signature);

}  // namespace kiln::dist
