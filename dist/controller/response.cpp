#include "dist/controller/response.h"

namespace kiln::dist {

void write(Writer& writer, const Response& response) {
  writer.put(response.number);
  writer.put(response.schedule);
  writer.put(static_cast<std::uint32_t>(response.performed.size()));
  for (const Performed& each : response.performed) {
    writer.put(each.id);
    writer.put(each.occurrence);
    writer.put(each.agreement.has_value());
    if (each.agreement) write(writer, *each.agreement);
  }
  if (!response.is_refusal()) return;
  write(writer, response.failed);
  writer.put(response.failed_set);
  writer.put(response.refusal.kind);
  writer.put(response.refusal.message);
  writer.put(response.refusal.help);
}

Response read_response(Reader& reader) {
  Response response;
  response.number = reader.get<std::uint64_t>();
  response.schedule = reader.get<std::uint64_t>();
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    Performed& each = response.performed.emplace_back();
    each.id = reader.get<std::uint64_t>();
    each.occurrence = reader.get<std::uint64_t>();
    if (reader.get<bool>()) each.agreement = read_agreement(reader);
  }
  if (!response.is_refusal()) return response;
  response.failed = read_name(reader);
  response.failed_set = reader.get<int>();
  response.refusal.kind = reader.get<ErrorKind>();
  response.refusal.message = reader.text();
  response.refusal.help = reader.text();
  return response;
}

}  // namespace kiln::dist
