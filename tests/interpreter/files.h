// Owns what tests of files share: a folder, tensors whose bytes tell them apart, damage of every kind.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "interpreter/files/formats.h"
#include "lang/diagnostic.h"
#include "tensor/error.h"
#include "tensor/functions.h"

namespace kiln::interp::files {

namespace fs = std::filesystem;
using kiln::DType;
using kiln::Tensor;

// A folder that goes when the test does.
struct Folder {
  // A folder that another test had would be known: it is not looked through at every save.
  static inline int made = 0;
  fs::path path =
      fs::temp_directory_path() / ("kiln-files-" + std::to_string(::getpid()) + "-" + std::to_string(++made));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Elements that differ in every byte.
inline Tensor sample(DType dtype, std::initializer_list<kiln::Dim> sizes) {
  const kiln::Dims dims(sizes);
  const Tensor x = Tensor::empty(dims, DType::F64);
  double* out = x.writable<double>();
  for (std::int64_t i = 0; i < x.numel(); ++i)
    out[i] = dtype == DType::Bool ? static_cast<double>(i % 2) : 1.5 * static_cast<double>(i) + 1;
  return kiln::ops::to(x, dtype);
}

inline bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.sizes() == b.sizes())) return false;
  const Tensor x = kiln::ops::contiguous(a);
  const Tensor y = kiln::ops::contiguous(b);
  return std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.numel()) * kiln::size_of(x.dtype())) == 0;
}

// Reading gives a tensor or one of the two errors that `load` reports; anything else fails the test.
template <class Read>
bool survives(const Read& read) {
  try {
    read();
  } catch (const DamagedFile&) {
  } catch (const lang::UserError&) {
  } catch (const kiln::OpError&) {
  }
  return true;
}

// Every prefix, and every byte replaced by several others.
template <class Read>
void damage(const std::string& bytes, const Read& read) {
  for (std::size_t n = 0; n < bytes.size(); ++n) REQUIRE(survives([&] { read(bytes.substr(0, n)); }));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      REQUIRE(survives([&] { read(damaged); }));
    }
  }
}

}  // namespace kiln::interp::files
