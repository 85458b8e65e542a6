#include "interpreter/host/animation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "interpreter/files/atomic_file.h"
#include "interpreter/host/figure_value.h"
#include "interpreter/host/plot_layers.h"
#include "interpreter/host/plot_output.h"
#include "interpreter/plot/layout.h"
#include "interpreter/plot/raster.h"
#include "interpreter/plot/scale.h"
#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"
#include "tensor/functions.h"

namespace kiln::interp::host {
namespace {

constexpr int kWantedSide = 320;                     // pixels: small pictures are enlarged to about that
constexpr double kLeastRate = 0.01, kMostRate = 50;  // viewers slow down what is faster
constexpr std::size_t kMostFrames = 10'000;

const std::vector<NativeParameter>& parameters() {
  static const auto* const native =
      new Value(make_native(*std::ranges::find(plot_natives(), NativeFn{animate}, &NativeDef::call)));
  return native->as<Native>().parameters;
}

std::vector<Value> frames_of(Interpreter& interpreter, const Value& given) {
  std::vector<Value> frames = interpreter.to_vector(given);
  if (frames.empty()) raise("ValueError", "animate: there is no frame");
  if (frames.size() > kMostFrames)
    raise("ValueError", fmt::format("animate: {} frames are more than {}", frames.size(), kMostFrames),
          "take every second one");
  return frames;
}

// The least and greatest element of all matrices, so that a colour means the same in each frame.
plot::Extent common_extent(const PlotCall& call, const std::vector<Value>& frames) {
  std::vector<double> ends;
  for (const Value& frame : frames) {
    if (!frame.is(Tag::Tensor) || frame.as_tensor().rank() != 2) continue;
    plot::Range range;
    for (const double v : elements_of(
             kiln::ops::contiguous(kiln::ops::to(kiln::ops::detach(frame.as_tensor()), kiln::DType::F64))))
      range.add(v);
    if (range.is_empty()) continue;
    ends.push_back(range.extent().low);
    ends.push_back(range.extent().high);
  }
  return value_extent(call, ends);
}

// Each pixel becomes a square.
plot::Picture enlarged(const plot::Picture& picture, int times) {
  plot::Picture large{picture.width * times, picture.height * times, {}};
  large.rgb.reserve(picture.rgb.size() * static_cast<std::size_t>(times * times));
  for (int y = 0; y < large.height; ++y) {
    for (int x = 0; x < large.width; ++x) {
      const auto* const from =
          picture.rgb.data() + static_cast<std::ptrdiff_t>(y / times * picture.width + x / times) * 3;
      large.rgb.insert(large.rgb.end(), from, from + 3);
    }
  }
  return large;
}

class Frames {
 public:
  Frames(const PlotCall& call, const std::vector<Value>& frames)
      : call_(call), extent_(common_extent(call, frames)) {}

  plot::IndexedPicture picture(const Value& frame) const {
    if (const plot::Figure* const figure = figure_in(frame)) {
      const int width = call_.size("width", default_width(*figure), 120);
      const int height = call_.size("height", default_height(*figure), 100);
      return plot::raster().indexed(width, height,
                                    plot::raster().pixels(plot::laid_out(*figure, width, height)));
    }
    if (!frame.is(Tag::Tensor)) wrong_type("frames", "tensors or figures", frame);
    const kiln::Tensor given = frame.as_tensor();
    const kiln::Tensor x =
        given.rank() == 2 ? kiln::ops::contiguous(kiln::ops::to(kiln::ops::detach(given), kiln::DType::F64))
                          : given;
    if (x.numel() == 0) raise("ShapeError", fmt::format("animate: {} has no pixel", describe(frame)));
    plot::Picture pixels = picture_of(x, call_.color_map(), extent_);
    const int longest = std::max(pixels.width, pixels.height);
    const int wanted = call_.size("width", kWantedSide, 1);
    pixels = enlarged(pixels, std::max(1, wanted / (call_["width"].is_none() ? longest : pixels.width)));
    return plot::raster().indexed(pixels.width, pixels.height, pixels.rgb);
  }

 private:
  const PlotCall& call_;
  plot::Extent extent_;
};

}  // namespace

Value animate(Interpreter& interpreter, std::span<Value> a) {
  const PlotCall call(interpreter, "animate", parameters(), a);
  const std::string& path = path_argument(call["file"], "file");
  if (!path.ends_with(".gif"))
    raise("ValueError", fmt::format("animate: '{}' is no animation", path), "end the name in .gif");
  const double rate = float_argument(call["fps"], "fps");
  if (!(rate >= kLeastRate && rate <= kMostRate))
    raise("ValueError", fmt::format("animate: `fps` is from {:g} to {:g} frames a second, here {:g}",
                                    kLeastRate, kMostRate, rate));
  const std::vector<Value> given = frames_of(interpreter, call["frames"]);
  const Frames frames(call, given);
  std::vector<plot::IndexedPicture> pictures;
  for (const Value& frame : given) {
    pictures.push_back(frames.picture(frame));
    const plot::IndexedPicture& first = pictures.front();
    const plot::IndexedPicture& last = pictures.back();
    if (last.width != first.width || last.height != first.height)
      raise("ShapeError",
            fmt::format("animate: frame {} is {}, the first {}, which has another size", pictures.size() - 1,
                        describe(given[pictures.size() - 1]), describe(given.front())));
  }
  const std::string bytes = plot::raster().gif(pictures, static_cast<int>(std::lround(100 / rate)));
  if (bytes.empty()) raise("ValueError", "animate: the frames cannot be written as a GIF");
  files::AtomicFile file(path);
  file.text(bytes);
  file.commit();
  return {};
}

}  // namespace kiln::interp::host
