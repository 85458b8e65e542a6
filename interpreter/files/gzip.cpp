#include "interpreter/files/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "tensor/error.h"
#include "tensor/interrupt.h"

namespace kiln::interp::files {
namespace {

constexpr int kGzipWindow = 15 + 16;
// Some ten milliseconds of packing, then an interrupt is seen.
uInt piece(std::size_t n) { return static_cast<uInt>(std::min<std::size_t>(n, std::size_t{1} << 20U)); }

}  // namespace

struct GzipSource::State {
  explicit State(Source& source) : compressed(source) {}
  Source& compressed;
  z_stream stream{};
  std::array<Bytef, 1U << 16U> input{};
  bool ended = false;
};

GzipSource::GzipSource(Source& compressed) : state_(std::make_unique<State>(compressed)) {
  if (inflateInit2(&state_->stream, kGzipWindow) != Z_OK) throw kiln::InternalError("zlib does not start");
}

GzipSource::~GzipSource() { inflateEnd(&state_->stream); }

std::uint64_t GzipSource::most_left() const {
  if (state_->ended) return 0;
  const std::uint64_t compressed =
      state_->stream.avail_in + std::min<std::uint64_t>(state_->compressed.most_left(), UINT64_MAX >> 12U);
  return compressed * kMostDeflateRatio + (1U << 16U);  // and what the window still holds
}

std::size_t GzipSource::read_some(void* out, std::size_t n) {
  State& s = *state_;
  std::size_t done = 0;
  while (done < n && !s.ended) {
    check_interrupt();
    if (s.stream.avail_in == 0) {
      s.stream.next_in = s.input.data();
      s.stream.avail_in = piece(s.compressed.read_some(s.input.data(), s.input.size()));
      if (s.stream.avail_in == 0) throw DamagedFile("its compressed data ends early");
    }
    s.stream.next_out = static_cast<Bytef*>(out) + done;
    const uInt room = piece(n - done);
    s.stream.avail_out = room;
    const int result = inflate(&s.stream, Z_NO_FLUSH);
    done += room - s.stream.avail_out;
    if (result == Z_STREAM_END) {
      if (s.stream.avail_in == 0) {
        s.stream.next_in = s.input.data();
        s.stream.avail_in = piece(s.compressed.read_some(s.input.data(), s.input.size()));
      }
      s.ended = s.stream.avail_in == 0;
      if (!s.ended) inflateReset(&s.stream);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw DamagedFile(s.stream.msg ? std::string("its compressed data is damaged: ") + s.stream.msg
                                     : "its compressed data is damaged");
    }
  }
  return done;
}

struct GzipSink::State {
  explicit State(Sink& sink) : target(sink) {}
  Sink& target;
  z_stream stream{};
  std::array<Bytef, 1U << 16U> output{};

  void run(int flush) {
    do {
      stream.next_out = output.data();
      stream.avail_out = piece(output.size());
      deflate(&stream, flush);
      target.write(output.data(), output.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
};

GzipSink::GzipSink(Sink& target) : state_(std::make_unique<State>(target)) {
  if (deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw kiln::InternalError("zlib does not start");
  }
}

GzipSink::~GzipSink() { deflateEnd(&state_->stream); }

void GzipSink::write(const void* bytes, std::size_t n) {
  auto* at = static_cast<const Bytef*>(bytes);
  while (n > 0) {
    check_interrupt();
    const uInt count = piece(n);
    state_->stream.next_in = const_cast<Bytef*>(at);  // zlib reads only
    state_->stream.avail_in = count;
    state_->run(Z_NO_FLUSH);
    at += count;
    n -= count;
  }
}

void GzipSink::finish() { state_->run(Z_FINISH); }

}  // namespace kiln::interp::files
