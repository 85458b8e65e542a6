#include "jit/built/payload.h"

#include <cstring>

#include "tensor/error.h"
#include "tensor/host_view.h"

namespace kiln::jit {
namespace {

constexpr std::string_view kMagic = "kiln-built-1";

class Writer {
 public:
  void number(std::int64_t value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view text) {
    number(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  void tensor(const Tensor& x) {
    text(name(x.dtype()));
    number(x.rank());
    for (const Dim each : x.sizes()) number(each.fixed());
    const HostView view(x, x.dtype());
    text({reinterpret_cast<const char*>(view.bytes()), view.byte_count()});
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::int64_t number() {
    std::int64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(static_cast<std::size_t>(number())); }
  Tensor tensor() {
    const DType dtype = *dtype_named(text());
    Dims sizes;
    for (std::int64_t rank = number(); rank > 0; --rank) sizes.push_back(number());
    const Tensor made = Tensor::empty(sizes, dtype, Device{});
    const std::string_view elements = text();
    const WritableHostView view(made);
    std::memcpy(view.bytes(), elements.data(), elements.size());
    return made;
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) throw InternalError("the payload of a built library ends early");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace

std::string to_bytes(const Payload& payload) {
  Writer out;
  out.text(kMagic);
  out.text(payload.graph);
  out.number(static_cast<std::int64_t>(payload.code.size()));
  for (const auto& [key, code] : payload.code) {
    out.text(key);
    out.text(code);
  }
  out.number(static_cast<std::int64_t>(payload.inputs.size()));
  for (const std::int64_t each : payload.inputs) out.number(each);
  out.number(static_cast<std::int64_t>(payload.constants.size()));
  for (const Tensor& each : payload.constants) out.tensor(each);
  return out.take();
}

Payload payload_of(std::string_view bytes) {
  Reader in(bytes);
  if (in.text() != kMagic) throw InternalError("the payload of a built library is of another version");
  Payload payload;
  payload.graph = in.text();
  for (std::int64_t count = in.number(); count > 0; --count) {
    std::string key(in.text());
    payload.code.emplace_back(std::move(key), in.text());
  }
  for (std::int64_t count = in.number(); count > 0; --count) payload.inputs.push_back(in.number());
  for (std::int64_t count = in.number(); count > 0; --count) payload.constants.push_back(in.tensor());
  return payload;
}

}  // namespace kiln::jit
