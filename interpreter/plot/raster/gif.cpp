#include "interpreter/plot/raster/gif.h"

#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

namespace kiln::interp::plot {
namespace {

constexpr std::size_t kMostColors = 256;

// As they are; false when there are more than 256 colours.
bool number_colors(IndexedPicture& picture, const std::vector<std::uint8_t>& rgb) {
  std::unordered_map<std::uint32_t, std::uint8_t> numbers;
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    const std::uint32_t key = std::uint32_t{rgb[i]} << 16U | std::uint32_t{rgb[i + 1]} << 8U | rgb[i + 2];
    const auto [found, is_new] = numbers.emplace(key, static_cast<std::uint8_t>(picture.palette.size()));
    if (is_new && picture.palette.size() == kMostColors) return false;
    if (is_new) picture.palette.push_back(color_of(key));
    picture.pixels.push_back(found->second);
  }
  return true;
}

// Each colour becomes the mean of the pixels that it stands for: giflib's have five bits, and no white.
void use_means(IndexedPicture& picture, const std::vector<std::uint8_t>& rgb, std::size_t size) {
  std::vector<std::array<std::size_t, 3>> sums(size);
  std::vector<std::size_t> counts(size);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
    const std::size_t color = picture.pixels[i];
    for (std::size_t c = 0; c < 3; ++c) sums[color][c] += rgb[i * 3 + c];
    ++counts[color];
  }
  picture.palette.assign(size, {});
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t count = std::max<std::size_t>(counts[i], 1);
    const auto mean = [&](std::size_t c) {
      return static_cast<std::uint8_t>((sums[i][c] + count / 2) / count);
    };
    picture.palette[i] = {mean(0), mean(1), mean(2)};
  }
}

void nearest_colors(IndexedPicture& picture, const std::vector<std::uint8_t>& rgb) {
  const std::size_t count = rgb.size() / 3;
  std::array<std::vector<GifByteType>, 3> planes;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < count; ++i) planes[c].push_back(rgb[i * 3 + c]);
  }
  std::array<GifColorType, kMostColors> palette{};
  int size = static_cast<int>(kMostColors);
  picture.pixels.assign(count, 0);
  if (GifQuantizeBuffer(static_cast<unsigned>(picture.width), static_cast<unsigned>(picture.height), &size,
                        planes[0].data(), planes[1].data(), planes[2].data(), picture.pixels.data(),
                        palette.data()) == GIF_ERROR)
    throw std::bad_alloc();
  use_means(picture, rgb, static_cast<std::size_t>(size));
}

struct FreeMap {
  void operator()(ColorMapObject* map) const { GifFreeMapObject(map); }
};

class GifWriter {
 public:
  GifWriter() {
    int error = 0;
    file_ = EGifOpen(&bytes_, append, &error);
    if (file_ == nullptr) throw std::bad_alloc();
    EGifSetGifVersion(file_, true);
  }
  ~GifWriter() { close(); }
  GifWriter(const GifWriter&) = delete;
  GifWriter& operator=(const GifWriter&) = delete;

  bool begin(int width, int height) {
    static constexpr std::array<unsigned char, 3> kForEver{1, 0, 0};
    return EGifPutScreenDesc(file_, width, height, 8, 0, nullptr) == GIF_OK &&
           EGifPutExtensionLeader(file_, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
           EGifPutExtensionBlock(file_, 11, "NETSCAPE2.0") == GIF_OK &&
           EGifPutExtensionBlock(file_, static_cast<int>(kForEver.size()), kForEver.data()) == GIF_OK &&
           EGifPutExtensionTrailer(file_) == GIF_OK;
  }

  bool add(const IndexedPicture& frame, int hundredths) {
    // A map has a power of two of colours.
    int size = 2;
    while (size < static_cast<int>(frame.palette.size())) size *= 2;
    const std::unique_ptr<ColorMapObject, FreeMap> map(GifMakeMapObject(size, nullptr));
    if (map == nullptr) throw std::bad_alloc();
    for (std::size_t i = 0; i < frame.palette.size(); ++i) {
      const Color c = frame.palette[i];
      map->Colors[i] = {c.red, c.green, c.blue};
    }
    const GraphicsControlBlock control{DISPOSE_DO_NOT, false, hundredths, NO_TRANSPARENT_COLOR};
    std::array<GifByteType, 4> extension{};
    EGifGCBToExtension(&control, extension.data());
    if (EGifPutExtension(file_, GRAPHICS_EXT_FUNC_CODE, static_cast<int>(extension.size()),
                         extension.data()) == GIF_ERROR ||
        EGifPutImageDesc(file_, 0, 0, frame.width, frame.height, false, map.get()) == GIF_ERROR)
      return false;
    std::vector<GifPixelType> row(static_cast<std::size_t>(frame.width));
    for (auto at = frame.pixels.begin(); at != frame.pixels.end(); at += frame.width) {
      row.assign(at, at + frame.width);  // giflib takes rows that it could write to
      if (EGifPutLine(file_, row.data(), frame.width) == GIF_ERROR) return false;
    }
    return true;
  }

  // Nothing when the end could not be written.
  std::string finish() { return close() ? std::move(bytes_) : std::string(); }

 private:
  static int append(GifFileType* file, const GifByteType* data, int size) {
    static_cast<std::string*>(file->UserData)
        ->append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    return size;
  }
  bool close() {
    int error = 0;
    GifFileType* const open = std::exchange(file_, nullptr);
    return open != nullptr && EGifCloseFile(open, &error) == GIF_OK;
  }
  std::string bytes_;
  GifFileType* file_ = nullptr;
};

}  // namespace

IndexedPicture indexed_picture(int width, int height, const std::vector<std::uint8_t>& rgb) {
  IndexedPicture picture{width, height, {}, {}};
  if (!number_colors(picture, rgb)) nearest_colors(picture, rgb);
  return picture;
}

std::string gif_bytes(const std::vector<IndexedPicture>& frames, int hundredths) {
  GifWriter writer;
  if (!writer.begin(frames.front().width, frames.front().height)) return {};
  for (const IndexedPicture& frame : frames) {
    if (!writer.add(frame, hundredths)) return {};
  }
  return writer.finish();
}

}  // namespace kiln::interp::plot
