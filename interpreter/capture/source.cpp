#include "interpreter/capture/source.h"

#include <fmt/format.h>

#include "tensor/autograd.h"

namespace kiln::interp::capture {

SourceId Sources::add(Source source) {
  const bool text = source.key.is(Tag::Str);
  Key key{source.kind,
          source.parent,
          source.index,
          source.number,
          source.key.tag(),
          text ? 0 : source.key.as_int(),
          text ? source.key.as<Str>().text : std::string()};
  const auto [at, is_new] = known_.try_emplace(std::move(key), static_cast<SourceId>(all_.size()));
  if (is_new) all_.push_back(std::move(source));
  return at->second;
}

std::string Sources::path(SourceId id) const {
  const Source& source = (*this)[id];
  std::string path = source.parent < 0 ? std::string() : this->path(source.parent);
  path += fmt::format("/{}:{}:{}", static_cast<int>(source.kind), source.index, source.number);
  if (source.key.is(Tag::Str)) path += source.key.as<Str>().text;
  if (source.key.is(Tag::Module)) path += source.key.as<Module>().name;
  return path;
}

const Value SourceValues::kNotAsked;

namespace {

const Value* item_at(const std::vector<Value>& items, std::int64_t at) {
  return at < static_cast<std::int64_t>(items.size()) ? &items[static_cast<std::size_t>(at)] : nullptr;
}

}  // namespace

const Value* SourceValues::find(const Source& source) {
  if (source.parent < 0) return find_in_frames(source);
  const Value* parent = (*this)[source.parent];
  return parent == nullptr ? nullptr : find_in(*parent, source);
}

const Value* SourceValues::find_in_frames(const Source& source) const {
  using Kind = Source::Kind;
  switch (source.kind) {
    case Kind::Register:
      return frame_[-source.index].base + source.number;
    case Kind::FrameFunction:
      return frame_[-source.index].base - 1;
    case Kind::Constant:
      return &source.key;
    case Kind::Slot:
      return item_at(source.key.as<Module>().slots, source.number);
    default:
      return nullptr;
  }
}

const Value* SourceValues::made(Value value) {
  if (made_.empty()) made_.reserve(sources_.size());
  return &made_.emplace_back(std::move(value));
}

const Value* SourceValues::find_in(const Value& parent, const Source& source) {
  using Kind = Source::Kind;
  switch (source.kind) {
    case Kind::Capture:
      return parent.is(Tag::Function) ? item_at(parent.as<Function>().captures, source.number) : nullptr;
    case Kind::Cell:
      return parent.is(Tag::Cell) ? &parent.as<Cell>().value : nullptr;
    case Kind::Item:
      if (parent.is(Tag::List)) return item_at(parent.as<List>().items, source.number);
      return parent.is(Tag::Tuple) ? item_at(parent.as<Tuple>().items, source.number) : nullptr;
    case Kind::Key:
      return is_dict_or_set(parent) ? parent.as<Dict>().find(source.key) : nullptr;
    case Kind::Field:
      return parent.is(Tag::Instance) ? item_at(parent.as<Instance>().fields, source.number) : nullptr;
    case Kind::Extra:
      return parent.is(Tag::Instance) ? parent.as<Instance>().find(source.key.as<Str>().text) : nullptr;
    case Kind::Receiver:
      return parent.is(Tag::Method) ? &parent.as<Method>().receiver : nullptr;
    case Kind::Method:
      return parent.is(Tag::Method) ? &parent.as<Method>().function : nullptr;
    case Kind::Default:
      return parent.is(Tag::Function) ? item_at(parent.as<Function>().defaults, source.number) : nullptr;
    case Kind::Part:
      return parent.is(Tag::Iterator) ? item_at(parent.as<Iterator>().parts, source.number) : nullptr;
    case Kind::Length:
      return parent.is(Tag::List) ? made(static_cast<std::int64_t>(parent.as<List>().items.size())) : nullptr;
    case Kind::Grad:
      return parent.is(Tag::Tensor) ? made(grad_of(parent.tensor())) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace kiln::interp::capture
