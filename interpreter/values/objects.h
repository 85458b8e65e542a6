// Owns the objects that programs make: functions, structs, modules, errors, natives, iterators, files.
#pragma once

#include <cstdio>
#include <exception>
#include <map>
#include <optional>

#include "interpreter/values/references.h"
#include "interpreter/values/value.h"
#include "lang/ast.h"
#include "lang/diagnostic.h"

namespace kiln::interp {

class Interpreter;
struct Code;  // interpreter/values/code.h: bytecode of one function

// A module's variables. Bytecode refers to them by slot; a slot whose variable is not assigned holds `unset`.
struct Module : Container {
  std::string name;                 // "nn", or the path
  std::string path;                 // canonical path; empty for the prompt and embedded modules
  std::vector<Value> slots;         // unset where not assigned; never moves: frames point to it
  std::vector<std::string> names;   // of slots
  std::vector<lang::Span> origins;  // where each was last assigned by the module's own top level
  std::vector<std::shared_ptr<lang::Ast>> sources;  // what functions and spans point into
  std::string documentation;
  Module();

  std::uint32_t slot(std::string_view name);       // makes one when there is none
  const Value* find(std::string_view name) const;  // null when not assigned
  void set(std::string_view name, Value value);

 private:
  std::map<std::string, std::uint32_t, std::less<>> index_;
};

struct Function : Container {
  const Code* code;  // kept alive by `module`'s sources or by `owner`
  std::shared_ptr<const Code> owner;
  Value module;
  std::vector<Value> captures;  // Cells
  std::vector<Value> defaults;  // of the last parameters with defaults, evaluated at definition
  Function(const Code* c, std::shared_ptr<const Code> o)
      : Container(Tag::Function), code(c), owner(std::move(o)) {}
};

// Host functions. The signature is text in the language's own syntax, e.g. "sorted(xs, *, key=none,
// reverse=false)": arguments are bound to it before `call`, defaults (literals) filled, `*rest` a tuple,
// `**named` a dict.
using NativeFn = Value (*)(Interpreter& interpreter, std::span<Value> arguments);
using NativeCall = Callback<Value(Interpreter& interpreter, std::span<Value> arguments)>;
struct NativeDef {
  const char* signature;
  const char* documentation;  // a sentence; may continue with `>>> ` examples on lines of their own
  NativeFn call;
};
struct NativeParameter {
  std::string name;
  enum class Kind : std::uint8_t { Normal, KeywordOnly, Star, DoubleStar } kind = Kind::Normal;
  bool required = true;
  Value default_value;
};
struct Native : Container {
  std::string name;
  std::string signature;
  std::string documentation;
  std::vector<NativeParameter> parameters;
  NativeCall call;
  // What `call` holds where that is a plain function, for calls with exactly this many arguments.
  NativeFn direct = nullptr;
  std::uint32_t direct_arity = 0;
  // Set instead of `call` when a function binds its own arguments (ops: spread sizes, overloads): it gets
  // them as the call wrote them. `data` is its own.
  using Unbound = Value (*)(Interpreter& interpreter, const Native& self, std::span<const Value> arguments,
                            std::span<const std::pair<std::string_view, Value>> named);
  Unbound unbound = nullptr;
  const void* data = nullptr;
  // A function that is called in the place of this one, with the same arguments; none: this one runs.
  Value stands_for;
  Native() : Container(Tag::Native) {}
};
Value make_native(const NativeDef& def);

// What a call of `f` calls: another function, where `f` is a native that stands for it.
inline const Value& called_by(const Value& f) {
  const Value* called = &f;
  while (called->is(Tag::Native) && !called->as<Native>().stands_for.is_none())
    called = &called->as<Native>().stands_for;
  return *called;
}

// `receiver.function`, not called yet.
struct Method : Container {
  Value receiver, function;
  Method(Value r, Value f) : Container(Tag::Method), receiver(std::move(r)), function(std::move(f)) {}
};

// A built-in type: `int`, `tensor`, …; calling it constructs.
struct Type : Object {
  std::string name;
  Tag instances;
  Value constructor;  // a Native
  Type(std::string n, Tag t) : Object(Tag::Type), name(std::move(n)), instances(t) {}
};

struct StructType : Container {
  std::string name;
  std::string documentation;
  std::vector<std::string> fields;
  std::vector<std::optional<Value>> defaults;  // by field
  std::vector<std::pair<std::string, Value>> methods;
  lang::Span span;
  bool is_autograd = false;              // made by an `autograd` statement: a call applies it
  bool is_open = false;                  // fields need no declaration
  std::vector<std::string> init_fields;  // that `init` assigns: they need none either
  std::uint32_t id;                      // unique in this process: what inline caches compare
  StructType();
  int field(std::string_view name) const;  // -1 when there is none
  const Value* method(std::string_view name) const;
};
// Declared fields first, by index; then those that `init` or `setattr` added, or, where the type is open, an
// assignment.
struct Instance : Container {
  Value type;
  std::vector<Value> fields;  // unset where not assigned
  std::vector<std::pair<std::string, Value>> extra;
  explicit Instance(Value t) : Container(Tag::Instance), type(std::move(t)) {}
  const StructType& struct_type() const { return type.as<StructType>(); }
  Value* find(std::string_view name);  // null when not assigned
};

// What `catch` receives: fields kind, message, file, line, column, trace.
struct Error : Object {
  lang::Diagnostic diagnostic;
  Value payload;  // what was thrown, when not text
  explicit Error(lang::Diagnostic d) : Object(Tag::Error), diagnostic(std::move(d)) {}
};

class Generator;

// What an iterator takes its items from, and of which parts it consists. Of the parts ints alone change.
enum class IteratorForm : std::uint8_t {
  Opaque,     // `next` knows; no parts
  Items,      // a list, tuple or text, and the place of the next item
  Rows,       // a tensor, and the place of the next row
  Range,      // the next number, how many are left, and the step
  Enumerate,  // an iterator, the number of its first item, and how many came
  Zip,        // iterators
};

// A pull iterator made by natives (`zip`, `map`, file lines), stepped by `advance` (natives.h).
struct Iterator : Object {
  using Next = Callback<bool(Interpreter&, Value&)>;  // false when exhausted
  std::string name;
  Next next;                       // of an opaque one
  Generator* generator = nullptr;  // that `next` holds; null for others (vm/generator.h)
  IteratorForm form = IteratorForm::Opaque;
  std::vector<Value> parts{};
  Iterator(std::string n, Next f) : Object(Tag::Iterator), name(std::move(n)), next(std::move(f)) {}
  Iterator(std::string n, IteratorForm f, std::vector<Value> p)
      : Object(Tag::Iterator), name(std::move(n)), form(f), parts(std::move(p)) {}
};

// What `open` gives. A closed file has no stream.
struct File : Object {
  std::string path;
  std::string mode;
  std::FILE* stream;
  File(std::string p, std::string m, std::FILE* s)
      : Object(Tag::File), path(std::move(p)), mode(std::move(m)), stream(s) {}
  ~File() {
    if (stream) std::fclose(stream);
  }
};

// Host state behind a value with fields and methods of its own (a `no_grad()` scope, a progress bar).
struct Opaque : Object {
  std::string name;
  std::exception_ptr error;                            // while it is on its way through a `with`
  std::vector<std::pair<std::string, Value>> methods;  // Natives that get the Opaque as first argument
  std::shared_ptr<void> state;                         // of the methods' own, which refers to no values
  bool is_unknown = false;                             // interpreter/values/unknown.h
  Opaque() : Object(Tag::Opaque) {}
};

}  // namespace kiln::interp
