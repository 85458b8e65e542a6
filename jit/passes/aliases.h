// Owns the aliases in memory while a program becomes functional: every memory has one value at a time, that
// of its base, and every captured value is a path of views from a base. Where a path goes through `detach`,
// what is behind that has a history of its own: a write on either side changes the elements of the other side
// and leaves its history.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jit/graph/layouts.h"
#include "jit/graph/rewrite.h"

namespace kiln::jit {

using LayoutAt = std::function<Layout()>;  // over symbols

class Aliases {
 public:
  // Appends to `out`, whose symbols have the values `hints`.
  Aliases(Builder& out, const SymbolValues& hints) : out_(out), hints_(hints) {}

  // Adds a memory and its base, which has this value now and had the captured `layout`. `input`: the input of
  // the new graph that it is, -1 for none. `is_placed`: it begins at the start of its storage, as far as ops
  // can tell. Returns the alias of the base itself.
  int add_memory(ValueId value, int input, LayoutAt layout, bool is_placed = true);
  // Adds the results of a view of an alias; `names` are the user's. A result is computed when it is first
  // read.
  std::vector<int> add_views(const Node& view, int source, std::span<const std::string> names);

  // A value with the elements that the alias has now.
  ValueId read(int alias);
  // The same as a view of its base's value, as needed where values that share memory are outputs of the
  // graph.
  ValueId read_view(int alias);
  // The same elements with any history, for what is to share memory, or to be read for its elements alone.
  ValueId read_elements(int alias);
  // The elements of what is written at the end of a call, with any history.
  ValueId read_written(int alias);
  // Gives the base its history, unless the alias is behind a `detach`: before it is known of which value of
  // the base outputs are views.
  void settle_history(int alias);
  // Does the value, which has the elements of the alias, have the layout of the captured alias? The strides
  // of dimensions of size 1 count, since a program can ask for them.
  bool lies_alike(ValueId value, int alias);
  // Replaces the base by a copy with the captured layout, if it has another one. Views of the old base are
  // then no views of the memory.
  void lay_out(int alias);
  // Checks, before these places of the alias's memory are read or written, that the base has them.
  void check_places(int alias, const Layout& places) const;
  // Replaces the alias's elements in its base by `elements`. `like`: a captured node, for the place in the
  // user's program.
  void write(int alias, ValueId elements, const Node& like);

  // In the captured graph.
  Layout layout(int alias) const;
  int memory(int alias) const { return at(alias).memory; }
  int input(int memory) const { return memories_[static_cast<std::size_t>(memory)].input; }
  bool is_written(int memory) const { return memories_[static_cast<std::size_t>(memory)].version > 0; }
  int memory_count() const { return static_cast<int>(memories_.size()); }
  // The value of a memory's base.
  ValueId base(int memory) const { return memories_[static_cast<std::size_t>(memory)].value; }
  // The alias whose view this is, directly; -1 for a base.
  int source(int alias) const;

 private:
  // Alternatives of one view op (the pieces of a split) share the application.
  struct Application {
    int source = -1;  // alias
    Node node;
    std::vector<int> aliases;
  };
  struct Alias {
    int memory = 0;
    int application = -1;  // -1: the base itself
    std::size_t output = 0;
    std::string name;
    int depth = 0;      // views from the base to it
    int same = -1;      // an alias nearer to the base that shows the same elements in the same places
    int detached = -1;  // the last `detach` on the way from the base to it
    // Of a `detach`: its value when it, or a view of it, was last written, and the state of the memory then.
    ValueId written = Operand::kAbsent;
    int written_of = -1;
    Layout layout;  // in the captured graph
    // The value as a view of the base's value, and as whatever holds these elements, with the state of the
    // memory that they are of.
    ValueId viewed = Operand::kAbsent, known = Operand::kAbsent;
    int viewed_of = -1, known_of = -1;
  };
  struct Memory {
    ValueId value = Operand::kAbsent;
    int version = 0;  // counts writes
    int copy = 0;     // counts values of the base: also copies of the same elements
    int input = -1;
    LayoutAt layout;  // of the base
    bool is_placed = true;
    const Node* writer = nullptr;
    // The base's value before writes through `detach` alone, whose history it still has. kAbsent: there are
    // none.
    ValueId history = Operand::kAbsent;
  };

  Alias& at(int alias) { return aliases_[static_cast<std::size_t>(alias)]; }
  const Alias& at(int alias) const { return aliases_[static_cast<std::size_t>(alias)]; }
  Memory& memory_of(int alias) { return memories_[static_cast<std::size_t>(at(alias).memory)]; }
  const Application& application(int alias) const {
    return applications_[static_cast<std::size_t>(at(alias).application)];
  }
  int nearest(int alias) const { return at(alias).same < 0 ? alias : at(alias).same; }
  int same_before(int alias) const;
  bool lies_always_as(int alias, int other) const;
  Layout layout_of_base(const Memory& memory) const;
  Layout layout_over(int alias, const Layout& base) const;
  Layout layout_now(ValueId id);
  LayoutAt layout_at(ValueId id);
  bool is_argument(ValueId id);

  bool is_detach(int alias) const { return at(alias).detached == alias; }
  bool has_own_history(int alias) const;
  ValueId with_history_of(ValueId before, ValueId elements, const Node& like);
  ValueId detached_value(int alias);
  ValueId view(int alias, bool elements_alone);
  ValueId view_of_source(int alias, bool elements_alone);
  bool fits(const Application& from, ValueId source);
  void set_base(Memory& memory, ValueId value);
  void copy_base(Memory& memory);
  bool lies_as_captured(const Memory& memory);

  bool is_made_by_places(int alias) const;
  bool is_scattered_at_once(int alias) const;
  ValueId scatter(int alias, ValueId elements, const Node& like);
  ValueId undo(int alias, ValueId base, ValueId updated, const Node& like);
  Fragment undo_steps(int alias, ValueId base, ValueId updated);

  Builder& out_;
  const SymbolValues& hints_;
  Producers producers_;
  std::vector<Memory> memories_;
  std::vector<Alias> aliases_;
  std::vector<Application> applications_;
  std::vector<std::optional<Layout>> layouts_now_;  // of values of the new graph, once they were asked for
};

}  // namespace kiln::jit
