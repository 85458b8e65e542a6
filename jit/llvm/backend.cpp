// Owns the way from loop nests to an object of machine code: LLVM's module, passes and code generator.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <stdexcept>

#include "interface_id.h"
#include "jit/compiler.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/text.h"

// The bitcode of bodies.cpp (bodies.S).
extern "C" const char kiln_bodies_begin[];
extern "C" const char kiln_bodies_end[];

namespace kiln::jit {
namespace {

void check(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}
template <class T>
T check(llvm::Expected<T> value) {
  if (!value) check(value.takeError());
  return static_cast<T&&>(*value);
}

// Kernels step their places along as they are emitted (jit/llvm/loop_places.h). The code generator's search
// for better ones took a fifth of a compile and made no kernel faster; only this option leaves it out.
void leave_places() {
  const auto& options = llvm::cl::getRegisteredOptions();
  if (const auto found = options.find("disable-lsr"); found != options.end())
    found->second->addOccurrence(0, "disable-lsr", "true");
}

std::unique_ptr<llvm::TargetMachine> target_for(const std::string& processor) {
  static const llvm::Target* const target = [] {
    leave_places();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget("x86_64-unknown-linux-gnu", error);
    if (found == nullptr) throw std::runtime_error(error);
    return found;
  }();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a * b + c is two roundings, as written
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine("x86_64-unknown-linux-gnu", processor, "", options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

std::string object_of(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if (machine.addPassesToEmitMC(passes, context, stream)) throw std::runtime_error("no code can be emitted");
  passes.run(module);
  return {bytes.data(), bytes.size()};
}

// What no kernel is made of: declarations, and bodies that are in kernels by now.
void drop_unused(llvm::Module& module) {
  const auto is_left = [](const llvm::Function& each) {
    return each.use_empty() && !each.getName().starts_with("kernel");
  };
  for (bool again = true; again;) {
    again = false;
    for (llvm::Function& each : llvm::make_early_inc_range(module)) {
      if (!is_left(each)) continue;
      each.eraseFromParent();
      again = true;
    }
  }
}

HalfVectors halves_of(const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& processor = *machine.getMCSubtargetInfo();
  if (processor.checkFeatures("+avx512f")) return HalfVectors::Of16;
  return processor.checkFeatures("+f16c") ? HalfVectors::Of8 : HalfVectors::None;
}

std::string made_of(const CompileRequest& request) {
  llvm::LLVMContext context;
  const bool is_text = request.product != Product::Object;
  context.setDiscardValueNames(!is_text);
  const std::unique_ptr<llvm::TargetMachine> machine = target_for(request.processor);
  const llvm::StringRef bitcode(kiln_bodies_begin,
                                static_cast<std::size_t>(kiln_bodies_end - kiln_bodies_begin));
  std::unique_ptr<llvm::Module> module = check(llvm::getLazyBitcodeModule({bitcode, "bodies"}, context));
  module->setTargetTriple(machine->getTargetTriple().str());
  module->setDataLayout(machine->createDataLayout());
  Bodies bodies(*module, halves_of(*machine));
  std::unique_ptr<LineNotes> notes;
  if (is_text) notes = std::make_unique<LineNotes>(*module);
  std::vector<llvm::Function*> kernels;
  for (std::size_t i = 0; i < request.nests.size(); ++i) {
    llvm::Function* const kernel =
        kernels.emplace_back(emit(bodies, request.nests[i], kernel_symbol(i), notes.get()));
    kernel->addFnAttr("target-cpu", machine->getTargetCPU());
    kernel->addFnAttr("prefer-vector-width", "512");
    kernel->addFnAttr("min-legal-vector-width", "512");
    kernel->addFnAttr(llvm::Attribute::NoUnwind);
  }
  drop_unused(*module);
  optimize(*module, *machine);
  switch (request.product) {
    case Product::Llvm:
      return llvm_text(*module, kernels, request.names);
    case Product::Assembly:
      return assembly_text(*module, *machine);
    case Product::Object:
      break;
  }
  return object_of(*module, *machine);
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
