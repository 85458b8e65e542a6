// Owns what a compiled kernel library and the fake driver tell each other. Read by both: no standard headers.
#pragma once

struct KilnFakeIndex {
  unsigned x = 1, y = 1, z = 1;
};

// What the lanes of a warp that a mask names do together.
enum KilnFakeTogether : int {
  kFakeSync,
  kFakeShuffle,  // argument: the lane whose value is wanted; the own one where it is 32 or more
  kFakeBallot,
  kFakeMatchAny,
  kFakeMatchAll,
  kFakeSum,
  kFakeLeast,
  kFakeMost,
  kFakeAnd,
  kFakeOr,
  kFakeXor,
};

// One lane's part of it.
struct KilnFakeLane {
  KilnFakeTogether kind;
  unsigned mask, argument;
  int line;
  unsigned long long value, result;
};

// What a barrier of a block makes of the values of its threads.
enum KilnFakeFold : int { kFakeNoFold, kFakeCount, kFakeAll, kFakeAny };

// What a checked kernel does to memory.
enum KilnFakeAccess : int { kFakeRead, kFakeWrite, kFakeAtomic };

// What kernels call.
struct KilnFakeRuntime {
  // Goes on with another thread of the block on the same stack, and gives false where there is none.
  bool (*next_thread)();
  int (*block_barrier)(int line, KilnFakeFold fold, bool value);
  void (*together)(KilnFakeLane* lane);
  void (*stop)(int line, const char* assertion);  // does not return; no assertion: a trap
  // What checked kernels call before each access, and at fences. `code` is the address that the kernel goes
  // on at.
  void (*access)(const void* place, unsigned long bytes, KilnFakeAccess kind, const void* code);
  void (*fence)();
};

// Where the thread that runs is, and what it calls.
struct KilnFakePlace {
  KilnFakeIndex thread, block, block_dim, grid_dim;
  KilnFakeRuntime runtime{};
};

struct KilnFakeKernel {
  const char* name;
  void (*run)(void* const* parameters);  // threads, until next_thread gives false
  unsigned parameters;
  const unsigned* sizes;  // of the parameters
  unsigned most_threads;  // of a block, by __launch_bounds__
};

struct KilnFakeLibrary {
  KilnFakePlace* place;
  const KilnFakeKernel* kernels;
  unsigned count;
  char *shared, *shared_end;    // variables that are __shared__
  char *dynamic, *dynamic_end;  // room for what is extern __shared__
};
