// The order of blocks, parameters, branches and exits of a flow.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <set>

#include "jit/llvm/flow_values.h"
#include "jit/llvm/vector_types.h"

namespace kiln::jit {

FlowEmitter::FlowEmitter(Bodies& bodies, const FlowPlan& plan, const std::string& symbol)
    : bodies_(bodies),
      plan_(plan),
      context_(bodies.module().getContext()),
      build_(context_),
      pointer_(llvm::PointerType::get(context_, 0)),
      scalars_(bodies, build_),
      vectors_(bodies, build_),
      sizes_(build_, [this](const std::string& name) { return symbols_.at(name); }),
      numbers_(plan.values.size()),
      tensors_(plan.values.size()) {
  auto* const type = llvm::FunctionType::get(build_.getInt64Ty(), {pointer_}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, bodies.module());
}

llvm::Function* FlowEmitter::run() {
  entry_ = block("entry");
  build_.SetInsertPoint(entry_);
  read_run();
  bind_inputs();
  make_blocks();
  build_.CreateBr(blocks_[0]);
  for (const BlockId id : order()) {
    begin_block(id);
    const FlowBlock& made = flow().blocks[static_cast<std::size_t>(id)];
    for (std::size_t k = 0; k < made.steps.size(); ++k) emit_step(id, k);
    end_block(id);
  }
  write_exits();
  for (llvm::BasicBlock* const each : blocks_)
    if (each->empty()) each->eraseFromParent();  // no way leads there
  return function_;
}

// ---- What the run gives ----

void FlowEmitter::read_run() {
  slots_ = field(kFlowSlots, pointer_);
  words_ = field(kFlowWords, pointer_);
  interrupt_ = field(kFlowInterrupt, pointer_);
  threads_ = field(kFlowThreads, build_.getInt64Ty());
  llvm::Value* const kernels = field(kFlowKernels, pointer_);
  scalars_.begin(entry_, kernels);
  vectors_.begin(entry_, kernels);
  iterations_ = stack(build_.getInt64Ty());
  build_.CreateStore(build_.getInt64(0), iterations_);
  stack_used_ = stack(build_.getInt64Ty());
  build_.CreateStore(field(kFlowStackUsed, build_.getInt64Ty()), stack_used_);
}

void FlowEmitter::bind_inputs() {
  llvm::Value* const words = field(kFlowInputs, pointer_);
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (std::size_t i = 0; i < flow().inputs.size(); ++i) {
    places.push_back(next);
    const Type& type = flow().values[i].type;
    next += type.is_number ? 1 : 2 + 2 * type.sizes.size();
  }
  for (const FlowSymbol& each : plan_.symbols) {
    const auto input = static_cast<std::size_t>(each.input);
    const std::size_t rank = flow().values[input].type.sizes.size();
    std::size_t place = places[input];
    if (each.dim >= 0) place += 2 + static_cast<std::size_t>(each.dim) + (each.is_stride ? rank : 0);
    symbols_[each.name] = word(words, place, build_.getInt64Ty());
  }
  for (std::size_t i = 0; i < flow().inputs.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    const Type& type = flow().type(id);
    if (type.is_number) {
      define(id, word(words, places[i], number_type(type.dtype)));
      continue;
    }
    FlowTensor made = described(id);
    made.base = word(words, places[i], pointer_);
    made.offset = word(words, places[i] + 1, build_.getInt64Ty());
    if (plan_.value(id).in_register) {
      made.element = load(made);
      made.origin = int_value(id + 1);
      made.base = nullptr;
    }
    tensors_[i] = made;
  }
}

// ---- Blocks ----

void FlowEmitter::make_blocks() {
  for (std::size_t i = 0; i < flow().blocks.size(); ++i) blocks_.push_back(block("block"));
  phis_.resize(blocks_.size());
}

// Behind all that come before them on every way, where a way does not come back.
std::vector<BlockId> FlowEmitter::order() const {
  std::vector<BlockId> finished;
  std::vector<bool> seen(blocks_.size());
  std::vector<std::pair<BlockId, int>> path{{0, 0}};
  seen[0] = true;
  while (!path.empty()) {
    auto& [id, next] = path.back();
    const FlowEnd& end = flow().blocks[static_cast<std::size_t>(id)].end;
    const int ways = end.kind == FlowEnd::Kind::Leave ? 0 : end.kind == FlowEnd::Kind::Jump ? 1 : 2;
    if (next == ways) {
      finished.push_back(id);
      path.pop_back();
      continue;
    }
    const BlockId to = next++ == 0 ? end.then.block : end.other.block;
    if (seen[static_cast<std::size_t>(to)]) continue;
    seen[static_cast<std::size_t>(to)] = true;
    path.emplace_back(to, 0);
  }
  std::reverse(finished.begin(), finished.end());
  return finished;
}

void FlowEmitter::begin_block(BlockId id) {
  const auto place = static_cast<std::size_t>(id);
  const FlowBlock& made = flow().blocks[place];
  build_.SetInsertPoint(blocks_[place]);
  std::vector<llvm::PHINode*>& phis = phis_[place];
  const auto phi = [&](llvm::Type* type) { return phis.emplace_back(build_.CreatePHI(type, 2)); };
  std::vector<Words> words;
  for (const ValueId each : made.parameters) {
    const Type& type = flow().type(each);
    if (type.is_number) {
      words.push_back({phi(number_type(type.dtype))});
    } else if (plan_.value(each).in_register) {
      words.push_back({phi(element_type(type.dtype)), phi(build_.getInt64Ty())});
    } else {
      words.push_back({phi(pointer_), phi(build_.getInt64Ty())});
    }
  }
  // Numbers first: sizes of tensors follow them.
  for (const bool numbers : {true, false}) {
    for (std::size_t k = 0; k < words.size(); ++k)
      if (flow().type(made.parameters[k]).is_number == numbers) define(made.parameters[k], words[k]);
  }
  if (made.begins_loop) look_for_interrupt(made);
}

void FlowEmitter::look_for_interrupt(const FlowBlock& made) {
  llvm::Type* const type = build_.getInt64Ty();
  build_.CreateStore(build_.CreateAdd(build_.CreateLoad(type, iterations_), int_value(1)), iterations_);
  if (made.interrupted == kCannotFail) return;
  auto* const flag = build_.CreateAlignedLoad(build_.getInt8Ty(), interrupt_, llvm::Align(1));
  // It is read each time, and other loads may still be moved across it, which a stricter order forbids.
  flag->setAtomic(llvm::AtomicOrdering::Unordered);
  flag->setVolatile(true);
  llvm::BasicBlock* const asked = block("asked");
  llvm::BasicBlock* const on = block("on");
  build_.CreateCondBr(build_.CreateIsNotNull(flag), asked, on,
                      llvm::MDBuilder(context_).createBranchWeights(1, 1U << 20));
  build_.SetInsertPoint(asked);
  build_.CreateCondBr(build_.CreateIsNotNull(ask(kFlowIsInterrupted, {})), exit_block(made.interrupted), on);
  build_.SetInsertPoint(on);
}

void FlowEmitter::end_block(BlockId id) {
  const FlowEnd& end = flow().blocks[static_cast<std::size_t>(id)].end;
  switch (end.kind) {
    case FlowEnd::Kind::Leave:
      build_.CreateBr(exit_block(end.exit));
      return;
    case FlowEnd::Kind::Jump:
      return jump(end.then);
    case FlowEnd::Kind::Branch:
      break;
  }
  // Each way has a block of its own, so that two ways to one block differ.
  llvm::BasicBlock* const then = block("then");
  llvm::BasicBlock* const other = block("other");
  build_.CreateCondBr(number(end.condition), then, other);
  build_.SetInsertPoint(then);
  jump(end.then);
  build_.SetInsertPoint(other);
  jump(end.other);
}

// The phis of the target are there where it was begun; else they are filled when all blocks are.
void FlowEmitter::jump(const FlowEnd::Target& target) {
  std::vector<Words> words;
  const FlowBlock& to = flow().blocks[static_cast<std::size_t>(target.block)];
  for (std::size_t k = 0; k < to.parameters.size(); ++k)
    words.push_back(words_of(to.parameters[k], target.arguments[k]));
  jumps_.push_back({target.block, build_.GetInsertBlock(), std::move(words)});
  build_.CreateBr(blocks_[static_cast<std::size_t>(target.block)]);
}

void FlowEmitter::fill_parameters() {
  for (const Jump& jump : jumps_) {
    std::size_t k = 0;
    for (const Words& words : jump.words) {
      for (llvm::Value* const each : words)
        phis_[static_cast<std::size_t>(jump.to)][k++]->addIncoming(each, jump.from);
    }
  }
}

FlowEmitter::Words FlowEmitter::words_of(ValueId parameter, const Operand& operand) {
  if (flow().type(parameter).is_number) return {number(operand)};
  const FlowTensor x = tensor(operand);
  if (plan_.value(parameter).in_register) return {x.element, x.origin};
  return {x.base, x.offset};
}

void FlowEmitter::define(ValueId id, const Words& words) {
  const Type& type = flow().type(id);
  if (type.is_number) return define(id, words[0]);
  FlowTensor made = described(id);
  if (plan_.value(id).in_register) {
    made.element = words[0];
    made.origin = words[1];
  } else {
    made.base = words[0];
    made.offset = words[1];
  }
  tensors_[static_cast<std::size_t>(id)] = made;
}

void FlowEmitter::define(ValueId id, llvm::Value* number) {
  numbers_[static_cast<std::size_t>(id)] = number;
  if (!plan_.value(id).symbol.empty()) symbols_[plan_.value(id).symbol] = number;
}

// ---- Leaving ----

llvm::BasicBlock* FlowEmitter::exit_block(ExitId exit) {
  llvm::BasicBlock*& made = exits_[exit];
  if (made == nullptr) made = block("exit");
  return made;
}

void FlowEmitter::leave_if(llvm::Value* condition, ExitId exit) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition); known != nullptr && known->isZero())
    return;
  llvm::BasicBlock* const on = block("on");
  build_.CreateCondBr(condition, exit_block(exit), on,
                      llvm::MDBuilder(context_).createBranchWeights(1, 1U << 20));
  build_.SetInsertPoint(on);
}

void FlowEmitter::write_exits() {
  fill_parameters();
  // What an exit shows may be computed there, by calls that have exits of their own.
  std::set<ExitId> written;
  while (written.size() < exits_.size()) {
    const auto known = exits_;
    for (const auto& [exit, made] : known)
      if (written.insert(exit).second) end_in(exit, made);
  }
}

void FlowEmitter::end_in(ExitId exit, llvm::BasicBlock* made) {
  build_.SetInsertPoint(made);
  if (exit >= 0) write_exit(exit);
  llvm::Type* const word = build_.getInt64Ty();
  set_word(function_->getArg(0), kFlowIterations, build_.CreateLoad(word, iterations_));
  set_word(function_->getArg(0), kFlowStackUsed, build_.CreateLoad(word, stack_used_));
  build_.CreateRet(int_value(exit));
}

void FlowEmitter::write_exit(ExitId exit) {
  called_.clear();
  llvm::Value* const values = field(kFlowValues, pointer_);
  std::size_t place = 0;
  for (const Operand& each : flow().exits[static_cast<std::size_t>(exit)].values) {
    for (llvm::Value* const word : outside_words(each)) set_word(values, place++, word);
  }
}

// ---- Words ----

llvm::Value* FlowEmitter::field(FlowField index, llvm::Type* type) {
  return word(function_->getArg(0), index, type);
}
llvm::Value* FlowEmitter::word(llvm::Value* words, std::size_t index, llvm::Type* type) {
  llvm::Value* const place = build_.CreateConstGEP1_64(build_.getInt64Ty(), words, index);
  if (!type->isIntegerTy() || type->isIntegerTy(64)) return build_.CreateLoad(type, place);
  return build_.CreateTrunc(build_.CreateLoad(build_.getInt64Ty(), place), type);
}
void FlowEmitter::set_word(llvm::Value* words, std::size_t index, llvm::Value* value) {
  if (value->getType()->isFloatTy()) value = build_.CreateBitCast(value, build_.getInt32Ty());
  if (value->getType()->isIntegerTy()) value = build_.CreateZExt(value, build_.getInt64Ty());
  build_.CreateStore(value, build_.CreateConstGEP1_64(build_.getInt64Ty(), words, index));
}

llvm::Value* FlowEmitter::ask(FlowField helper, std::span<llvm::Value* const> arguments) {
  std::vector<llvm::Value*> all{function_->getArg(0)};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<llvm::Type*> types;
  for (llvm::Value* const each : all) types.push_back(each->getType());
  auto* const type = llvm::FunctionType::get(build_.getInt64Ty(), types, false);
  return build_.CreateCall(type, field(helper, pointer_), all);
}

FlowEmitter::Words FlowEmitter::outside_words(const Operand& operand) {
  if (operand.value == Operand::kAbsent) return {};
  return is_tensor(operand) ? outside_words(in_memory(tensor(operand))) : Words{number(operand)};
}

FlowEmitter::Words FlowEmitter::outside_words(const FlowTensor& x) {
  if (x.base == nullptr) return {x.origin, x.element};
  Words words{x.base, x.offset};
  words.insert(words.end(), x.sizes.begin(), x.sizes.end());
  words.insert(words.end(), x.strides.begin(), x.strides.end());
  return words;
}

llvm::BasicBlock* FlowEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

llvm::Value* FlowEmitter::stack(llvm::Type* type, std::uint64_t count) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  return at_entry.CreateAlloca(type, count == 1 ? nullptr : at_entry.getInt64(count));
}

}  // namespace kiln::jit
