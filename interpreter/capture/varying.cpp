#include "interpreter/capture/varying.h"

#include <algorithm>

#include "interpreter/capture/loops.h"
#include "interpreter/values/code.h"
#include "interpreter/vm/linear.h"
#include "interpreter/vm/registers.h"

namespace kiln::interp::capture {

namespace {

void note_sizes(Varying& varying, const lang::Annotation& annotation, const std::string& path,
                const Tensor& x) {
  const auto known = [&varying](std::string_view name) -> std::optional<Dim> {
    const auto is_it = [name](const auto& each) { return each.second == name; };
    const bool named = std::any_of(varying.names.begin(), varying.names.end(), is_it);
    return named ? std::optional(Dim::symbol(name)) : std::nullopt;
  };
  for (std::size_t i = 0; i < annotation.dims.size(); ++i) {
    const lang::DimAnnotation& dim = annotation.dims[i];
    const auto axis = axis_of(annotation, i, static_cast<std::size_t>(x.rank()));
    if (!axis || dim.kind != lang::DimAnnotation::Kind::Expr || dim.expr->kind == lang::ExprKind::Int)
      continue;
    const std::pair place{path, static_cast<int>(*axis)};
    if (dim.expr->kind == lang::ExprKind::Name) {
      varying.names.emplace(place, lang::as<lang::NameExpr>(*dim.expr).name);
    } else {
      const auto told = linear(*dim.expr, known);
      varying.expressions.emplace(place, told && same(told->factor, 0) ? told->rest : Dim());
    }
    varying.sizes.emplace(place, x.size(static_cast<int>(*axis)));
  }
}

}  // namespace

// Sizes with a name in the signature vary from the start.
void note_names(Varying& varying, const Frame& frame) {
  if (frame.place() != 0) return;
  for (std::size_t k = 0; k < frame.code->parameters.size(); ++k) {
    const lang::Annotation* annotation = frame.code->parameters[k].annotation;
    if (annotation == nullptr || !annotation->has_dims || !frame.base[k].is(Tag::Tensor)) continue;
    const Tensor& x = frame.base[k].tensor();
    if (!fits_rank(*annotation, static_cast<std::size_t>(x.rank()))) continue;
    Source source;
    source.kind = Source::Kind::Register;
    source.number = static_cast<std::int64_t>(k);
    Sources sources;
    note_sizes(varying, *annotation, sources.path(sources.add(std::move(source))), x);
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
