#include "interpreter/capture/varying.h"

#include "interpreter/capture/loops.h"
#include "interpreter/values/code.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

// Sizes with a name in the signature vary from the start.
void note_names(Varying& varying, const Frame& frame) {
  if (frame.place() != 0) return;
  for (std::size_t k = 0; k < frame.code->parameters.size(); ++k) {
    const lang::Annotation* annotation = frame.code->parameters[k].annotation;
    if (annotation == nullptr || !annotation->has_dims || !frame.base[k].is(Tag::Tensor)) continue;
    const Tensor& x = frame.base[k].tensor();
    if (static_cast<std::size_t>(x.rank()) != annotation->dims.size()) continue;
    Source source;
    source.kind = Source::Kind::Register;
    source.number = static_cast<std::int64_t>(k);
    Sources sources;
    const std::string path = sources.path(sources.add(std::move(source)));
    for (int d = 0; d < x.rank(); ++d) {
      const lang::DimAnnotation& dim = annotation->dims[static_cast<std::size_t>(d)];
      if (dim.kind != lang::DimAnnotation::Kind::Expr || dim.expr->kind != lang::ExprKind::Name) continue;
      varying.names.emplace(std::pair{path, d}, lang::as<lang::NameExpr>(*dim.expr).name);
      varying.sizes.emplace(std::pair{path, d}, x.size(d));
    }
  }
}

bool note_varying(Varying& varying, const Entry& entry, SourceValues& found, Numbers& numbers) {
  bool any = false;
  for (const Guard& guard : entry.guards) {
    if (guard.holds(found, numbers)) continue;
    const Value* now = guard.source >= 0 ? found[guard.source] : nullptr;
    if (now == nullptr) continue;
    const std::string path = entry.sources.path(guard.source);
    if (guard.kind == Guard::Kind::Equal && now->tag() == guard.value.tag() &&
        (now->is(Tag::Int) || now->is(Tag::Float))) {
      varying.numbers.emplace(path, guard.value);
      any = true;
    } else if (guard.kind == Guard::Kind::Tensor && now->is(Tag::Tensor)) {
      const Tensor& x = now->tensor();
      if (static_cast<std::size_t>(x.rank()) != guard.tensor.sizes.size()) continue;
      for (int d = 0; d < x.rank(); ++d) {
        const Dim was = guard.tensor.sizes[static_cast<std::size_t>(d)];
        if (was == x.size(d) || was < 2 || x.size(d) < 2) continue;
        varying.sizes.emplace(std::pair{path, d}, was);
        any = true;
      }
    }
  }
  return any;
}

namespace {

void note_written(Varying& varying, const Frame& frame, std::size_t pc) {
  Sources sources;
  const auto note = [&](const Value& v, Source source) {
    if (v.is(Tag::Int) || v.is(Tag::Float))
      varying.numbers.emplace(sources.path(sources.add(std::move(source))), v);
  };
  Source source;
  if (frame.code->opcode_at(pc) == Opcode::SetGlobal) {
    source.kind = Source::Kind::Slot;
    source.key = Value(static_cast<Object*>(&frame.module()));
    source.number = frame.code->instructions[pc].b;
    return note(frame.module().slots[static_cast<std::size_t>(source.number)], source);
  }
  source.kind = Source::Kind::Register;
  if (frame.code->opcode_at(pc) == Opcode::SetCell) {
    source.number = frame.code->instructions[pc].b;
    const Value& cell = frame.base[source.number];
    source.parent = sources.add(source);
    source.kind = Source::Kind::Cell;
    source.number = 0;
    return cell.is(Tag::Cell) ? note(cell.as<Cell>().value, source) : void();
  }
  each_write(*frame.code, pc, [&](std::uint32_t r) {
    source.number = r;
    note(frame.base[r], source);
  });
}

}  // namespace

// Numbers that the iterations of a loop change are not worth fixing even once.
void note_carried(Varying& varying, const Frame& frame) {
  const Code& code = *frame.code;
  for (const Loop& loop : code.loops().around(frame.place())) {
    if (!code.is_marked(loop.top)) continue;
    varying.in_loop = true;
    for (std::size_t pc = loop.top; pc < loop.end; ++pc) note_written(varying, frame, pc);
    return;
  }
}

}  // namespace kiln::interp::capture
