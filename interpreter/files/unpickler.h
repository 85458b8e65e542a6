// Owns reading what Python pickled, as far as it is data: numbers, texts, lists, tuples, dicts, and what a
// table of functions allows. Nothing that the file names is run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/files/bytes.h"
#include "interpreter/values/value.h"

namespace kiln::interp::files {

// What a pickle has on its stack.
struct Pickled {
  enum class Kind : std::uint8_t {
    Plain,   // `value`
    Mark,    // where the items of a container begin
    Tuple,   // `items`, which may hold what is no value
    Global,  // a function or class, `text`: "torch.FloatStorage"
    Own,     // what the reader made of a persistent name: its number `own`
  };
  Kind kind = Kind::Plain;
  Value value;
  std::shared_ptr<std::vector<Pickled>> items;
  std::string text;
  std::size_t own = 0;
  int depth = 0;  // of tuples within tuples
};

class Unpickler {
 public:
  // What the file may name beside data.
  class Meaning {
   public:
    Meaning() = default;
    Meaning(const Meaning&) = delete;
    Meaning& operator=(const Meaning&) = delete;
    virtual ~Meaning() = default;
    virtual bool knows(const std::string& global) const = 0;
    // The result of a call of a known global.
    virtual Pickled call(const std::string& global, const std::vector<Pickled>& arguments) = 0;
    // The number of what a persistent name stands for.
    virtual std::size_t persistent(const std::vector<Pickled>& name) = 0;
  };
  Unpickler(std::string_view bytes, Meaning& meaning) : source_(bytes), meaning_(meaning) {}

  Value run();  // DamagedFile

 private:
  bool number(std::uint8_t code);
  bool text(std::uint8_t code);
  bool container(std::uint8_t code);
  bool keep(std::uint8_t code);
  bool call(std::uint8_t code);

  void push(Value value);
  void push_text(std::uint64_t bytes);
  void push_tuple(std::vector<Pickled> items);
  Pickled pop();
  Value pop_value();
  std::vector<Pickled> pop_to_mark();
  Value& top_value();
  void set_items(std::vector<Pickled> items);
  void append(std::vector<Pickled> items);
  void global(const std::string& module, const std::string& name);
  void memoize(std::uint64_t number);
  void recall(std::uint64_t number);
  std::string line();
  std::int64_t long_int(std::uint64_t bytes);

  MemorySource source_;
  Meaning& meaning_;
  std::vector<Pickled> stack_;
  std::unordered_map<std::uint64_t, Pickled> memo_;
};

// The value of an item, tuples made values, too. Throws DamagedFile where the item is no value.
Value value_of(const Pickled& item);

}  // namespace kiln::interp::files
