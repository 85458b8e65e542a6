#include "jit/llvm/session.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

// The bitcode of bodies.cpp (bodies.S).
extern "C" const char kiln_bodies_begin[];
extern "C" const char kiln_bodies_end[];

namespace kiln::jit {
namespace {

// Constants and types of all kernels stay in a context.
constexpr int kMostUses = 200;

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

HalfVectors halves_of(const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& processor = *machine.getMCSubtargetInfo();
  if (processor.checkFeatures("+avx512f")) return HalfVectors::Of16;
  return processor.checkFeatures("+f16c") ? HalfVectors::Of8 : HalfVectors::None;
}

std::unique_ptr<llvm::Module> read_bodies(llvm::LLVMContext& context) {
  const llvm::StringRef bitcode(kiln_bodies_begin,
                                static_cast<std::size_t>(kiln_bodies_end - kiln_bodies_begin));
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::getLazyBitcodeModule({bitcode, "bodies"}, context);
  if (!module) throw std::runtime_error(llvm::toString(module.takeError()));
  return std::move(*module);
}

// The sessions that are not in use. They are never destroyed, since compiles may go on until the program
// ends.
struct Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<Session>> sessions;
};
Idle& idle() {
  static Idle* const all = new Idle;
  return *all;
}

}  // namespace

Session::Session(const std::string& processor, bool names_values)
    : processor_(processor), machine_(target_for(processor)) {
  context_->setDiscardValueNames(!names_values);
  bodies_ = read_bodies(*context_);
  halves_ = halves_of(*machine_);
  optimizer_ = std::make_unique<Optimizer>(*machine_);
}

std::unique_ptr<llvm::Module> Session::module() {
  auto made = std::make_unique<llvm::Module>("kernels", *context_);
  made->setTargetTriple(machine_->getTargetTriple().str());
  made->setDataLayout(machine_->createDataLayout());
  return made;
}

std::unique_ptr<Session> borrow_session(const std::string& processor) {
  {
    const std::lock_guard lock(idle().mutex);
    std::vector<std::unique_ptr<Session>>& sessions = idle().sessions;
    const auto found = std::find_if(sessions.begin(), sessions.end(),
                                    [&](const auto& each) { return each->processor_ == processor; });
    if (found != sessions.end()) {
      std::unique_ptr<Session> session = std::move(*found);
      sessions.erase(found);
      return session;
    }
  }
  return std::make_unique<Session>(processor, false);
}

void give_back(std::unique_ptr<Session> session) {
  if (++session->uses_ >= kMostUses) return;
  const std::lock_guard lock(idle().mutex);
  idle().sessions.push_back(std::move(session));
}

}  // namespace kiln::jit
