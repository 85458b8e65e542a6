// Owns a model made ready for a process: its PythonOp nodes call functions that the program has, with
// constants that the process holds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx/proto/model.h"
#include "ort/program/functions.h"

namespace kiln::ort {

class PreparedModel {
 public:
  // Reads the file and looks up everything that its PythonOp nodes name. Throws OpError (Value) that tells
  // the node and the argument.
  PreparedModel(Functions& functions, const std::string& path);

  // What the process is to hold as objects: pointers, and floats in full.
  const std::vector<interp::Value>& constants() const { return constants_; }
  // Of functions, each with: does it infer the shapes of its results?
  const std::map<std::string, bool>& names() const { return names_; }
  // The model with the addresses of those objects, in the place of pointers and floats.
  std::string bytes(const std::vector<std::int64_t>& addresses) const;

 private:
  struct Pointer {
    std::size_t node;
    std::int64_t position;
  };
  void prepare(Functions& functions, std::size_t node);
  void keep(std::size_t node, std::int64_t position, interp::Value value);

  onnx::ModelProto model_;
  std::vector<interp::Value> constants_;
  std::vector<Pointer> pointers_;  // one for each constant
  std::map<std::string, bool> names_;
};

}  // namespace kiln::ort
