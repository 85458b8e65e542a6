// Owns where the loads and stores of a nest are at while its loop goes on, as LLVM's instructions.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <vector>

namespace kiln::jit {

class LoopPlaces {
 public:
  explicit LoopPlaces(llvm::IRBuilderBase& build) : build_(build) {}

  // The next place. `moves`: all bits, or none, and then it stays where it is; null: it is not asked.
  void add(llvm::Value* first, llvm::Value* moves, std::uint64_t item_bytes, bool goes_on);
  std::size_t count() const { return places_.size(); }
  // `vector`: of the turn.
  llvm::Value* at(std::size_t k, int vector) const {
    const Place& place = places_[k];
    return vector == 0 || !place.goes_on ? place.at : place.beside[static_cast<std::size_t>(vector - 1)];
  }
  llvm::Value* moves(std::size_t k) const { return places_[k].moves; }

  // Before a loop, of turns of so many elements. `together`: all that it reads or writes in turns moves on.
  void begin(std::int64_t turn, bool together);
  // At its top, which `before` leads to.
  void enter(llvm::BasicBlock* before);
  // Then, behind all that the loop takes over from turn to turn, those of each vector of a turn, none of them
  // further than `reach` elements.
  void find(llvm::Value* reach, int vectors);
  // What the loop counts for them: a turn later, and `elements` from there.
  std::vector<llvm::Value*> next();
  std::vector<llvm::Value*> moved(const std::vector<llvm::Value*>& from, llvm::Value* elements);
  // To the top from another block.
  void come_back(llvm::BasicBlock* from, const std::vector<llvm::Value*>& places);

 private:
  struct Place {
    llvm::Value* first;
    llvm::Value* moves;
    std::uint64_t item_bytes;
    bool goes_on;  // with the loop
    llvm::Value* step;
    llvm::Value* at;
    std::vector<llvm::Value*> beside;
  };
  llvm::Value* bytes_of(const Place& place, llvm::Value* elements);
  llvm::Value* from_first(const Place& place, llvm::Value* elements);

  llvm::IRBuilderBase& build_;
  std::vector<Place> places_;
  std::int64_t turn_ = 0;
  bool together_ = false;
  llvm::PHINode* done_ = nullptr;  // elements: where all are that move on together
};

}  // namespace kiln::jit
