#include "jit/llvm/loop_places.h"

#include "jit/kernel_code.h"

namespace kiln::jit {

void LoopPlaces::add(llvm::Value* first, llvm::Value* moves, std::uint64_t item_bytes, bool goes_on) {
  places_.push_back({first, moves, item_bytes, goes_on, nullptr, first, {}});
}

void LoopPlaces::find_steps(std::int64_t turn) {
  for (Place& each : places_) {
    if (each.goes_on) each.step = bytes_of(each, build_.getInt64(turn));
  }
}

void LoopPlaces::enter(llvm::BasicBlock* before) {
  for (Place& each : places_) {
    if (!each.goes_on) continue;
    auto* const at = build_.CreatePHI(each.first->getType(), 3);
    at->addIncoming(each.first, before);
    each.at = at;
  }
}

void LoopPlaces::find_abreast(llvm::Value* reach, int vectors) {
  for (int vector = 1; vector < vectors; ++vector) {
    llvm::Value* const elements =
        build_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, reach, build_.getInt64(vector * kVector));
    for (Place& each : places_) {
      if (each.goes_on)
        each.beside.push_back(build_.CreateGEP(build_.getInt8Ty(), each.at, bytes_of(each, elements)));
    }
  }
}

std::vector<llvm::Value*> LoopPlaces::next() {
  std::vector<llvm::Value*> places;
  for (const Place& each : places_) {
    if (each.goes_on) places.push_back(build_.CreateGEP(build_.getInt8Ty(), each.at, each.step));
  }
  return places;
}

std::vector<llvm::Value*> LoopPlaces::moved(const std::vector<llvm::Value*>& from, llvm::Value* elements) {
  std::vector<llvm::Value*> places;
  for (const Place& each : places_) {
    if (!each.goes_on) continue;
    llvm::Value* const place = from[places.size()];
    places.push_back(build_.CreateGEP(build_.getInt8Ty(), place, bytes_of(each, elements)));
  }
  return places;
}

void LoopPlaces::come_back(llvm::BasicBlock* from, const std::vector<llvm::Value*>& places) {
  std::size_t next = 0;
  for (const Place& each : places_) {
    if (each.goes_on) llvm::cast<llvm::PHINode>(each.at)->addIncoming(places[next++], from);
  }
}

llvm::Value* LoopPlaces::bytes_of(const Place& place, llvm::Value* elements) {
  llvm::Value* const bytes = build_.CreateMul(elements, build_.getInt64(place.item_bytes));
  return place.moves == nullptr ? bytes : build_.CreateAnd(bytes, place.moves);
}

}  // namespace kiln::jit
