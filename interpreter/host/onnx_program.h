// Owns what a program can know of its export: whether it is under way, and names for objects that models
// refer to.
#pragma once

namespace kiln::interp::host {

// Within its scope `is_in_onnx_export()` is true.
class ExportScope {
 public:
  ExportScope();
  ~ExportScope();
  ExportScope(const ExportScope&) = delete;
  ExportScope& operator=(const ExportScope&) = delete;

 private:
  bool before_;
};

}  // namespace kiln::interp::host
