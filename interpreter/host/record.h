// Owns values that only tell: an instance with named fields, printed as one line of text.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "interpreter/values/objects.h"

namespace kiln::interp::host {

// A struct of the host library with these fields, of which `text` is how its instances print. The type lives
// as long as the process: make one per kind of record.
Value record_type(std::string name, std::string documentation, std::initializer_list<const char*> fields,
                  std::initializer_list<NativeDef> methods = {});
// One value per field, in order.
Value make_record(const Value& type, std::vector<Value> fields);

// A list with a value for each row.
template <class Rows, class F>
Value list_of(const Rows& rows, const F& value_of) {
  std::vector<Value> values;
  for (const auto& each : rows) values.push_back(value_of(each));
  return make<List>(std::move(values));
}

inline Value list_of_texts(const std::vector<std::string>& texts) {
  return list_of(texts, [](const std::string& each) { return Value(each); });
}

}  // namespace kiln::interp::host
