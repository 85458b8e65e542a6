// Owns the pieces that the texts of graphs and of flow graphs are read by: types, numbers, ops with their
// arguments, constants, places.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/graph/graph.h"
#include "jit/graph/reader.h"

namespace kiln::jit {

using ConstantsByDigest = std::unordered_map<std::string, Tensor>;

class PieceReader {
 public:
  PieceReader(const TextReader& reader, const ConstantsByDigest& constants)
      : reader_(reader), constants_(constants) {}
  virtual ~PieceReader() = default;
  PieceReader(const PieceReader&) = delete;
  PieceReader& operator=(const PieceReader&) = delete;

 protected:
  Dim size(std::string_view stops);
  Dims sizes();
  DType dtype();
  Device device();  // behind the sizes of what is not on the CPU
  Type type();
  // `none`, or a number up to one of `stops`.
  Operand literal(std::string_view stops);
  // An operand of a node: a value, or a literal.
  virtual Operand operand() = 0;
  // The row of the table that the text names, with its form. False where the table has no such row.
  bool row_named(const std::string& text, Node& node) const;
  void arguments(Node& node);
  std::vector<Attr> attrs(const Op& op, bool first);
  Tensor constant(const Type& type);
  // "demo.kiln:2:8". False where the text is no place.
  static bool read_place(std::string_view text, Place& place);

  TextReader reader_;
  const ConstantsByDigest& constants_;

 private:
  Attr attr(const Parameter& parameter);
};

}  // namespace kiln::jit
