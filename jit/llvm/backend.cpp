// Owns the way from loop nests to machine code in memory: LLVM's module, passes, code generator and linker.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <stdexcept>

#include "jit/compiler.h"
#include "jit/llvm/emit.h"

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

std::unique_ptr<llvm::TargetMachine> target_for(const std::string& processor) {
  static const llvm::Target* const target = [] {
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

std::unique_ptr<llvm::MemoryBuffer> code_of(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if (machine.addPassesToEmitMC(passes, context, stream)) throw std::runtime_error("no code can be emitted");
  passes.run(module);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), false);
}

constexpr const char* kSymbol = "kernel";
std::string symbol_of(std::size_t index) { return kSymbol + std::to_string(index); }

// What no kernel is made of: declarations, and bodies that are in kernels by now.
void drop_unused(llvm::Module& module) {
  const auto is_left = [](const llvm::Function& each) {
    return each.use_empty() && !each.getName().starts_with(kSymbol);
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

std::unique_ptr<llvm::MemoryBuffer> object_of(const CompileRequest& request) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::TargetMachine> machine = target_for(request.processor);
  const llvm::StringRef bitcode(kiln_bodies_begin,
                                static_cast<std::size_t>(kiln_bodies_end - kiln_bodies_begin));
  std::unique_ptr<llvm::Module> module = check(llvm::getLazyBitcodeModule({bitcode, "bodies"}, context));
  module->setTargetTriple(machine->getTargetTriple().str());
  module->setDataLayout(machine->createDataLayout());
  Bodies bodies(*module);
  for (std::size_t i = 0; i < request.nests.size(); ++i) {
    llvm::Function* const kernel = emit(bodies, request.nests[i], symbol_of(i));
    kernel->addFnAttr("target-cpu", machine->getTargetCPU());
    kernel->addFnAttr("prefer-vector-width", "512");
    kernel->addFnAttr("min-legal-vector-width", "512");
    kernel->addFnAttr(llvm::Attribute::NoUnwind);
  }
  drop_unused(*module);
  optimize(*module, *machine);
  return code_of(*module, *machine);
}

// Lives as long as the process: LLVM's own tables may be gone when static objects are destroyed.
llvm::orc::LLJIT& linker() {
  static llvm::orc::LLJIT* const jit = check(llvm::orc::LLJITBuilder().create()).release();
  return *jit;
}

// Memory that an object was linked into; given back when the last kernel goes.
struct Code {
  llvm::orc::JITDylib* library;
  ~Code() { llvm::consumeError(linker().getExecutionSession().removeJITDylib(*library)); }
};

CompiledKernels link(std::unique_ptr<llvm::MemoryBuffer> object, std::size_t count) {
  static int number = 0;
  auto code = std::make_shared<Code>();
  code->library = &check(linker().createJITDylib("kernels" + std::to_string(number++)));
  check(linker().addObjectFile(*code->library, std::move(object)));
  CompiledKernels made;
  for (std::size_t i = 0; i < count; ++i) {
    made.functions.push_back(check(linker().lookup(*code->library, symbol_of(i))).toPtr<KernelFn>());
  }
  made.code = std::move(code);
  return made;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void kiln_compile_with_llvm(const CompileRequest& request,
                                                                              CompileAnswer& answer) {
  try {
    answer.kernels = link(object_of(request), request.nests.size());
  } catch (const std::exception& error) {
    answer.error = error.what();
  }
}

}  // namespace kiln::jit
