// Owns gzip as a source and a sink of bytes (zlib).
#pragma once

#include <cstdint>
#include <memory>

#include "interpreter/files/bytes.h"

namespace kiln::interp::files {

inline constexpr std::uint64_t kMostDeflateRatio = 1032;  // of deflate, by its format

// Inflates what `compressed` gives; checks the sum at the end. Members that follow each other are one stream.
class GzipSource : public Source {
 public:
  explicit GzipSource(Source& compressed);
  ~GzipSource() override;
  std::size_t read_some(void* out, std::size_t n) override;
  std::uint64_t most_left() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class GzipSink : public Sink {
 public:
  explicit GzipSink(Sink& target);
  ~GzipSink() override;
  void write(const void* bytes, std::size_t n) override;
  void finish();  // without it the stream has no end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln::interp::files
