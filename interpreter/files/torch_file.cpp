#include "interpreter/files/torch_file.h"

#include <array>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "interpreter/files/unpickler.h"
#include "interpreter/files/zip_archive.h"
#include "tensor/autograd.h"

namespace kiln::interp::files {
namespace {

constexpr std::uint64_t kMostPickle = std::uint64_t{1} << 30U;

struct StorageKind {
  std::string_view name;
  DType dtype;
};
constexpr std::array<StorageKind, 12> kStorages{{{"torch.FloatStorage", DType::F32},
                                                 {"torch.DoubleStorage", DType::F64},
                                                 {"torch.HalfStorage", DType::F16},
                                                 {"torch.BFloat16Storage", DType::BF16},
                                                 {"torch.LongStorage", DType::I64},
                                                 {"torch.IntStorage", DType::I32},
                                                 {"torch.ShortStorage", DType::I16},
                                                 {"torch.CharStorage", DType::I8},
                                                 {"torch.ByteStorage", DType::U8},
                                                 {"torch.BoolStorage", DType::Bool},
                                                 {"torch.ComplexFloatStorage", DType::C64},
                                                 {"torch.ComplexDoubleStorage", DType::C128}}};

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kSize = "torch.Size";

std::optional<DType> dtype_of_storage(std::string_view name) {
  for (const StorageKind& each : kStorages) {
    if (each.name == name) return each.dtype;
  }
  return std::nullopt;
}

[[noreturn]] void misfit(std::string_view what) { throw DamagedFile(fmt::format("a tensor {}", what)); }

std::int64_t int_of(const Pickled& item) {
  if (item.kind != Pickled::Kind::Plain || !item.value.is(Tag::Int)) misfit("has a size that is no int");
  return item.value.as_int();
}
Dims dims_of(const Pickled& item) {
  if (item.kind != Pickled::Kind::Tuple) misfit("has no tuple of sizes");
  Dims dims;
  for (const Pickled& each : *item.items) {
    dims.push_back(int_of(each));
    if (dims.back() < 0) misfit("has a negative size or stride");
  }
  return dims;
}

// One past the last element that the layout reaches; 0 where it has none.
std::int64_t end_of(const Layout& layout) {
  std::int64_t last = layout.offset.fixed();
  for (std::size_t d = 0; d < layout.sizes.size(); ++d) {
    const std::int64_t size = layout.sizes[d].fixed();
    if (size == 0) return 0;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(size - 1, layout.strides[d].fixed(), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      misfit("reaches beyond its memory");
    }
  }
  return last + 1;
}

class TorchFile final : public Unpickler::Meaning {
 public:
  explicit TorchFile(const std::string& path) : archive_(path) {
    std::unordered_set<std::string_view> names;
    for (const ZipArchive::Member& each : archive_.members()) {
      if (!names.insert(each.name).second)
        throw DamagedFile(fmt::format("two of its members have the name '{}'", each.name));
      if (!each.name.ends_with("data.pkl")) continue;
      const std::size_t slash = each.name.size() - std::string_view("data.pkl").size();
      if (slash == 0 || each.name.find('/') == slash - 1) folder_ = each.name.substr(0, slash);
    }
    if (archive_.find(folder_ + "data.pkl") == nullptr)
      throw DamagedFile("it is a zip archive, and none that torch.save wrote: it has no data.pkl");
    check_order();
  }

  Value read() {
    std::string pickle;
    archive_.read(*archive_.find(folder_ + "data.pkl"),
                  [&](Source& source) { pickle = source.rest(kMostPickle); });
    return Unpickler(pickle, *this).run();
  }

  bool knows(const std::string& global) const override {
    return global == kOrderedDict || global == kTensor || global == kParameter || global == kSize ||
           dtype_of_storage(global).has_value();
  }

  Pickled call(const std::string& global, const std::vector<Pickled>& arguments) override {
    Pickled made;
    if (global == kOrderedDict && arguments.empty()) {
      made.value = Value(static_cast<Object*>(new Dict()));
    } else if (global == kTensor && arguments.size() >= 6) {
      made.value = Value(tensor(arguments));
    } else if (global == kParameter && arguments.size() == 3) {
      made.value = Value(parameter(arguments));
    } else if (global == kSize && arguments.size() == 1 && arguments[0].kind == Pickled::Kind::Tuple) {
      return arguments[0];
    } else {
      throw DamagedFile(fmt::format("its pickle is damaged: {} gets {} arguments", global, arguments.size()));
    }
    return made;
  }

  // ("storage", class, key, location, count)
  std::size_t persistent(const std::vector<Pickled>& name) override {
    using Kind = Pickled::Kind;
    const auto is_text = [](const Pickled& item) {
      return item.kind == Kind::Plain && item.value.is(Tag::Str);
    };
    if (name.size() != 5 || !is_text(name[0]) || name[0].value.as<Str>().text != "storage" ||
        name[1].kind != Kind::Global || !is_text(name[2])) {
      throw DamagedFile("its pickle is damaged: the memory of a tensor has no name");
    }
    const std::optional<DType> dtype = dtype_of_storage(name[1].text);
    if (!dtype) throw DamagedFile(fmt::format("the memory of a tensor is a {}", name[1].text));
    return storage(name[2].value.as<Str>().text, *dtype, int_of(name[4]));
  }

 private:
  struct Memory {
    std::string key;
    Tensor elements;
  };

  void check_order() const {
    const ZipArchive::Member* order = archive_.find(folder_ + "byteorder");
    if (order == nullptr) return;
    archive_.read(*order, [](Source& source) {
      if (source.rest(16) != "little") throw DamagedFile("its numbers are not little-endian");
    });
  }

  // Read when it is first named, and once.
  std::size_t storage(const std::string& key, DType dtype, std::int64_t count) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (memory_[i].key != key) continue;
      const Tensor& known = memory_[i].elements;
      if (known.dtype() != dtype || known.numel().fixed() != count)
        misfit("shares memory with one of another dtype");
      return i;
    }
    const ZipArchive::Member* member = archive_.find(folder_ + "data/" + key);
    if (member == nullptr)
      throw DamagedFile(fmt::format("the memory of a tensor is missing: 'data/{}'", key));
    if (count < 0) misfit("has memory of negative size");
    archive_.read(*member, [&](Source& source) {
      const Dim size = count;
      memory_.push_back({key, source.tensor(std::span(&size, 1), dtype)});
    });
    return memory_.size() - 1;
  }

  // (storage, offset, sizes, strides, requires_grad, hooks)
  Tensor tensor(const std::vector<Pickled>& arguments) const {
    if (arguments[0].kind != Pickled::Kind::Own) misfit("has no memory");
    const Tensor& whole = memory_[arguments[0].own].elements;
    Layout layout{dims_of(arguments[2]), dims_of(arguments[3]), int_of(arguments[1])};
    if (layout.sizes.size() != layout.strides.size()) misfit("has not as many strides as sizes");
    if (layout.offset < 0 || end_of(layout) > whole.numel().fixed()) misfit("reaches beyond its memory");
    static_cast<void>(byte_count(layout.sizes, size_of(whole.dtype())));
    Tensor made = Tensor::alias(whole, std::move(layout));
    const Value wants = value_of(arguments[4]);
    if (wants.is(Tag::Bool) && wants.as_bool() && is_differentiable(made.dtype()))
      set_requires_grad(made, true);
    return made;
  }

  // (tensor, requires_grad, hooks)
  static Tensor parameter(const std::vector<Pickled>& arguments) {
    const Value of = value_of(arguments[0]);
    if (!of.is(Tag::Tensor)) misfit("that is a parameter has no elements");
    const Tensor made = of.as_tensor();
    mark_parameter(made);
    const Value wants = value_of(arguments[1]);
    if (wants.is(Tag::Bool) && wants.as_bool() && is_differentiable(made.dtype()))
      set_requires_grad(made, true);
    return made;
  }

  ZipArchive archive_;
  std::string folder_;  // within the archive, with a slash
  std::vector<Memory> memory_;
};

}  // namespace

Value read_torch(const std::string& path) { return TorchFile(path).read(); }

// A pickled number that marks the format.
bool is_old_torch(std::string_view start) {
  return start.size() >= 5 && start[0] == '\x80' && start[2] == '\x8a' && start[3] == '\x0a' &&
         start[4] == '\x6c';
}

}  // namespace kiln::interp::files
