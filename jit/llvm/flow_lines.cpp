#include "jit/llvm/flow_lines.h"

#include "jit/llvm/kernel_code.h"
#include "jit/llvm/vector_types.h"

namespace kiln::jit {
namespace {

// So many elements behind `place`.
llvm::Value* ahead(llvm::IRBuilder<>& build, llvm::Type* type, llvm::Value* place, llvm::Value* elements) {
  return build.CreateGEP(type, place, elements);
}

// The places of kVector elements, from four of which the processor's addresses reach the others.
std::vector<llvm::Value*> places_of(FlowEmitter& emit, const FlowLine& line, llvm::Value* index) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Type* const type = emit.element_type(line.dtype);
  constexpr int kReached = 4;
  llvm::Value* place = ahead(build, type, line.first, build.CreateMul(index, line.stride));
  llvm::Value* const far = build.CreateMul(line.stride, emit.int_value(kReached));
  std::vector<llvm::Value*> places;
  for (int k = 0; k < kVector; ++k) {
    const int near = k % kReached;
    if (k > 0 && near == 0) place = ahead(build, type, place, far);
    places.push_back(
        near == 0 ? place : ahead(build, type, place, build.CreateMul(line.stride, emit.int_value(near))));
  }
  return places;
}

// Is there an instruction that loads elements from some of 16 places? What takes vectors of 16 halves has it.
bool gathers(FlowEmitter& emit, DType dtype) {
  return emit.bodies().halves() == HalfVectors::Of16 && bytes_of(dtype) >= 4;
}

// Little code for what runs once a line.
llvm::Value* gathered_rest(FlowEmitter& emit, const FlowLine& line, llvm::Value* index, llvm::Value* rest) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Type* const type = emit.element_type(line.dtype);
  const llvm::Align align(bytes_of(line.dtype));
  std::vector<llvm::Constant*> numbers;
  for (std::uint64_t k = 0; k < kVector; ++k) numbers.push_back(build.getInt64(k));
  llvm::Value* const first = ahead(build, type, line.first, build.CreateMul(index, line.stride));
  llvm::Value* const steps =
      build.CreateMul(llvm::ConstantVector::get(numbers), build.CreateVectorSplat(kVector, line.stride));
  llvm::Value* const absent = build.CreateVectorSplat(kVector, build.CreateAlignedLoad(type, first, align));
  return build.CreateMaskedGather(vector_type(build.getContext(), line.dtype),
                                  ahead(build, type, first, steps), align, present(emit, rest), absent);
}

// Element by element. Places behind the last element become that of the first one.
llvm::Value* gathered(FlowEmitter& emit, const FlowLine& line, llvm::Value* index, llvm::Value* rest) {
  if (rest != nullptr && gathers(emit, line.dtype)) return gathered_rest(emit, line, index, rest);
  llvm::IRBuilder<>& build = emit.build();
  const std::vector<llvm::Value*> places = places_of(emit, line, index);
  llvm::Value* elements = llvm::PoisonValue::get(vector_type(build.getContext(), line.dtype));
  for (std::size_t k = 0; k < places.size(); ++k) {
    llvm::Value* place = places[k];
    if (k > 0 && rest != nullptr) {
      llvm::Value* const is_there = build.CreateICmpULT(emit.int_value(static_cast<std::int64_t>(k)), rest);
      place = build.CreateSelect(is_there, place, places[0]);
    }
    llvm::Value* const element =
        build.CreateAlignedLoad(emit.element_type(line.dtype), place, llvm::Align(bytes_of(line.dtype)));
    elements = build.CreateInsertElement(elements, element, k);
  }
  return elements;
}

// Elements that follow each other in memory, the last one first.
llvm::Value* load_backwards(FlowEmitter& emit, const FlowLine& line, llvm::Value* index) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* const last = build.CreateAdd(index, emit.int_value(kVector - 1));
  llvm::Value* const place = ahead(build, emit.element_type(line.dtype), line.first, build.CreateNeg(last));
  return build.CreateVectorReverse(build.CreateAlignedLoad(vector_type(build.getContext(), line.dtype), place,
                                                           llvm::Align(bytes_of(line.dtype))));
}

// What was spread over memory as one vector is read from there element by element.
void scatter_some(FlowEmitter& emit, const FlowLine& line, llvm::Value* index, llvm::Value* rest,
                  llvm::Value* elements) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Type* const type = emit.element_type(line.dtype);
  const llvm::Align align(bytes_of(line.dtype));
  llvm::Value* const kept = emit.stack(elements->getType());
  build.CreateStore(elements, kept);
  llvm::Value* const first = ahead(build, type, line.first, build.CreateMul(index, line.stride));
  emit.loop(rest, [&](llvm::Value* k) {
    llvm::Value* const element = build.CreateAlignedLoad(type, ahead(build, type, kept, k), align);
    build.CreateAlignedStore(element, ahead(build, type, first, build.CreateMul(k, line.stride)), align);
  });
}

}  // namespace

bool FlowLine::is_number(const llvm::Value* value, std::int64_t number) {
  const auto* const constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getSExtValue() == number;
}

FlowLine line_of(FlowEmitter& emit, DType dtype, llvm::Value* first, llvm::Value* stride) {
  if (!FlowLine::is_number(stride, 0)) return {dtype, first, stride, nullptr};
  llvm::Type* const type = emit.element_type(dtype);
  return {dtype, first, stride, emit.build().CreateAlignedLoad(type, first, llvm::Align(bytes_of(dtype)))};
}

Round carried_loop(FlowEmitter& emit, llvm::Value* begin, llvm::Value* end, std::int64_t step,
                   const Round& start, const std::function<Round(llvm::Value* index, const Round&)>& body) {
  llvm::IRBuilder<>& build = emit.build();
  return only_if(emit, build.CreateICmpSLT(begin, end), start, [&] {
    llvm::BasicBlock* const before = build.GetInsertBlock();
    llvm::BasicBlock* const top = emit.block("turn");
    llvm::BasicBlock* const after = emit.block("turned");
    build.CreateBr(top);
    build.SetInsertPoint(top);
    const auto carried = [&](llvm::Value* value) {
      llvm::PHINode* const phi = build.CreatePHI(value->getType(), 2);
      phi->addIncoming(value, before);
      return phi;
    };
    llvm::PHINode* const index = carried(begin);
    std::vector<llvm::PHINode*> phis;
    for (llvm::Value* const each : start) phis.push_back(carried(each));
    const Round next = body(index, Round(phis.begin(), phis.end()));
    llvm::Value* const next_index = build.CreateAdd(index, emit.int_value(step));
    llvm::BasicBlock* const last = build.GetInsertBlock();
    build.CreateCondBr(build.CreateICmpSLT(next_index, end), top, after);
    index->addIncoming(next_index, last);
    for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], last);
    build.SetInsertPoint(after);
    return next;
  });
}

Round only_if(FlowEmitter& emit, llvm::Value* condition, const Round& otherwise,
              const std::function<Round()>& body) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::BasicBlock* const before = build.GetInsertBlock();
  llvm::BasicBlock* const then = emit.block("then");
  llvm::BasicBlock* const after = emit.block("after");
  build.CreateCondBr(condition, then, after);
  build.SetInsertPoint(then);
  const Round made = body();
  llvm::BasicBlock* const end = build.GetInsertBlock();
  build.CreateBr(after);
  build.SetInsertPoint(after);
  Round values;
  for (std::size_t i = 0; i < otherwise.size(); ++i) {
    llvm::PHINode* const phi = build.CreatePHI(otherwise[i]->getType(), 2);
    phi->addIncoming(otherwise[i], before);
    phi->addIncoming(made[i], end);
    values.push_back(phi);
  }
  return values;
}

llvm::Value* present(FlowEmitter& emit, llvm::Value* rest) {
  llvm::IRBuilder<>& build = emit.build();
  std::vector<llvm::Constant*> numbers;
  for (std::uint32_t j = 0; j < kVector; ++j) numbers.push_back(build.getInt32(j));
  llvm::Value* const limit = build.CreateTrunc(rest, build.getInt32Ty());
  return build.CreateICmpULT(llvm::ConstantVector::get(numbers), build.CreateVectorSplat(kVector, limit));
}

llvm::Value* load_elements(FlowEmitter& emit, const FlowLine& line, llvm::Value* index, llvm::Value* rest) {
  llvm::IRBuilder<>& build = emit.build();
  if (line.element != nullptr) return build.CreateVectorSplat(kVector, line.element);
  if (rest == nullptr && FlowLine::is_number(line.stride, -1)) return load_backwards(emit, line, index);
  if (!line.is_dense()) return gathered(emit, line, index, rest);
  llvm::Type* const type = emit.element_type(line.dtype);
  llvm::Type* const vector = vector_type(build.getContext(), line.dtype);
  const llvm::Align align(bytes_of(line.dtype));
  llvm::Value* const place = ahead(build, type, line.first, index);
  if (rest == nullptr) return build.CreateAlignedLoad(vector, place, align);
  llvm::Value* const first = build.CreateVectorSplat(kVector, build.CreateAlignedLoad(type, place, align));
  return build.CreateMaskedLoad(vector, place, align, present(emit, rest), first);
}

void store_elements(FlowEmitter& emit, const FlowLine& line, llvm::Value* index, llvm::Value* rest,
                    llvm::Value* elements) {
  llvm::IRBuilder<>& build = emit.build();
  const llvm::Align align(bytes_of(line.dtype));
  if (line.is_dense()) {
    llvm::Value* const place = ahead(build, emit.element_type(line.dtype), line.first, index);
    if (rest == nullptr)
      build.CreateAlignedStore(elements, place, align);
    else
      build.CreateMaskedStore(elements, place, align, present(emit, rest));
    return;
  }
  if (rest != nullptr) return scatter_some(emit, line, index, rest, elements);
  const std::vector<llvm::Value*> places = places_of(emit, line, index);
  for (std::size_t k = 0; k < places.size(); ++k)
    build.CreateAlignedStore(build.CreateExtractElement(elements, k), places[k], align);
}

void each_vector(FlowEmitter& emit, llvm::Value* count,
                 const std::function<void(llvm::Value* index, llvm::Value* rest)>& f) {
  llvm::IRBuilder<>& build = emit.build();
  llvm::Value* const whole = build.CreateAnd(count, emit.int_value(-kVector));
  carried_loop(emit, emit.int_value(0), whole, kVector, {}, [&](llvm::Value* index, const Round&) {
    f(index, nullptr);
    return Round();
  });
  only_if(emit, build.CreateICmpSLT(whole, count), {}, [&] {
    f(whole, build.CreateSub(count, whole));
    return Round();
  });
}

}  // namespace kiln::jit
