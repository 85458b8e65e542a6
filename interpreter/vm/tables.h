// Owns the list of tables that files of interpreter/host/ export beyond natives.h.
#pragma once

#include <span>

#include "interpreter/values/natives.h"

namespace kiln::interp {

std::span<const NativeDef> iteration_natives();     // enumerate zip map filter sorted reversed iter next
std::span<const NativeDef> compare_natives();       // allclose equal
std::span<const NativeDef> dtype_natives();         // promote_types result_type
std::span<const NativeDef> reverse_mode_natives();  // grad value_and_grad vjp linearize
std::span<const NativeDef> jacobian_natives();      // jvp jacrev jacfwd hessian
std::span<const NativeDef> vmap_natives();
std::span<const NativeDef> module_state_natives();     // functional_call functionalize checkpoint …
std::span<const NativeDef> graph_natives();            // parse_graph
std::span<const NativeDef> onnx_import_natives();      // import_onnx run_onnx
std::span<const NativeDef> compile_natives();          // jit eager
std::span<const NativeDef> graph_call_natives();       // graphs compile_info run_pass diff_graphs
std::span<const NativeDef> onnx_export_natives();      // export
std::span<const NativeDef> library_natives();          // library_payload
std::span<const NativeDef> library_type_natives();     // library_types
std::span<const NativeDef> onnx_program_natives();     // is_in_onnx_export onnx_register
std::span<const NativeDef> json_natives();             // parse_json json_text
std::span<const NativeDef> regex_natives();            // regex_matches regex_names
std::span<const NativeDef> process_natives();          // run_process
std::span<const NativeDef> calendar_natives();         // calendar_parts calendar_seconds calendar_text
std::span<const NativeDef> rank_natives();             // what `dist` is made of
std::span<const NativeDef> shape_natives();            // eval_shape
std::span<const NativeDef> report_natives();           // stages why hot passes
std::span<const NativeDef> profiling_natives();        // profile
std::span<const NativeDef> sparse_gradient_natives();  // sparse_rows
std::span<const NativeDef> memory_natives();           // memory num_threads set_num_threads

// The kinds of errors that a program can throw, each a Type; of one kind, null when there is no such.
std::span<const Value> error_types();
const Value* error_type(std::string_view kind);

std::span<const NativeDef> list_methods();
std::span<const NativeDef> tuple_methods();
std::span<const NativeDef> str_methods();
std::span<const NativeDef> dict_methods();
std::span<const NativeDef> set_methods();
std::span<const NativeDef> tensor_methods();           // all of them
std::span<const NativeDef> storage_methods();          // resize_ set_ detach_: part of the above
std::span<const NativeDef> sparse_gradient_methods();  // is_sparse indices values to_dense: part of them
std::span<const NativeDef> graph_methods();
std::span<const NativeDef> file_methods();
std::span<const NativeDef> generator_methods();
std::span<const NativeDef> instance_methods();  // of all structs
std::span<const NativeDef> plain_methods(
    Tag tag);  // of ranges, slices, functions, errors, dtypes, devices, ints …

// Host functions whose names ops have too, each with the op's name: called with a tensor they are the op.
std::span<const NativeDef> shared_natives();

}  // namespace kiln::interp
