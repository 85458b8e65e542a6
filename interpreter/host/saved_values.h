// Owns what files hold as values of the language: trees of tensors by dotted names, and tables.
#pragma once

#include <string_view>

#include "interpreter/files/formats.h"
#include "interpreter/values/value.h"

namespace kiln::interp::host {

// The leaves of a tree of structs, lists and dicts by dotted name; numbers are 0-d tensors, none is left out.
// TypeError for what has no tensors, ValueError for two leaves of one name, RecursionError for a tree that
// contains itself.
files::NamedTensors leaves_of(const Value& tree);
Value dict_of(const files::NamedTensors& tensors);

// The one tensor that a file of this format holds; TypeError for another value.
kiln::Tensor lone_tensor(const Value& value, std::string_view format);

// With names a dict of columns; without, a tensor of rows when all columns are numbers, else a list of
// columns.
Value table_value(const files::Table& table);
// Of a dict of columns, or a tensor of one or two dimensions. TypeError or ShapeError for what is no table.
files::Table table_from(const Value& value);

}  // namespace kiln::interp::host
