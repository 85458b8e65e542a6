#include "jit/llvm/emit.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "jit/llvm/combine.h"
#include "jit/llvm/kernel_code.h"
#include "jit/llvm/loop_places.h"
#include "jit/llvm/vector_steps.h"
#include "jit/llvm/vector_types.h"
#include "tensor/compute.h"

namespace kiln::jit {
namespace {

using llvm::ConstantInt;
using llvm::Type;
using llvm::Value;

// Fields of KernelCall, by position.
enum Field : unsigned {
  kPlaces,
  kMoves,
  kNumbers,
  kCalled,
  kCount,
  kReduced,
  kLanes,
  kValid,
  kOdd,
  kStart,
  kAhead,
  kStreams,
  kHoistsLoads
};

class Emitter {
 public:
  Emitter(Bodies& bodies, const ScheduledNest& scheduled, const std::string& symbol, Annotation* annotation)
      : bodies_(bodies),
        nest_(*scheduled.nest),
        schedule_(*scheduled.schedule),
        annotation_(annotation),
        context_(bodies.module().getContext()),
        build_(context_),
        pointer_(llvm::PointerType::get(context_, 0)),
        registers_(static_cast<std::size_t>(schedule_.unroll)) {
    auto* type = llvm::FunctionType::get(build_.getInt64Ty(), {pointer_}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, bodies.module());
    for (auto& each : registers_) each.resize(nest_.body.size());
    if (annotation_ != nullptr) annotation_->begin(*function_);
  }

  llvm::Function* run() {
    entry_ = block("entry");
    build_.SetInsertPoint(entry_);
    read_call();
    failed_ = build_.getInt64(0);
    for (std::size_t i = 0; i < nest_.body.size(); ++i) {
      if (nest_.body[i].invariant) instruction(i);
    }
    bool loops = nest_.combines();
    for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
      loops = loops || !nest_.stores[k].per_row;
      if (nest_.stores[k].per_row) store_for_row(k);
    }
    if (!loops) {
      build_.CreateRet(failed_);
    } else if (hoists_loads(schedule_)) {
      hoisted_or_any_loop();
    } else {
      loop(schedule_.unroll);
    }
    return function_;
  }

 private:
  // ---- The loop ----

  // Two loops. The one that hoists loop-invariant loads leaves out what the other does for each vector:
  // asking which loads move, and computing again what is the same for the row.
  void hoisted_or_any_loop() {
    llvm::BasicBlock* const hoisted = block("steady");
    llvm::BasicBlock* const any = block("any");
    build_.CreateCondBr(hoists_loads_, hoisted, any);
    Value* const failed_before = failed_;
    build_.SetInsertPoint(hoisted);
    same_ = same_along_rows(nest_, schedule_);
    loop(schedule_.unroll);
    build_.SetInsertPoint(any);
    same_.clear();
    lanes_.clear();
    failed_ = failed_before;
    loop(1);
  }
  // Computes what is the same for the row before the loop that hoists it.
  void compute_once() {
    for (std::size_t i = 0; i < same_.size(); ++i) {
      if (is_fixed(i) && !nest_.body[i].invariant) instruction(i);
    }
  }

  void loop(int unroll) {
    unroll_ = unroll;
    turn_ = unroll * kVector;
    places_.begin(turn_, !same_.empty());
    compute_once();
    llvm::BasicBlock* const before = build_.GetInsertBlock();
    llvm::BasicBlock* const top = block("loop");
    llvm::BasicBlock* const after = block("done");
    const Turns turns = turns_of_call();
    build_.CreateBr(top);
    build_.SetInsertPoint(top);
    const auto number_if = [this](Value* is_needed) { return is_needed == nullptr ? nullptr : number(); };
    const Loop loop{before, top, after, number(), number(), number_if(turns.rest), number_if(turns.reach)};
    places_.enter(before);
    loop.begin(loop.left, turns.left);
    failed_ = loop.begin(loop.failed, failed_);
    if (loop.rest != nullptr) loop.begin(loop.rest, turns.rest);
    if (loop.reach != nullptr) loop.begin(loop.reach, turns.reach);
    start_reductions(before);
    places_.find(loop.reach, unroll_);
    body();
    go_on(loop);
    build_.SetInsertPoint(after);
    for (const Lanes& each : lanes_) {
      build_.CreateStore(each.later, each.final_later);
      build_.CreateStore(each.now, each.final_now);
    }
    build_.CreateRet(failed_);
  }

  struct Turns {
    Value* left;   // elements, in whole turns
    Value* rest;   // those behind; null where each is to be combined once: there are none
    Value* reach;  // how far the last vector of a turn is from its first one; null: it is that
  };
  // The vectors of one turn overlap where fewer elements are left. All are read before any is written.
  Turns turns_of_call() {
    if (nest_.combines()) return {count_, nullptr, nullptr};
    Value* const turn = build_.getInt64(turn_);
    Value* const rest = build_.CreateURem(count_, turn);
    Value* const whole = build_.CreateSub(count_, rest);
    if (unroll_ == 1) return {whole, rest, nullptr};
    Value* const is_one = build_.CreateIsNull(whole);
    const auto pick = [&](Value* one, Value* several) { return build_.CreateSelect(is_one, one, several); };
    return {pick(turn, whole), pick(build_.getInt64(0), rest), pick(reach_of(rest), reach_of(turn))};
  }
  Value* reach_of(Value* elements) { return build_.CreateSub(elements, build_.getInt64(kVector)); }

  struct Loop {
    llvm::BasicBlock *before, *top, *after;
    llvm::PHINode *left, *failed;  // elements, in whole turns
    llvm::PHINode *rest, *reach;   // as in Turns

    llvm::PHINode* begin(llvm::PHINode* phi, Value* value) const {
      phi->addIncoming(value, before);
      return phi;
    }
  };
  llvm::PHINode* number() { return build_.CreatePHI(build_.getInt64Ty(), 3); }

  void go_on(const Loop& loop) {
    Value* const left = build_.CreateSub(loop.left, build_.getInt64(turn_));
    const std::vector<Value*> next = places_.next();
    llvm::BasicBlock* const end = build_.GetInsertBlock();
    llvm::BasicBlock* const last = loop.rest == nullptr ? loop.after : block("last");
    build_.CreateCondBr(build_.CreateIsNotNull(left), loop.top, last);
    come_back(loop, end, {left, loop.rest, reach_of(build_.getInt64(turn_))}, next);
    for (Lanes& each : lanes_) {  // the halves take turns
      each.next->addIncoming(each.later, end);
      each.after->addIncoming(each.now, end);
    }
    if (loop.rest != nullptr) take_rest(loop, last, next);
  }
  // One more turn, which ends with the last element. Its first vector may overlap the turn before.
  void take_rest(const Loop& loop, llvm::BasicBlock* last, const std::vector<Value*>& next) {
    llvm::BasicBlock* const again = block("again");
    build_.SetInsertPoint(last);
    build_.CreateCondBr(build_.CreateIsNotNull(loop.rest), again, loop.after);
    build_.SetInsertPoint(again);
    Value* const none = build_.getInt64(0);
    Value* const behind = reach_of(loop.rest);  // below 0: it begins before
    Value* const back = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, behind, none);
    Value* const reach = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, behind, none);
    const std::vector<Value*> places = places_.moved(next, back);
    build_.CreateBr(loop.top);
    come_back(loop, again, {build_.getInt64(turn_), none, reach}, places);
  }
  void come_back(const Loop& loop, llvm::BasicBlock* from, const Turns& turns,
                 const std::vector<Value*>& places) {
    loop.left->addIncoming(turns.left, from);
    loop.failed->addIncoming(failed_, from);
    if (loop.rest != nullptr) loop.rest->addIncoming(turns.rest, from);
    if (loop.reach != nullptr) loop.reach->addIncoming(turns.reach, from);
    places_.come_back(from, places);
  }
  // Each step for all vectors before the next one: they wait beside each other.
  template <class F>
  void each_vector(F&& f) {
    for (vector_ = 0; vector_ < unroll_; ++vector_) f();
    vector_ = 0;
  }
  void body() {
    for (std::size_t i = 0; i < nest_.body.size(); ++i) {
      if (!is_fixed(i)) each_vector([this, i] { instruction(i); });
    }
    for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
      if (!nest_.stores[k].per_row && !schedule_.stores[k].streaming) each_vector([this, k] { store(k); });
    }
    if (streams_ != nullptr) store_streaming();
    for (Lanes& each : lanes_) reduce(each);
    for (std::size_t k = 0; k < nest_.columns.size(); ++k) take_into_column(k);
  }

  // ---- Reductions ----

  // Half of the lanes is one vector. `next` takes the vector at hand, then it is `after`'s turn.
  struct Lanes {
    const Reduction* reduction;
    llvm::PHINode *next, *after;
    Value *now, *later;              // the two at the end of a turn
    Value *final_now, *final_later;  // where they go at the end
  };

  void start_reductions(llvm::BasicBlock* before) {
    for (std::size_t k = 0; k < nest_.reductions.size(); ++k) {
      const Reduction& reduction = nest_.reductions[k];
      Type* const type = vector_of(reduction.accumulator);
      const std::uint64_t half_bytes = kVector * bytes_of(reduction.accumulator);
      llvm::IRBuilder<> entry(before->getTerminator());
      Value* const lanes = entry.CreateConstGEP1_64(entry.getInt8Ty(), lanes_place_, k * kLanesBytes);
      const auto half = [&](Value* of, Value* upper) {
        return entry.CreateGEP(entry.getInt8Ty(), of, entry.CreateMul(upper, entry.getInt64(half_bytes)));
      };
      Value* const other = entry.CreateXor(odd_, entry.getInt64(1));
      Value* const first = half(lanes, odd_);
      Value* const second = half(lanes, other);
      Value* const start = entry.CreateConstGEP1_64(entry.getInt8Ty(), start_place_, k * kLanesBytes);
      Lanes made{&reduction, build_.CreatePHI(type, 2), build_.CreatePHI(type, 2), nullptr, nullptr, nullptr,
                 nullptr};
      made.next->addIncoming(entry.CreateLoad(type, half(start, odd_)), before);
      made.after->addIncoming(entry.CreateLoad(type, half(start, other)), before);
      // After an odd number of turns they have changed places.
      Value* const turns = entry.CreateLShr(count_, entry.getInt64(4));
      static_assert(kVector == 1 << 4);
      Value* const swapped = entry.CreateTrunc(turns, entry.getInt1Ty());
      made.final_now = entry.CreateSelect(swapped, first, second);
      made.final_later = entry.CreateSelect(swapped, second, first);
      lanes_.push_back(made);
    }
  }

  void reduce(Lanes& lanes) {
    const Reduction& reduction = *lanes.reduction;
    at_line(reduction_line(nest_, static_cast<std::size_t>(&reduction - nest_.reductions.data())));
    Value* const x = in(reduction.value, compute_of(reduction.accumulator));
    Value* const taken = combined(build_, reduction, lanes.next, x);
    lanes.now = build_.CreateSelect(valid_, taken, lanes.next);
    lanes.later = lanes.after;
  }

  void take_into_column(std::size_t index) {
    const Reduction& reduction = nest_.columns[index];
    at_line(column_line(nest_, index));
    Value* const x = in(reduction.value, compute_of(reduction.accumulator));
    Value* const place = places_.at(nest_.loads.size() + nest_.stores.size() + index, 0);
    const llvm::Align align(bytes_of(reduction.accumulator));
    Value* const before = build_.CreateAlignedLoad(vector_of(reduction.accumulator), place, align);
    build_.CreateAlignedStore(combined(build_, reduction, before, x), place, align);
  }

  void store_for_row(std::size_t index) {
    const Store& store = nest_.stores[index];
    at_line(store_line(nest_, index));
    Value* const value = value_of(store.value);
    build_.CreateAlignedStore(build_.CreateExtractElement(value, std::uint64_t{0}), place_of_store(index),
                              llvm::Align(bytes_of(store.dtype)));
  }

  void store(std::size_t index) {
    const Store& store = nest_.stores[index];
    at_line(store_line(nest_, index));
    Value* const value = value_of(store.value);
    Value* const place = place_of_store(index);
    if (schedule_.stores[index].ahead) fetch_ahead(place, store.dtype);
    build_.CreateAlignedStore(value, place, llvm::Align(bytes_of(store.dtype)));
  }
  // The call decides whether the marked stores stream.
  void store_streaming() {
    llvm::BasicBlock* const past = block("past_caches");
    llvm::BasicBlock* const plain = block("plain");
    llvm::BasicBlock* const stored = block("stored");
    build_.CreateCondBr(streams_, past, plain);
    build_.SetInsertPoint(past);
    each_streaming_store([this](std::size_t k) { store_streaming(k); });
    build_.CreateBr(stored);
    build_.SetInsertPoint(plain);
    each_streaming_store([this](std::size_t k) { store(k); });
    build_.CreateBr(stored);
    build_.SetInsertPoint(stored);
  }
  void store_streaming(std::size_t index) {
    const Store& store = nest_.stores[index];
    constexpr std::uint64_t kLine = 64;
    const llvm::Align align(std::min(kLine, kVector * bytes_of(store.dtype)));
    at_line(store_line(nest_, index));
    build_.CreateAlignedStore(value_of(store.value), place_of_store(index), align)
        ->setMetadata(llvm::LLVMContext::MD_nontemporal,
                      llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(build_.getInt32(1))));
  }
  template <class F>
  void each_streaming_store(F&& f) {
    for (std::size_t k = 0; k < nest_.stores.size(); ++k) {
      if (schedule_.stores[k].streaming) each_vector([&] { f(k); });
    }
  }
  Value* place_of_store(std::size_t index) const { return places_.at(nest_.loads.size() + index, vector_); }

  // ---- What the kernel is given ----

  void read_call() {
    Value* const call = function_->getArg(0);
    const auto field = [&](Field index, Type* type) {
      Value* const place = build_.CreateConstGEP1_64(build_.getInt64Ty(), call, index);
      return build_.CreateLoad(type, place);
    };
    Value* const places = field(kPlaces, pointer_);
    Value* const moves = field(kMoves, pointer_);
    numbers_ = field(kNumbers, pointer_);
    calls_.begin(entry_, field(kCalled, pointer_));
    count_ = field(kCount, build_.getInt64Ty());
    if (nest_.row_rank > 0) {
      reduced_ = field(kReduced, pointer_);
      ahead_ = field(kAhead, build_.getInt64Ty());
    }
    if (!nest_.reductions.empty()) {
      lanes_place_ = field(kLanes, pointer_);
      start_place_ = field(kStart, pointer_);
      odd_ = field(kOdd, build_.getInt64Ty());
      valid_ = valid_lanes(field(kValid, build_.getInt64Ty()));
    }
    if (std::any_of(schedule_.stores.begin(), schedule_.stores.end(),
                    [](const StoreSchedule& each) { return each.streaming; }))
      streams_ = build_.CreateIsNotNull(field(kStreams, build_.getInt64Ty()));
    if (hoists_loads(schedule_))
      hoists_loads_ = build_.CreateIsNotNull(field(kHoistsLoads, build_.getInt64Ty()));
    const auto add = [&](DType dtype, bool goes_on, Value* mask) {
      places_.add(element(places, pointer_, places_.count()), mask, bytes_of(dtype), goes_on);
    };
    for (std::size_t k = 0; k < nest_.loads.size(); ++k) {
      const Load& load = nest_.loads[k];
      add(load.dtype, !load.invariant, load.invariant ? nullptr : element(moves, build_.getInt64Ty(), k));
    }
    for (const Store& each : nest_.stores) add(each.dtype, !each.per_row, nullptr);
    for (const Reduction& each : nest_.columns) add(each.accumulator, true, nullptr);
  }
  // Bit j: element j counts.
  Value* valid_lanes(Value* count) {
    std::vector<llvm::Constant*> numbers;
    for (std::uint32_t j = 0; j < kVector; ++j) numbers.push_back(build_.getInt32(j));
    Value* const limit = build_.CreateTrunc(count, build_.getInt32Ty());
    return build_.CreateICmpULT(llvm::ConstantVector::get(numbers), splat(limit));
  }
  Value* element(Value* array, Type* type, std::size_t index) {
    return build_.CreateLoad(type, build_.CreateConstGEP1_64(type, array, index));
  }

  // ---- Instructions ----

  void instruction(std::size_t index) {
    const Instruction& step = nest_.body[index];
    const auto make = [&]() -> Value* {
      switch (step.kind) {
        case Instruction::Kind::Read:
          return load(step, is_fixed(index));
        case Instruction::Kind::Constant:
          return splat(constant(step));
        case Instruction::Kind::Symbol:
          return splat(element(numbers_, build_.getInt64Ty(), static_cast<std::size_t>(step.index)));
        case Instruction::Kind::Reduced:
          return splat(reduced(step));
        case Instruction::Kind::Apply:
          return apply(step, index);
        case Instruction::Kind::Convert:
          break;
      }
      return steps_.converted(elements(step.operands[0]), step.dtype);
    };
    at_line(index);
    registers_[vector_of_turn(index)][index] = make();
  }
  // What is made from here on belongs to this line of the nest.
  void at_line(std::size_t line) {
    if (annotation_ != nullptr) annotation_->line(build_, line);
  }

  Value* reduced(const Instruction& step) {
    Value* const place = build_.CreateConstGEP1_64(build_.getInt8Ty(), reduced_,
                                                   static_cast<std::uint64_t>(step.index) * kSlotBytes);
    return build_.CreateLoad(scalar_of(step.dtype), place);
  }

  Value* load(const Instruction& step, bool is_fixed) {
    const auto index = static_cast<std::size_t>(step.index);
    const llvm::Align align(bytes_of(step.dtype));
    Value* const place = places_.at(index, vector_);
    if (is_fixed) return splat(build_.CreateAlignedLoad(scalar_of(step.dtype), place, align));
    if (schedule_.loads[index].ahead) fetch_ahead(place, step.dtype);
    if (schedule_.loads[index].hoisted) return element_or_vector(place, step.dtype, places_.moves(index));
    return build_.CreateAlignedLoad(vector_of(step.dtype), place, align);
  }
  // A vector of one element that was just written element by element would stop the processor until all
  // stores before are done.
  Value* element_or_vector(Value* place, DType dtype, Value* moves) {
    const llvm::Align align(bytes_of(dtype));
    llvm::BasicBlock* const one = block("one");
    llvm::BasicBlock* const many = block("many");
    llvm::BasicBlock* const both = block("both");
    build_.CreateCondBr(build_.CreateIsNull(moves), one, many);
    build_.SetInsertPoint(one);
    Value* const element = splat(build_.CreateAlignedLoad(scalar_of(dtype), place, align));
    build_.CreateBr(both);
    build_.SetInsertPoint(many);
    Value* const vector = build_.CreateAlignedLoad(vector_of(dtype), place, align);
    build_.CreateBr(both);
    build_.SetInsertPoint(both);
    return joined(build_, element, one, vector, many);
  }
  // The processor itself does not see that rows follow each other, one page after the other.
  void fetch_ahead(Value* place, DType dtype) {
    Value* const bytes = build_.CreateMul(ahead_, build_.getInt64(bytes_of(dtype)));
    constexpr std::uint32_t kRead = 0, kNearest = 3, kData = 1;
    build_.CreateIntrinsic(build_.getVoidTy(), llvm::Intrinsic::prefetch,
                           {build_.CreateGEP(build_.getInt8Ty(), place, bytes), build_.getInt32(kRead),
                            build_.getInt32(kNearest), build_.getInt32(kData)});
  }

  llvm::Constant* constant(const Instruction& step) {
    llvm::Constant* const bits =
        ConstantInt::get(context_, llvm::APInt(static_cast<unsigned>(bytes_of(step.dtype) * 8),
                                               static_cast<std::uint64_t>(step.bits), true));
    return llvm::ConstantExpr::getBitCast(bits, scalar_of(step.dtype));
  }

  // A register as the arithmetic reads it.
  Value* in(Register from, Compute compute) { return steps_.in(elements(from), compute); }

  Value* apply(const Instruction& step, std::size_t index) {
    std::vector<VectorSteps::Elements> operands;
    for (const Register from : step.operands) operands.push_back(elements(from));
    llvm::BasicBlock* const at = build_.GetInsertBlock();
    llvm::Instruction* const before = at->empty() ? nullptr : &at->back();
    const BodyCalls::Result result = steps_.apply(step, index, operands);
    if (nest_.contracts && work_of(*step.op) == 1) allow_contraction(*at, before);
    if (step.failure >= 0) {
      Value* const is_bad = build_.CreateICmpNE(result.bad, build_.getInt32(0));
      Value* const bit = build_.CreateShl(build_.CreateZExt(is_bad, build_.getInt64Ty()),
                                          static_cast<std::uint64_t>(step.failure));
      failed_ = build_.CreateOr(failed_, bit);
    }
    return result.value;
  }

  // Products and sums of the program behind this instruction may become multiply-adds. Those within functions
  // such as exp may not, since some are errors of roundings.
  static void allow_contraction(llvm::BasicBlock& block, llvm::Instruction* before) {
    auto at = before == nullptr ? block.begin() : std::next(before->getIterator());
    for (; at != block.end(); ++at) {
      const unsigned code = at->getOpcode();
      if (code == llvm::Instruction::FAdd || code == llvm::Instruction::FSub ||
          code == llvm::Instruction::FMul)
        at->setHasAllowContract(true);
    }
  }

  // ---- Values ----

  Value* splat(Value* element) { return build_.CreateVectorSplat(kVector, element); }
  // Is it computed before the loop?
  bool is_fixed(std::size_t index) const {
    return nest_.body[index].invariant || (!same_.empty() && same_[index]);
  }
  std::size_t vector_of_turn(std::size_t index) const {
    return is_fixed(index) ? 0 : static_cast<std::size_t>(vector_);
  }
  Value* value_of(Register r) const {
    const auto index = static_cast<std::size_t>(r);
    return registers_[vector_of_turn(index)][index];
  }
  VectorSteps::Elements elements(Register r) const { return {value_of(r), dtype(r)}; }
  DType dtype(Register r) const { return nest_.body[static_cast<std::size_t>(r)].dtype; }

  Type* scalar_of(DType dtype) { return scalar_type(context_, dtype); }
  Type* vector_of(DType dtype) { return vector_type(context_, dtype); }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

  Bodies& bodies_;
  const LoopNest& nest_;
  const NestSchedule& schedule_;
  Annotation* annotation_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> build_;
  llvm::PointerType* pointer_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  BodyCalls calls_{bodies_, build_};
  VectorSteps steps_{bodies_, build_, calls_};
  LoopPlaces places_{build_};  // of loads, stores and columns, in this order
  Value* numbers_ = nullptr;
  Value* count_ = nullptr;
  Value* failed_ = nullptr;
  Value* reduced_ = nullptr;
  Value* lanes_place_ = nullptr;
  Value* start_place_ = nullptr;
  Value* odd_ = nullptr;
  Value* ahead_ = nullptr;
  Value* valid_ = nullptr;
  Value* streams_ = nullptr;  // whether the call streams; of a nest with streaming stores
  std::vector<Lanes> lanes_;
  Value* hoists_loads_ = nullptr;  // whether the call hoists; of a nest with hoisted loads
  std::vector<bool> same_;       // by instruction: is it the same for the row? In the loop that hoists alone
  int unroll_ = 1;               // vectors of a turn, in the loop that is being emitted
  std::int64_t turn_ = kVector;  // elements of it
  int vector_ = 0;               // of the turn, that is being emitted
  std::vector<std::vector<Value*>> registers_;  // by vector of a turn, then by instruction
};

}  // namespace

llvm::Function* emit(Bodies& bodies, const ScheduledNest& scheduled, const std::string& symbol,
                     Annotation* annotation) {
  return Emitter(bodies, scheduled, symbol, annotation).run();
}

}  // namespace kiln::jit
