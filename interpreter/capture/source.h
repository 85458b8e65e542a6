// Owns the sources of a compiled entry: paths from the frames it starts in to the values that it reads.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "interpreter/values/references.h"
#include "interpreter/vm/frame.h"
#include "tensor/small_vector.h"

namespace kiln::interp::capture {

using SourceId = int;

struct Source {
  enum class Kind : std::uint8_t {
    Register,       // of the frame `index` calls out, `number`
    FrameFunction,  // of the frame `index` calls out
    Constant,       // `key`
    Slot,           // `number` of the module `key`
    Capture,        // the cell `number` of a function
    Cell,           // the value of a cell
    Item,           // `number` of a list or tuple
    Key,            // `key` of a dict
    Field,          // `number` of a struct
    Extra,          // `key` of a struct: a field that was never declared
    Receiver,       // of a bound method
    Method,         // the function of a bound method
    Default,        // `number` of a function
    Part,           // `number` of an iterator
    Length,         // of a list
    Grad,           // of a tensor
  };
  Kind kind = Kind::Constant;
  SourceId parent = -1;
  std::int64_t index = 0;
  std::int64_t number = 0;
  Value key;
  std::string text;  // as the program would write it
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(key, visitor); }
};

// All sources of one entry, each once; parents come before sources within them.
class Sources {
 public:
  SourceId add(Source source);
  const Source& operator[](SourceId id) const { return all_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return all_.size(); }
  // A name of the source that is the same in all entries of a place.
  std::string path(SourceId id) const;
  void visit_references(ReferenceVisitor& visitor) const { interp::visit_references(all_, visitor); }

 private:
  using Key = std::tuple<Source::Kind, SourceId, std::int64_t, std::int64_t, Tag, std::int64_t, std::string>;
  std::vector<Source> all_;
  std::map<Key, SourceId> known_;
};

// The values of sources in one call, looked up when first asked for. Null: the source does not exist now.
class SourceValues {
 public:
  SourceValues(const Sources& sources, const Frame* innermost)
      : sources_(sources), frame_(innermost), found_(sources.size(), &kNotAsked) {}
  const Value* operator[](SourceId id) {
    const Value*& found = found_[static_cast<std::size_t>(id)];
    if (found == &kNotAsked) found = find(sources_[id]);
    return found;
  }
  // Where the program keeps a variable, which must exist: of a module, a cell, or a field of a struct.
  Value* place(SourceId variable) { return const_cast<Value*>((*this)[variable]); }

 private:
  const Value* find(const Source& source);
  const Value* find_in_frames(const Source& source) const;
  const Value* find_in(const Value& parent, const Source& source);
  const Value* made(Value value);

  static const Value kNotAsked;
  const Sources& sources_;
  const Frame* frame_;
  SmallVector<const Value*, 24> found_;
  std::vector<Value> made_;  // values that are in no memory of the program; never reallocated
};

}  // namespace kiln::interp::capture
