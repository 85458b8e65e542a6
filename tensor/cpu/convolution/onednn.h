// Owns oneDNN's C interface as it is found at run time, and its objects with an owner.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace kiln::cpu::onednn {

#define KILN_DNNL_FUNCTIONS(X)                   \
  X(engine_create)                               \
  X(stream_create)                               \
  X(memory_create)                               \
  X(memory_destroy)                              \
  X(memory_set_data_handle)                      \
  X(memory_desc_init_by_tag)                     \
  X(memory_desc_init_by_strides)                 \
  X(memory_desc_equal)                           \
  X(memory_desc_get_size)                        \
  X(primitive_attr_create)                       \
  X(primitive_attr_set_scratchpad_mode)          \
  X(primitive_desc_create)                       \
  X(primitive_desc_destroy)                      \
  X(primitive_desc_query)                        \
  X(primitive_desc_query_md)                     \
  X(primitive_create)                            \
  X(primitive_destroy)                           \
  X(primitive_execute)                           \
  X(reorder_primitive_desc_create)               \
  X(dilated_convolution_forward_desc_init)       \
  X(dilated_convolution_backward_data_desc_init) \
  X(dilated_convolution_backward_weights_desc_init)

// The functions, and the one engine, stream and attributes (scratch memory comes from the caller, so that
// threads can share a primitive) that all use.
struct Api {
#define KILN_DNNL_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  KILN_DNNL_FUNCTIONS(KILN_DNNL_MEMBER)
#undef KILN_DNNL_MEMBER
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_primitive_attr_t attributes = nullptr;
};
// Null when oneDNN 2 is not installed.
const Api* api();

// Throws InternalError unless a call went well.
void check(dnnl_status_t status);

template <auto Destroy>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    (api()->*Destroy)(object);
  }
};
using Memory = std::unique_ptr<dnnl_memory, Deleter<&Api::memory_destroy>>;
using Description = std::unique_ptr<dnnl_primitive_desc, Deleter<&Api::primitive_desc_destroy>>;
using Handle = std::unique_ptr<dnnl_primitive, Deleter<&Api::primitive_destroy>>;

// A memory object that does not own its bytes, which may be told later.
Memory make_memory(const dnnl_memory_desc_t& layout, void* bytes = nullptr);
void point(const Memory& memory, const void* bytes);

// Something to execute.
struct Primitive {
  Handle handle;
  dnnl_memory_desc_t scratch{};  // of what each execution needs beside its arguments

  explicit Primitive(const Description& description);
  // `scratchpad` has at least scratch_bytes().
  void run(std::span<const dnnl_exec_arg_t> arguments, std::byte* scratchpad) const;
  std::size_t scratch_bytes() const { return api()->memory_desc_get_size(&scratch); }
};

// A tensor as the caller lays it out and as a primitive wants it.
struct Port {
  dnnl_memory_desc_t plain{}, wanted{};
  std::optional<Primitive> reorder;  // absent when both are the same

  Port(const dnnl_memory_desc_t& user, const dnnl_memory_desc_t& own, bool is_output);
  std::size_t bytes() const { return api()->memory_desc_get_size(&wanted); }
  std::size_t scratch_bytes() const { return reorder ? reorder->scratch_bytes() : 0; }
};

}  // namespace kiln::cpu::onednn
