#include "jit/llvm/text.h"

#include <llvm/IR/AssemblyAnnotationWriter.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/FormattedStream.h>

#include <map>
#include <stdexcept>

#include "jit/llvm/compile_request.h"

namespace kiln::jit {

struct LineNotes::Debug {
  explicit Debug(llvm::Module& module) : builder(module) {
    file = builder.createFile("nest", "");
    builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "", true, "", 0, "",
                              llvm::DICompileUnit::DebugEmissionKind::DebugDirectivesOnly);
    type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  }
  llvm::DIBuilder builder;
  llvm::DIFile* file;
  llvm::DISubroutineType* type;
  llvm::DISubprogram* kernel = nullptr;
};

LineNotes::LineNotes(llvm::Module& module) : debug_(std::make_unique<Debug>(module)) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
}
LineNotes::~LineNotes() = default;

void LineNotes::begin(llvm::Function& kernel) {
  debug_->kernel =
      debug_->builder.createFunction(debug_->file, kernel.getName(), "", debug_->file, 1, debug_->type, 1,
                                     llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  kernel.setSubprogram(debug_->kernel);
  debug_->builder.finalizeSubprogram(debug_->kernel);
}

// Locations count from 1; those of line 0 belong to nothing.
void LineNotes::line(llvm::IRBuilderBase& build, std::size_t line) {
  build.SetCurrentDebugLocation(
      llvm::DILocation::get(build.getContext(), static_cast<unsigned>(line) + 1, 0, debug_->kernel));
}

namespace {

std::string mark(unsigned location) { return kMark + std::to_string(location - 1) + "\n"; }

// Writes a mark wherever the line changes.
class Marks final : public llvm::AssemblyAnnotationWriter {
 public:
  explicit Marks(const std::map<const llvm::Instruction*, unsigned>& lines) : lines_(lines) {}
  void emitInstructionAnnot(const llvm::Instruction* each, llvm::formatted_raw_ostream& out) override {
    const auto found = lines_.find(each);
    if (found == lines_.end() || found->second == last_) return;
    last_ = found->second;
    out << mark(last_);
  }

 private:
  const std::map<const llvm::Instruction*, unsigned>& lines_;
  unsigned last_ = 0;
};

}  // namespace

namespace {

unsigned line_of(const llvm::Instruction& each) {
  return each.getDebugLoc() ? each.getDebugLoc().getLine() : 0;
}

// What a line computes is what its last instruction gives.
void name_results(llvm::Function& kernel, const std::vector<std::string>& names) {
  std::map<unsigned, llvm::Instruction*> last;
  for (llvm::Instruction& each : llvm::instructions(kernel)) {
    if (!each.getType()->isVoidTy() && line_of(each) > 0) last[line_of(each)] = &each;
  }
  for (const auto& [line, made] : last) {
    if (line <= names.size() && !names[line - 1].empty()) made->setName(names[line - 1]);
  }
}

}  // namespace

std::string llvm_text(llvm::Module& module, const std::vector<llvm::Function*>& kernels,
                      const std::vector<std::vector<std::string>>& names) {
  std::map<const llvm::Instruction*, unsigned> lines;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    name_results(*kernels[k], names[k]);
    for (const llvm::Instruction& each : llvm::instructions(*kernels[k])) {
      if (line_of(each) > 0) lines.emplace(&each, line_of(each));
    }
  }
  llvm::StripDebugInfo(module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (llvm::Function* const kernel : kernels) {
    kernel->setAttributes({});  // printed elsewhere, and the same for all
    Marks marks(lines);
    kernel->print(stream, &marks);
  }
  return text;
}

namespace {

// Of what the assembler is told, what a reader wants: labels, instructions, and marks in place of locations.
std::string readable(llvm::StringRef assembly) {
  std::string text;
  bool in_code = false;
  unsigned last = 0;
  for (llvm::StringRef rest = assembly; !rest.empty();) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    const llvm::StringRef word = line.trim();
    if (word.starts_with(".text")) in_code = true;
    if (word.starts_with(".section")) in_code = word.contains(".text");
    unsigned location = 0;
    if (in_code && word.starts_with(".loc\t")) {
      const llvm::StringRef after_file = word.drop_front(5).split(' ').second;
      if (after_file.split(' ').first.getAsInteger(10, location) || location == 0 || location == last)
        continue;
      last = location;
      text += mark(location);
    }
    const bool is_label = !line.empty() && !std::isspace(static_cast<unsigned char>(line.front()));
    const bool is_local = line.starts_with(".Lfunc") || line.starts_with(".Ltmp");
    const bool is_code = is_label ? !is_local : !word.starts_with(".") && !word.empty();
    if (!in_code || !is_code) continue;
    if (is_label && !line.starts_with(".L") && !line.starts_with("#")) last = 0;
    text += line.rtrim().str() + "\n";
  }
  return text;
}

}  // namespace

std::string assembly_text(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  machine.Options.MCOptions.AsmVerbose = true;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw std::runtime_error("no assembly can be emitted");
  passes.run(module);
  return readable(bytes);
}

}  // namespace kiln::jit
