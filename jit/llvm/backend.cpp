// Owns the way from loop nests to an object of machine code: LLVM's module, passes and code generator.
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <stdexcept>

#include "interface_id.h"
#include "jit/llvm/compile_request.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/flow_values.h"
#include "jit/llvm/session.h"
#include "jit/llvm/text.h"

namespace kiln::jit {
namespace {

std::string object_of(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if (machine.addPassesToEmitMC(passes, context, stream)) throw std::runtime_error("no code can be emitted");
  passes.run(module);
  return {bytes.data(), bytes.size()};
}

void finish(Bodies& bodies, llvm::Function& function, const llvm::TargetMachine& machine) {
  bodies.adopt(function);
  function.addFnAttr("target-cpu", machine.getTargetCPU());
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr("min-legal-vector-width", "512");
  function.addFnAttr(llvm::Attribute::NoUnwind);
}

std::string flow_made_in(Session& session, const FlowPlan& plan) {
  const std::unique_ptr<llvm::Module> module = session.module();
  Bodies bodies(session.bodies(), *module, session.halves());
  finish(bodies, *FlowEmitter(bodies, plan, kFlowSymbol).run(), session.machine());
  std::string fault;
  llvm::raw_string_ostream stream(fault);
  if (llvm::verifyModule(*module, &stream)) throw std::runtime_error(fault);
  session.optimizer().run_over_loops(*module);
  return object_of(*module, session.machine());
}

std::string made_in(Session& session, const CompileRequest& request) {
  const std::unique_ptr<llvm::Module> module = session.module();
  llvm::TargetMachine& machine = session.machine();
  Bodies bodies(session.bodies(), *module, session.halves());
  std::unique_ptr<LineNotes> notes;
  if (request.product != Product::Object) notes = std::make_unique<LineNotes>(*module);
  std::vector<llvm::Function*> kernels;
  for (std::size_t i = 0; i < request.nests.size(); ++i) {
    llvm::Function* const kernel =
        kernels.emplace_back(emit(bodies, request.nests[i], kernel_symbol(i), notes.get()));
    finish(bodies, *kernel, machine);
  }
  session.optimizer().run(*module);
  switch (request.product) {
    case Product::Source:
      return llvm_text(*module, kernels, request.names);
    case Product::Assembly:
      return assembly_text(*module, machine);
    case Product::Object:
      break;
  }
  return object_of(*module, machine);
}

std::string made_of(const CompileRequest& request) {
  if (request.product != Product::Object) {
    Session session(request.processor, true);
    return made_in(session, request);
  }
  std::unique_ptr<Session> session = borrow_session(request.processor);
  std::string object =
      request.flow != nullptr ? flow_made_in(*session, *request.flow) : made_in(*session, request);
  give_back(std::move(session));
  return object;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void KILN_COMPILE_FUNCTION(const CompileRequest& request,
                                                                             CompileAnswer& answer) {
  try {
    answer.made = made_of(request);
  } catch (const std::exception& error) {
    answer.error = error.what();
  }
}

}  // namespace kiln::jit
