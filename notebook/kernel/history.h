// Owns answers to Jupyter's questions about cells that ran.
#pragma once

#include <xeus/xhistory_manager.hpp>

#include "notebook/past_cells.h"

namespace kiln::notebook {

// Reads what a notebook keeps: xeus's own has one number for all cells.
class KernelHistory : public xeus::xhistory_manager {
 public:
  explicit KernelHistory(const PastCells& past) : past_(past) {}

 private:
  void configure_impl() override {}
  void store_inputs_impl(int, int, const std::string&, const std::string&) override {}
  nlohmann::json get_tail_impl(int count, bool raw, bool output) const override;
  nlohmann::json get_range_impl(int session, int start, int stop, bool raw, bool output) const override;
  nlohmann::json search_impl(const std::string& pattern, bool raw, bool output, int count,
                             bool unique) const override;

  const PastCells& past_;
};

}  // namespace kiln::notebook
