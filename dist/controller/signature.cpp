#include "dist/controller/signature.h"

#include <array>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::dist {

std::string_view name(Kind kind) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "allreduce",     "allgather", "broadcast", "reduce_to",       "alltoall",
      "reducescatter", "barrier",   "join",      "add_process_set", "remove_process_set"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Name::text() const {
  if (occurrence == 0) return fmt::format("`{}`", base);
  return fmt::format("{} (call {})", base.empty() ? "a line without a place" : base, occurrence);
}

std::int64_t TensorSpec::numel() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::size_t TensorSpec::bytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype); }

std::string TensorSpec::text() const { return fmt::format("{}[{}]", name(dtype), fmt::join(sizes, ", ")); }

void write(Writer& writer, const Name& name) {
  writer.put(name.base);
  writer.put(name.occurrence);
}

Name read_name(Reader& reader) {
  Name name;
  name.base = reader.text();
  name.occurrence = reader.get<std::uint64_t>();
  return name;
}

void write(Writer& writer, const TensorSpec& spec) {
  writer.put(spec.dtype);
  writer.put(spec.sizes);
}

TensorSpec read_spec(Reader& reader) {
  TensorSpec spec;
  spec.dtype = reader.get<DType>();
  spec.sizes = reader.list<std::int64_t>();
  return spec;
}

void write(Writer& writer, const Signature& signature) {
  writer.put(signature.kind);
  writer.put(signature.op);
  writer.put(signature.prescale);
  writer.put(signature.postscale);
  writer.put(signature.root);
  writer.put(signature.process_set);
  writer.put(signature.device);
  writer.put(static_cast<std::uint32_t>(signature.tensors.size()));
  for (const TensorSpec& spec : signature.tensors) write(writer, spec);
  writer.put(signature.splits);
  writer.put(signature.rows);
  writer.put(signature.total);
  writer.put(signature.place);
}

Signature read_signature(Reader& reader) {
  Signature signature;
  signature.kind = reader.get<Kind>();
  signature.op = reader.get<kiln::ReduceOp>();
  signature.prescale = reader.get<double>();
  signature.postscale = reader.get<double>();
  signature.root = reader.get<int>();
  signature.process_set = reader.get<int>();
  signature.device = reader.text();
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left)
    signature.tensors.push_back(read_spec(reader));
  signature.splits = reader.list<std::int64_t>();
  signature.rows = reader.get<std::int64_t>();
  signature.total = reader.get<std::int64_t>();
  signature.place = reader.text();
  return signature;
}

void write_key(Writer& writer, const Name& name, const Signature& signature) {
  writer.put(name.base);
  write(writer, signature);
}

std::string spoken_name(const Signature& signature) {
  const std::string plain{name(signature.kind)};
  return signature.tensors.size() > 1 ? "grouped_" + plain : plain;
}

}  // namespace kiln::dist
