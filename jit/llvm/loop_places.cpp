#include "jit/llvm/loop_places.h"

#include "jit/llvm/kernel_code.h"

namespace kiln::jit {

void LoopPlaces::add(llvm::Value* first, llvm::Value* moves, std::uint64_t item_bytes, bool goes_on) {
  places_.push_back({first, moves, item_bytes, goes_on, nullptr, first, {}});
}

void LoopPlaces::begin(std::int64_t turn, bool together) {
  turn_ = turn;
  together_ = together;
  for (Place& each : places_) {
    each.at = each.first;
    each.beside.clear();
    if (each.goes_on && !together) each.step = bytes_of(each, build_.getInt64(turn));
  }
}

void LoopPlaces::enter(llvm::BasicBlock* before) {
  if (together_) {
    done_ = build_.CreatePHI(build_.getInt64Ty(), 3);
    done_->addIncoming(build_.getInt64(0), before);
  }
  for (Place& each : places_) {
    if (!each.goes_on || together_) continue;
    auto* const at = build_.CreatePHI(each.first->getType(), 3);
    at->addIncoming(each.first, before);
    each.at = at;
  }
}

void LoopPlaces::find(llvm::Value* reach, int vectors) {
  for (Place& each : places_) {
    if (each.goes_on && together_) each.at = from_first(each, done_);
  }
  for (int vector = 1; vector < vectors; ++vector) {
    llvm::Value* const elements =
        build_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, reach, build_.getInt64(vector * kVector));
    llvm::Value* const done = together_ ? build_.CreateAdd(done_, elements) : nullptr;
    for (Place& each : places_) {
      if (!each.goes_on) continue;
      each.beside.push_back(together_
                                ? from_first(each, done)
                                : build_.CreateGEP(build_.getInt8Ty(), each.at, bytes_of(each, elements)));
    }
  }
}

std::vector<llvm::Value*> LoopPlaces::next() {
  if (together_) return {build_.CreateAdd(done_, build_.getInt64(turn_))};
  std::vector<llvm::Value*> places;
  for (const Place& each : places_) {
    if (each.goes_on) places.push_back(build_.CreateGEP(build_.getInt8Ty(), each.at, each.step));
  }
  return places;
}

std::vector<llvm::Value*> LoopPlaces::moved(const std::vector<llvm::Value*>& from, llvm::Value* elements) {
  if (together_) return {build_.CreateAdd(from[0], elements)};
  std::vector<llvm::Value*> places;
  for (const Place& each : places_) {
    if (!each.goes_on) continue;
    llvm::Value* const place = from[places.size()];
    places.push_back(build_.CreateGEP(build_.getInt8Ty(), place, bytes_of(each, elements)));
  }
  return places;
}

void LoopPlaces::come_back(llvm::BasicBlock* from, const std::vector<llvm::Value*>& places) {
  if (together_) return done_->addIncoming(places[0], from);
  std::size_t next = 0;
  for (const Place& each : places_) {
    if (each.goes_on) llvm::cast<llvm::PHINode>(each.at)->addIncoming(places[next++], from);
  }
}

llvm::Value* LoopPlaces::bytes_of(const Place& place, llvm::Value* elements) {
  llvm::Value* const bytes = build_.CreateMul(elements, build_.getInt64(place.item_bytes));
  return place.moves == nullptr ? bytes : build_.CreateAnd(bytes, place.moves);
}

llvm::Value* LoopPlaces::from_first(const Place& place, llvm::Value* elements) {
  llvm::Value* const bytes = build_.CreateMul(elements, build_.getInt64(place.item_bytes));
  return build_.CreateGEP(build_.getInt8Ty(), place.first, bytes);
}

}  // namespace kiln::jit
