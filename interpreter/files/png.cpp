// PNG through libpng. Samples are what the file stores: no gamma is applied, nothing is put on a background.
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interpreter/files/formats.h"
#include "interpreter/files/gzip.h"
#include "interpreter/files/picture.h"
#include "interpreter/interpreter.h"
#include "tensor/host_view.h"
#include "tensor/interrupt_look.h"

namespace kiln::interp::files {
namespace {

constexpr std::uint64_t kMostPixels = kMostDeflateRatio * 8;  // of one bit, in a byte that is deflated

// libpng leaves by longjmp, which no destructor may be passed by: what has one stands here, and the functions
// that call libpng (`start`, `finish`) have no locals.
struct PngFile {
  PngFile() = default;
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::array<char, 256> complaint{};
  bool is_damaged = false;  // libpng went on, with what is no longer what the file holds
};

[[noreturn]] void leave(png_structp png, png_const_charp message) {
  auto& file = *static_cast<PngFile*>(png_get_error_ptr(png));
  std::strncpy(file.complaint.data(), message, file.complaint.size() - 1);
  png_longjmp(png, 1);
}
void say_nothing(png_structp, png_const_charp) {}

// Where pixels or transparency are wrong, libpng drops something and warns. Its warnings of other chunks that
// a picture can do without, whose names begin with a small letter, are of what is not kept anyway.
void note_damage(png_structp png, png_const_charp message) {
  const std::string_view text(message);
  const bool names_chunk = text.size() > 4 && text[4] == ':';
  if (names_chunk && text[0] >= 'a' && text[0] <= 'z' && !text.starts_with("tRNS")) return;
  auto& file = *static_cast<PngFile*>(png_get_error_ptr(png));
  std::strncpy(file.complaint.data(), message, file.complaint.size() - 1);
  file.is_damaged = true;
}

struct PngReader : PngFile {
  explicit PngReader(std::string_view all) : bytes(all) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<PngFile*>(this), leave, note_damage);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) throw std::bad_alloc();
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  bool start();
  bool finish();

  std::string_view bytes;
  std::size_t at = 0;
  std::uint32_t frames = 1;
  std::vector<png_bytep> rows;
  // Of a picture whose pixels are numbers of colours.
  bool has_palette = false;
  png_colorp colors = nullptr;
  png_bytep alphas = nullptr;  // of the first ones
  int color_count = 0, alpha_count = 0;
};

void read_bytes(png_structp png, png_bytep out, png_size_t n) {
  if (interrupt_came()) png_error(png, kInterrupted);
  auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
  if (n > reader.bytes.size() - reader.at) png_error(png, "it ends early");
  std::memcpy(out, reader.bytes.data() + reader.at, n);
  reader.at += n;
}

// An animation tells in a chunk of its own how many pictures it has. Chunks that a picture can do without,
// whose names begin with a small letter, count as handled: libpng would warn that it saves them. Of the
// others it says that it does not know them.
int look_at_chunk(png_structp png, png_unknown_chunkp chunk) {
  auto& reader = *static_cast<PngReader*>(png_get_user_chunk_ptr(png));
  if (std::memcmp(chunk->name, "acTL", 4) == 0 && chunk->size >= 4)
    reader.frames = png_get_uint_32(chunk->data);
  return chunk->name[0] >= 'a' ? 1 : 0;
}

// All that stands before the pixels. False when `complaint` says why not.
bool PngReader::start() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, this, read_bytes);
  png_set_read_user_chunk_fn(png, this, look_at_chunk);
  png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(png, info);
  has_palette = png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE;
  if (has_palette) {
    // libpng would make a colour of a number that the palette does not have.
    png_get_PLTE(png, info, &colors, &color_count);
    png_get_tRNS(png, info, &alphas, &alpha_count, nullptr);
    png_set_packing(png);
  } else {
    // 1, 2 and 4 bits as 8 (which is exact), a transparent colour as alpha.
    png_set_expand(png);
  }
  // Grey with alpha has the grey three times.
  if ((png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) == 0 &&
      ((png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0 ||
       png_get_valid(png, info, PNG_INFO_tRNS) != 0))
    png_set_gray_to_rgb(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

// The pixels into `rows`, and what stands behind them.
bool PngReader::finish() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_image(png, rows.data());
  png_read_end(png, nullptr);
  return true;
}

void point_at_rows(std::vector<png_bytep>& rows, png_bytep first, std::size_t count, std::size_t bytes) {
  rows.resize(count);
  for (std::size_t y = 0; y < count; ++y) rows[y] = first + y * bytes;
}

// Two bytes a sample, the higher one first.
kiln::Tensor widened(const std::vector<std::uint8_t>& pairs, const kiln::Dims& sizes) {
  const kiln::Tensor x = kiln::Tensor::empty(sizes, kiln::DType::I32);
  const kiln::WritableHostView elements(x);
  auto* const out = elements.as<std::int32_t>();
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) out[i] = pairs[2 * i] << 8 | pairs[2 * i + 1];
  return x;
}

kiln::Tensor colored(const std::vector<std::uint8_t>& numbers, const kiln::Dims& sizes,
                     const PngReader& file) {
  const kiln::Tensor x = kiln::Tensor::empty(sizes, kiln::DType::U8);
  const kiln::WritableHostView elements(x);
  auto* out = elements.as<std::uint8_t>();
  for (const std::uint8_t number : numbers) {
    if (number >= file.color_count)
      throw DamagedFile(fmt::format("a pixel has colour {} of a palette of {}", number, file.color_count));
    const png_color& color = file.colors[number];
    for (const png_byte part : {color.red, color.green, color.blue}) *out++ = part;
    if (sizes[2] == 4) *out++ = number < file.alpha_count ? file.alphas[number] : 255;
  }
  return x;
}

}  // namespace

kiln::Tensor read_png(std::string_view bytes) {
  PngReader reader(bytes);
  const auto fail = [&] {
    check_interrupt();
    throw DamagedFile(fmt::format("it is not a readable PNG ({})", reader.complaint.data()));
  };
  if (!reader.start()) fail();
  if (reader.frames > 1)
    throw DamagedFile(fmt::format("it is an animation of {} pictures, a tensor holds one", reader.frames));
  const std::size_t height = png_get_image_height(reader.png, reader.info);
  const std::size_t width = png_get_image_width(reader.png, reader.info);
  if (height * width > bytes.size() * kMostPixels)
    throw DamagedFile("it claims more pixels than its data can hold");
  const std::size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  const kiln::Dims sizes{
      static_cast<kiln::Dim>(height), static_cast<kiln::Dim>(width),
      reader.has_palette ? (reader.alpha_count > 0 ? 4 : 3) : png_get_channels(reader.png, reader.info)};
  const bool wide = png_get_bit_depth(reader.png, reader.info) == 16;
  const bool is_direct = !wide && !reader.has_palette;
  std::vector<std::uint8_t> stored(is_direct ? 0
                                             : height * row_bytes);  // pairs of bytes, or numbers of colours
  kiln::Tensor x;
  std::optional<kiln::WritableHostView> elements;
  if (is_direct) elements.emplace(x = kiln::Tensor::empty(sizes, kiln::DType::U8));
  point_at_rows(reader.rows, is_direct ? elements->as<std::uint8_t>() : stored.data(), height, row_bytes);
  if (!reader.finish() || reader.is_damaged) fail();
  if (bytes.substr(reader.at).find_first_not_of('\0') != std::string_view::npos)
    throw DamagedFile(fmt::format("{} bytes follow the end of the picture", bytes.size() - reader.at));
  elements.reset();
  if (reader.has_palette) return colored(stored, sizes, reader);
  return without_single_channel(wide ? widened(stored, sizes) : x);
}

namespace {

struct PngWriter : PngFile {
  PngWriter() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<PngFile*>(this), leave, say_nothing);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) throw std::bad_alloc();
  }
  ~PngWriter() { png_destroy_write_struct(&png, &info); }

  bool run();

  png_uint_32 width = 0, height = 0;
  int depth = 8, color = PNG_COLOR_TYPE_GRAY;
  std::vector<png_bytep> rows;
  std::string out;
};

void write_bytes(png_structp png, png_bytep bytes, png_size_t n) {
  if (interrupt_came()) png_error(png, kInterrupted);
  auto& writer = *static_cast<PngWriter*>(png_get_io_ptr(png));
  bool kept = true;
  try {
    writer.out.append(reinterpret_cast<const char*>(bytes), n);
  } catch (const std::bad_alloc&) {
    kept = false;
  }
  if (!kept) png_error(png, "there is no memory for it");
}

bool PngWriter::run() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, this, write_bytes, nullptr);
  png_set_IHDR(png, info, width, height, depth, color, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
               PNG_FILTER_TYPE_BASE);
  png_write_info(png, info);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  return true;
}

}  // namespace

void write_png(Sink& sink, const kiln::Tensor& tensor) {
  kiln::Tensor x = as_picture(tensor);
  PngWriter writer;
  writer.height = static_cast<png_uint_32>(x.size(0));
  writer.width = static_cast<png_uint_32>(x.size(1));
  writer.color = x.size(2) == 1   ? PNG_COLOR_TYPE_GRAY
                 : x.size(2) == 3 ? PNG_COLOR_TYPE_RGB
                                  : PNG_COLOR_TYPE_RGB_ALPHA;
  std::string pairs;
  auto row_bytes = static_cast<std::size_t>(x.size(1) * x.size(2));
  if (x.dtype() == kiln::DType::I32) {
    writer.depth = 16;
    row_bytes *= 2;
    pairs = big_endian_words(x);
  }
  // libpng takes rows it could write to, and reads them.
  const kiln::HostView elements(x);
  auto* const first = pairs.empty() ? const_cast<png_bytep>(elements.as<std::uint8_t>())
                                    : reinterpret_cast<png_bytep>(pairs.data());
  point_at_rows(writer.rows, first, writer.height, row_bytes);
  if (!writer.run()) {
    check_interrupt();
    raise("ValueError", fmt::format("{} cannot be written as a PNG ({})", to_string(tensor.type()),
                                    writer.complaint.data()));
  }
  sink.text(writer.out);
}

}  // namespace kiln::interp::files
