#include "tensor/cpu/convolution/onednn.h"

#include <vector>

#include "tensor/cpu/shared_library.h"
#include "tensor/error.h"
#include "tensor/held_signals.h"

namespace kiln::cpu::onednn {

namespace {

bool load(Api& loaded) {
  void* library = open_library({"libdnnl.so.2"});
#define KILN_DNNL_LOAD(name)                                            \
  loaded.name = symbol<decltype(&dnnl_##name)>(library, "dnnl_" #name); \
  if (loaded.name == nullptr) return false;
  KILN_DNNL_FUNCTIONS(KILN_DNNL_LOAD)
#undef KILN_DNNL_LOAD
  return loaded.engine_create(&loaded.engine, dnnl_cpu, 0) == dnnl_success &&
         loaded.stream_create(&loaded.stream, loaded.engine, dnnl_stream_default_flags) == dnnl_success &&
         loaded.primitive_attr_create(&loaded.attributes) == dnnl_success &&
         loaded.primitive_attr_set_scratchpad_mode(loaded.attributes, dnnl_scratchpad_mode_user) ==
             dnnl_success;
}

}  // namespace

const Api* api() {
  static Api loaded;
  static const bool there = load(loaded);
  return there ? &loaded : nullptr;
}

void check(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) throw OpError(ErrorKind::OutOfMemory, "no memory left for a convolution");
  if (status != dnnl_success) throw InternalError("oneDNN says status " + std::to_string(status));
}

Memory make_memory(const dnnl_memory_desc_t& layout, void* bytes) {
  dnnl_memory_t memory = nullptr;
  check(api()->memory_create(&memory, &layout, api()->engine, bytes));
  return Memory(memory);
}

void point(const Memory& memory, const void* bytes) {
  check(api()->memory_set_data_handle(memory.get(), const_cast<void*>(bytes)));
}

Primitive::Primitive(const Description& description) {
  const OneThread one;
  dnnl_primitive_t made = nullptr;
  check(api()->primitive_create(&made, description.get()));
  handle.reset(made);
  scratch = *api()->primitive_desc_query_md(description.get(), dnnl_query_scratchpad_md, 0);
}

void Primitive::run(std::span<const dnnl_exec_arg_t> arguments, std::byte* scratchpad) const {
  std::vector<dnnl_exec_arg_t> all(arguments.begin(), arguments.end());
  Memory memory;
  if (scratch_bytes() > 0) {
    memory = make_memory(scratch, scratchpad);
    all.push_back({DNNL_ARG_SCRATCHPAD, memory.get()});
  }
  const OneThread one;
  // Version 2.6 keeps values below the stack pointer, where a handler's frame is put, and goes on with what
  // that left there.
  const HeldSignals held;
  check(api()->primitive_execute(handle.get(), api()->stream, static_cast<int>(all.size()), all.data()));
}

Port::Port(const dnnl_memory_desc_t& user, const dnnl_memory_desc_t& own, bool is_output)
    : plain(user), wanted(own) {
  if (api()->memory_desc_equal(&plain, &wanted) != 0) return;
  const dnnl_memory_desc_t& from = is_output ? wanted : plain;
  const dnnl_memory_desc_t& to = is_output ? plain : wanted;
  dnnl_primitive_desc_t made = nullptr;
  check(api()->reorder_primitive_desc_create(&made, &from, api()->engine, &to, api()->engine,
                                             api()->attributes));
  reorder.emplace(Description(made));
}

}  // namespace kiln::cpu::onednn
