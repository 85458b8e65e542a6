#include "interpreter/vm/modules.h"

#include <filesystem>

#include "interpreter/compile/compile.h"
#include "interpreter/files/bytes.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/impl.h"
#include "lang/parse.h"
#include "stdlib/embedded.h"
#include "tensor/timeline.h"

namespace kiln::interp {
namespace {

namespace fs = std::filesystem;
using kiln::timeline::Kind;
using kiln::timeline::Span;

// What an entry at the prompt does not define may have been defined by one before it.
std::shared_ptr<lang::Ast> read(const lang::SourceFile& file, const Module& module) {
  const Span span(Kind::Parse, file.name());
  std::shared_ptr<lang::Ast> ast = lang::parse(file);
  lang::resolve(*ast, [&](std::string_view name) { return module.find(name) != nullptr; });
  return ast;
}

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".kiln");
}

// Short where it can be: relative to where the user is.
std::string shown_path(const fs::path& path) {
  std::error_code error;
  const fs::path relative = fs::relative(path, fs::current_path(error), error);
  if (error || relative.empty() || relative.native().starts_with("..")) return path.string();
  return relative.string();
}

fs::path user_file(std::string_view name, const std::string& folder) {
  std::string text(name);
  if (!is_path(name)) {
    std::replace(text.begin(), text.end(), '.', '/');
    text += ".kiln";
  }
  const fs::path path(text);
  return path.is_absolute() ? path : fs::path(folder.empty() ? "." : folder) / path;
}

[[noreturn]] void no_module(std::string_view name, const fs::path& file) {
  if (is_path(name)) raise("IOError", "there is no file `" + shown_path(file) + "` to import");
  const std::vector<std::string_view> names = stdlib_modules();
  const auto near = lang::nearest(name, names);
  std::string help = lang::foreign_module(name);
  if (help.empty() && !near.empty()) help = "did you mean `" + std::string(near) + "`?";
  raise("IOError",
        "there is no module `" + std::string(name) + "`: neither in the standard library nor as " +
            shown_path(file),
        std::move(help));
}

// The standard library's modules are named <nn>, as nothing of the user is.
bool is_of_library(std::string_view name) {
  return name.size() > 2 && name.front() == '<' && name.back() == '>' &&
         !stdlib_source(name.substr(1, name.size() - 2)).empty();
}

}  // namespace

std::string read_source(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) raise("IOError", "`" + path + "` is a folder, not a file");
  return files::FileSource(path).rest(UINT64_MAX);
}

Value Modules::import(std::string_view name, const std::string& folder) {
  host::refuse_nul(name, "import");
  if (!is_path(name)) {
    const std::string key = "std:" + std::string(name);
    if (const auto found = loaded_.find(key); found != loaded_.end()) return found->second;
    if (const auto text = stdlib_source(name); !text.empty()) {
      return load(key, std::string(name), "", std::string(text));
    }
  }
  const fs::path file = user_file(name, folder);
  std::error_code error;
  const fs::path canonical = fs::canonical(file, error);
  if (error) no_module(name, file);
  const std::string key = canonical.string();
  for (const Loading& loading : loading_) {
    if (loading.key != key) continue;
    std::string ring;
    bool inside = false;
    for (const Loading& step : loading_) {
      inside |= step.key == key;
      if (inside) ring += step.shown + " → ";
    }
    raise("ValueError", "modules import each other in a ring: " + ring + shown_path(canonical),
          "move what both need into a module of its own");
  }
  if (const auto found = loaded_.find(key); found != loaded_.end()) return found->second;
  return load(key, shown_path(canonical), key, read_source(key));
}

Value Modules::load(const std::string& key, const std::string& shown, const std::string& path,
                    std::string text) {
  Value value = make<Module>();
  auto& module = value.as<Module>();
  module.name = path.empty() ? shown : fs::path(path).stem().string();
  module.path = path;
  if (!path.empty()) module.set("is_main", false);  // the prelude says true, for the file that was started
  loading_.push_back({key, shown});
  struct Pop {
    std::vector<Loading>& loading;
    ~Pop() { loading.pop_back(); }
  } const pop{loading_};
  bool has_value = false;
  run(module, path.empty() ? "<" + shown + ">" : shown, std::move(text), has_value);
  loaded_.emplace(key, value);
  return value;
}

Value Modules::run(Module& module, const std::string& name, std::string text, bool& has_value) {
  const lang::SourceFile& file = interpreter_.sources().add(name, std::move(text), is_of_library(name));
  const std::shared_ptr<lang::Ast> ast = read(file, module);
  module.sources.push_back(ast);
  const std::shared_ptr<Code> code = [&] {
    const Span span(Kind::Bytecode, name);
    return compile(ast, module);
  }();
  if (interpreter_.options().hot_after == 0) interpreter_.impl().vm.compile_loops(code);
  has_value = code->gives_value;
  auto* function = new Function(code.get(), code);
  Value callee{static_cast<Object*>(function)};
  function->module = Value(static_cast<Object*>(&module));
  const Span span(Kind::Run, name);
  return interpreter_.impl().vm.call(std::move(callee), {});
}

const lang::SourceFile* Modules::source(std::string_view name) const {
  const auto latest = [name](const Module& module) -> const lang::SourceFile* {
    for (auto ast = module.sources.rbegin(); ast != module.sources.rend(); ++ast) {
      if ((*ast)->file().name() == name) return &(*ast)->file();
    }
    return nullptr;
  };
  if (const auto* found = latest(interpreter_.main())) return found;
  for (const auto& [key, module] : loaded_) {
    if (const auto* found = latest(module.as<Module>())) return found;
  }
  return nullptr;
}

void Modules::reload(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  if (error) no_module(path, path);
  const std::string key = canonical.string();
  const auto found = loaded_.find(key);
  if (found == loaded_.end()) {
    import(key, "");
    return;
  }
  const Value module = found->second;
  bool has_value = false;
  loading_.push_back({key, shown_path(canonical)});
  struct Pop {
    std::vector<Loading>& loading;
    ~Pop() { loading.pop_back(); }
  } const pop{loading_};
  run(module.as<Module>(), shown_path(canonical), read_source(key), has_value);
}

void Modules::forget_user_modules() {
  std::erase_if(loaded_, [](const auto& entry) { return !entry.first.starts_with("std:"); });
}

// Functions of a module keep it alive, and it keeps them.
void Modules::clear() {
  for (auto& [key, module] : loaded_) {
    for (Value& slot : module.as<Module>().slots) slot.clear();
  }
  loaded_.clear();
}

const Value* Modules::value_in(const Module& module, std::string_view name) {
  if (const Value* found = module.find(name)) return found;
  if (!module.path.empty()) return nullptr;
  const std::string_view part = stdlib_part(module.name, name);
  if (part.empty()) return nullptr;
  add_part(const_cast<Module&>(module), part);
  return module.find(name);
}

const Value* Modules::prelude_value(std::string_view name) { return value_in(interpreter_.prelude(), name); }

void Modules::add_part(Module& module, std::string_view part) {
  for (const Loading& loading : loading_) {
    if (loading.key == "std:" + std::string(part)) return;
  }
  const Value value = import(part, "");  // may be there already: standard modules import from it by name
  const auto& loaded = value.as<Module>();
  for (std::size_t i = 0; i < loaded.names.size(); ++i) {
    // What it imports, and helpers of its own, are no names of the whole.
    const bool is_offered = stdlib_part(module.name, loaded.names[i]) == part;
    if (is_offered && !loaded.slots[i].is_unset() && !module.find(loaded.names[i]))
      module.set(loaded.names[i], loaded.slots[i]);
  }
}

}  // namespace kiln::interp
