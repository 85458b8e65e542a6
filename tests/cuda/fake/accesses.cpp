#include "tests/cuda/fake/accesses.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>

#include "tests/cuda/fake/lines.h"
#include "tests/cuda/fake/state.h"

namespace kiln::fake {
namespace {

constexpr std::size_t kSites = 1024;
constexpr Address kNear = 1 << 20;

bool is_within(Address address, const void* begin, const void* end) {
  return address >= address_of(begin) && address < address_of(end);
}

const char* name_of(KilnFakeAccess kind) {
  constexpr const char* kNames[] = {"a read", "a write", "an atomic access"};
  return kNames[kind];
}

std::string text_of_bytes(std::size_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string hexadecimal(Address address) {
  char text[24];
  std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(address));
  return text;
}

// How far outside of a range an address is; 0 where it is within.
Address distance(const MemoryRange& range, Address address) {
  return address < range.begin ? range.begin - address : address >= range.end ? address - range.end + 1 : 0;
}

std::string relation_of(Address address, std::size_t bytes, const MemoryRange& range) {
  if (distance(range, address) > kNear) return "where no block is near";
  if (address < range.begin) return text_of_bytes(range.begin - address) + " before " + range.name;
  if (address >= range.end) return text_of_bytes(address - range.end) + " behind the end of " + range.name;
  return text_of_bytes(address + bytes - range.end) + " of which are behind the end of " + range.name;
}

std::vector<MemoryRange> blocks_of_cards_and_host() {
  const std::lock_guard lock(state().mutex);
  std::vector<MemoryRange> all = state().memory.blocks();
  for (const auto& [begin, block] : state().host_blocks) {
    all.push_back({begin, begin + block.bytes,
                   "the host's block of " + text_of_bytes(block.bytes) + " at " + hexadecimal(begin)});
  }
  return all;
}

}  // namespace

void AccessChecker::begin_launch(const Call& call, const Stacks& stacks) {
  call_ = call;
  stacks_ = &stacks;
  ranges_ = blocks_of_cards_and_host();
  ranges_.insert(ranges_.end(), call.code->shared.begin(), call.code->shared.end());
  const Address dynamic = address_of(call.library->dynamic);
  ranges_.push_back({dynamic, dynamic + call.dynamic_bytes,
                     "the " + text_of_bytes(call.dynamic_bytes) + " of shared memory of the launch"});
  std::sort(ranges_.begin(), ranges_.end(),
            [](const MemoryRange& a, const MemoryRange& b) { return a.begin < b.begin; });
  found_.assign(kSites, 0);
  races_.begin_launch(call.block.x * call.block.y * call.block.z);
}

bool AccessChecker::look(unsigned thread, const void* place, std::size_t bytes, KilnFakeAccess kind,
                         const void* code) {
  if (bytes == 0 || stacks_->hold(place)) return true;
  const Address address = address_of(place), next = address_of(code);
  const MemoryRange* const range = find(address, next);
  if (range == nullptr || bytes > range->end - address) {
    if (kind == kFakeRead && is_constant(address)) return true;
    tell_outside(address, bytes, kind, next);
    return false;
  }
  const bool is_shared = is_within(address, call_.library->shared, call_.library->shared_end) ||
                         is_within(address, call_.library->dynamic, call_.library->dynamic_end);
  const std::optional<Race> race =
      races_.note(thread, address, bytes, kind, next - call_.code->begin, is_shared);
  if (race) tell_race(*race, *range, kind, next);
  return !race;
}

// The range that holds this byte. An instruction mostly stays within one.
const MemoryRange* AccessChecker::find(Address address, Address code) {
  std::size_t& last = found_[code % kSites];
  if (distance(ranges_[last], address) == 0) return &ranges_[last];
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](Address wanted, const MemoryRange& range) { return wanted < range.begin; });
  if (after == ranges_.begin() || address >= std::prev(after)->end) return nullptr;
  last = static_cast<std::size_t>(std::prev(after) - ranges_.begin());
  return &ranges_[last];
}

bool AccessChecker::is_constant(Address address) const {
  return std::any_of(call_.code->constants.begin(), call_.code->constants.end(),
                     [&](const MemoryRange& part) { return distance(part, address) == 0; });
}

std::string AccessChecker::line_of(Address code) const {
  const std::string line = line_at(call_.code->lines, code - 1 - call_.code->begin);
  return line.empty() ? "a line that is not known" : line;
}

void AccessChecker::tell_outside(Address address, std::size_t bytes, KilnFakeAccess kind, Address code) {
  const MemoryRange& nearest =
      *std::min_element(ranges_.begin(), ranges_.end(), [&](const MemoryRange& a, const MemoryRange& b) {
        return distance(a, address) < distance(b, address);
      });
  std::string where = relation_of(address, bytes, nearest);
  const std::lock_guard lock(state().mutex);
  if (const std::string freed = state().memory.freed_at(address); !freed.empty())
    where = "in " + freed + ", which was freed";
  problem_ = {kIllegalAddress, line_of(code) + ": " + name_of(kind) + " of " + text_of_bytes(bytes) + " at " +
                                   hexadecimal(address) + ", " + where};
}

void AccessChecker::tell_race(const Race& race, const MemoryRange& range, KilnFakeAccess kind, Address code) {
  problem_ = {kLaunchFailed, line_of(code) + ": " + name_of(kind) + " of byte " +
                                 std::to_string(race.address - range.begin) + " of " + range.name +
                                 " races with " + name_of(race.kind) + " in " +
                                 line_of(call_.code->begin + race.code) + " by thread " +
                                 text_of(index_of(race.thread, call_.block)) +
                                 (race.is_of_block ? "" : " of another block")};
}

}  // namespace kiln::fake
