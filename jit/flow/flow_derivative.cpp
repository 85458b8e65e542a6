#include "jit/flow/flow_gradient.h"
#include "jit/flow/flow_kept.h"

namespace kiln::jit {
namespace {

class Derivative final : public FlowDerivative {
 public:
  Derivative(const FlowGraph& flow, const std::vector<bool>& wanted)
      : flow_(flow),
        wanted_(wanted),
        steps_(expanded(flow, wanted)),
        activity_(steps_, wanted_),
        views_(steps_, activity_),
        moves_(steps_, activity_, views_) {
    check_order(steps_, activity_);
    outputs_ = outputs_of(steps_, activity_, moves_, wanted_);
    kept_ = keeping(steps_, activity_, moves_, outputs_);
    for (const auto& [exit, outputs] : outputs_.by_exit)
      static_cast<void>(backward(exit, std::vector<bool>(outputs.size(), true)));
  }

  const FlowGraph& flow() const override { return flow_; }
  const FlowGraph& forward() const override { return kept_.flow; }
  const std::vector<bool>& wanted() const override { return wanted_; }
  bool has_derivative(ExitId exit) const override { return outputs_.by_exit.contains(exit); }
  const std::vector<FlowOutput>& outputs(ExitId exit) const override { return outputs_.by_exit.at(exit); }
  std::optional<FlowBackward> backward(ExitId exit, const std::vector<bool>& given) const override {
    return backwards({steps_, activity_, moves_, kept_.record, wanted_}, exit, outputs(exit), given);
  }

 private:
  const FlowGraph flow_;
  const std::vector<bool> wanted_;
  const FlowGraph steps_;  // `expanded`
  const FlowActivity activity_;
  const FlowViews views_;
  const FlowMoves moves_;
  FlowOutputs outputs_;
  KeepingFlow kept_;
};

}  // namespace

std::shared_ptr<const FlowDerivative> differentiate(const FlowGraph& flow, const std::vector<bool>& wanted) {
  return std::make_shared<Derivative>(flow, wanted);
}

}  // namespace kiln::jit
