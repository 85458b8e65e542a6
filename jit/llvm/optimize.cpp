#include "jit/llvm/optimize.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace kiln::jit {
namespace {

// LLVM 19 picks the wrong truth table for a masked `vpternlog` with an operand in memory (its issue 157929):
// what a choice between a bitwise selection and another value becomes. A freeze between the two keeps them
// apart and costs nothing.
void keep_selections_apart(llvm::Function& function) {
  for (llvm::Instruction& each : llvm::instructions(function)) {
    auto* const choice = llvm::dyn_cast<llvm::SelectInst>(&each);
    if (choice == nullptr || !choice->getType()->isVectorTy()) continue;
    for (const unsigned arm : {1U, 2U}) {
      auto* const value = llvm::dyn_cast<llvm::Instruction>(choice->getOperand(arm));
      llvm::Value* source = value;
      while (auto* const cast = llvm::dyn_cast_or_null<llvm::BitCastInst>(source))
        source = cast->getOperand(0);
      auto* const made = llvm::dyn_cast_or_null<llvm::Instruction>(source);
      auto* const call = llvm::dyn_cast_or_null<llvm::IntrinsicInst>(source);
      const bool selects = (made != nullptr && made->getOpcode() == llvm::Instruction::Or) ||
                           (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::copysign);
      if (selects) choice->setOperand(arm, new llvm::FreezeInst(value, "", choice->getIterator()));
    }
  }
}

// Is it arithmetic with one use? Selected where a comparison holds, with another value elsewhere, it becomes
// one instruction with a mask.
bool is_maskable(const llvm::Value* value) {
  const auto* const made = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return made != nullptr && made->hasOneUse() && made->getType()->isFPOrFPVectorTy();
}

// Comparisons hold where the arithmetic counts. LLVM prefers `>` or unordered to `<=`, whatever is chosen by
// it.
void choose_by_arithmetic(llvm::Function& function) {
  for (llvm::Instruction& each : llvm::instructions(function)) {
    auto* const compared = llvm::dyn_cast<llvm::FCmpInst>(&each);
    if (compared == nullptr || !compared->getType()->isVectorTy()) continue;
    int gain = 0;
    bool only_chooses = true;
    for (const llvm::Use& use : compared->uses()) {
      const auto* const choice = llvm::dyn_cast<llvm::SelectInst>(use.getUser());
      only_chooses = only_chooses && choice != nullptr && use.getOperandNo() == 0;
      if (!only_chooses) break;
      gain += static_cast<int>(is_maskable(choice->getFalseValue())) -
              static_cast<int>(is_maskable(choice->getTrueValue()));
    }
    if (!only_chooses || gain <= 0) continue;
    compared->setPredicate(compared->getInversePredicate());
    for (llvm::User* const user : compared->users()) llvm::cast<llvm::SelectInst>(user)->swapValues();
  }
}

}  // namespace

struct Optimizer::Passes {
  explicit Passes(llvm::TargetMachine& machine) : builder(&machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::EarlyCSEPass());
    simplify();
    loop_passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopRotatePass(), false, false));
    hoist();
    loop_passes.addPass(llvm::GVNPass());
    simplify();
    hoist();
    loop_passes.addPass(llvm::DSEPass());
    loop_passes.addPass(llvm::SimplifyCFGPass());
    loop_passes.addPass(llvm::ADCEPass());
  }
  void simplify() {
    loop_passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    loop_passes.addPass(llvm::EarlyCSEPass(true));
    loop_passes.addPass(llvm::SimplifyCFGPass());
    loop_passes.addPass(llvm::InstCombinePass());
  }
  void hoist() {
    loop_passes.addPass(
        llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true, false));
  }
  // What is known of functions, which there may be others of at these addresses.
  void forget() {
    loops.clear();
    functions.clear();
    components.clear();
    modules.clear();
  }

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  llvm::FunctionPassManager passes;
  llvm::FunctionPassManager loop_passes;
};

Optimizer::Optimizer(llvm::TargetMachine& machine) : passes_(std::make_unique<Passes>(machine)) {}
Optimizer::~Optimizer() = default;

template <class Manager>
void Optimizer::run(llvm::Module& module, Manager& passes) {
  for (llvm::Function& each : module) {
    if (each.isDeclaration()) continue;
    passes.run(each, passes_->functions);
    choose_by_arithmetic(each);
    keep_selections_apart(each);
  }
  passes_->forget();
}

void Optimizer::run(llvm::Module& module) { run(module, passes_->passes); }
void Optimizer::run_over_loops(llvm::Module& module) { run(module, passes_->loop_passes); }

}  // namespace kiln::jit
