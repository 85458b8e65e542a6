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

  // Before the loop: how far a turn of so many elements goes.
  void find_steps(std::int64_t turn);
  // At its top, which `before` leads to.
  void enter(llvm::BasicBlock* before);
  // Then those of the other vectors of a turn, none of them further than `reach` elements.
  void find_abreast(llvm::Value* reach, int vectors);
  // Of all that go on: where they are a turn later, and `elements` from there.
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

  llvm::IRBuilderBase& build_;
  std::vector<Place> places_;
};

}  // namespace kiln::jit
