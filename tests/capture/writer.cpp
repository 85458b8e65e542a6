// Which theme a program has, and in which ways it runs.
#include "tests/capture/writer.h"

#include <algorithm>
#include <utility>

#include "tests/capture/loop_writer.h"

namespace kiln::testing {

namespace {

struct ThemeRow {
  Theme theme;
  const char* name;
  int share;  // of programs, beside the others
};
constexpr ThemeRow kThemes[] = {
    {Theme::Mixed, "mixed", 25},          {Theme::Loops, "loops", 20},
    {Theme::Training, "training", 15},    {Theme::Transforms, "transforms", 10},
    {Theme::Derivatives, "own", 8},       {Theme::Sizes, "sizes", 8},
    {Theme::Dtypes, "dtypes", 6},         {Theme::Numbers, "numbers", 8},
    {Theme::Effects, "effects", 8},       {Theme::Arguments, "arguments", 8},
    {Theme::Captured, "captured", 8},     {Theme::Writing, "writing", 6},
    {Theme::Custom, "custom", 6},         {Theme::Checkpoints, "checkpoints", 12},
    {Theme::Draws, "draws", 10},          {Theme::Backends, "backends", 8},
    {Theme::Parameters, "parameters", 8}, {Theme::Hot, "hot", 8},
    {Theme::Forms, "forms", 20},          {Theme::LoopGradients, "loop_gradients", 10},
};

const ThemeRow& drawn(Random& random, const std::vector<std::string>& among) {
  const auto counts = [&](const ThemeRow& row) {
    return among.empty() || std::find(among.begin(), among.end(), row.name) != among.end();
  };
  int all = 0;
  for (const ThemeRow& row : kThemes) all += counts(row) ? row.share : 0;
  int at = random.below(std::max(all, 1));
  for (const ThemeRow& row : kThemes) {
    if (!counts(row)) continue;
    if (at < row.share) return row;
    at -= row.share;
  }
  return kThemes[0];
}

}  // namespace

std::vector<std::string> theme_names() {
  std::vector<std::string> names;
  for (const ThemeRow& row : kThemes) names.emplace_back(row.name);
  return names;
}

Program random_program(std::uint64_t seed, const std::vector<std::string>& themes) {
  return Writer(seed, themes).write();
}

Writer::Writer(std::uint64_t seed, const std::vector<std::string>& themes) : random_(seed) {
  const ThemeRow& row = drawn(random_, themes);
  theme_ = row.theme;
  program_.kind = row.name;
}

// Every program runs in all ways, with another backend in each.
Program Writer::write() {
  const std::vector<std::string> backends{"fused", "aot_eager", "eager"};
  const std::size_t first = static_cast<std::size_t>(random_.below(3));
  const std::size_t checked = static_cast<std::size_t>(random_.below(3));
  for (std::size_t k = 0; k < 3; ++k) {
    // Loops become machine code by one backend alone.
    const bool is_fused = theme_ == Theme::LoopGradients || (theme_ == Theme::Forms && random_.chance(60));
    Way way{std::vector{Mode::Compiled, Mode::Wrapped, Mode::Hot}[k],
            is_fused ? "fused" : backends[(first + k) % 3]};
    way.hot_ops = random_.pick(std::vector{12, 12, 5, 30});
    way.is_checked = k == checked;
    program_.ways.push_back(std::move(way));
  }
  top("seed(" + digit(100) + ")");
  switch (theme_) {
    case Theme::Effects:
    case Theme::Arguments:
    case Theme::Captured:
    case Theme::Writing:
    case Theme::Custom:
      has_body_law_ = theme_ != Theme::Writing && random_.chance(20);
      write_in_world([this] { custom(); });
      break;
    case Theme::Checkpoints:
      write_in_world([this] { checkpoints(); });
      break;
    case Theme::Draws:
      write_in_world([this] { draws(); });
      break;
    case Theme::Hot:
      write_in_world([this] { hot(); });
      break;
    case Theme::Parameters:
      parameters();
      break;
    case Theme::Forms:
      LoopWriter(random_, program_).write();
      break;
    case Theme::LoopGradients:
      LoopWriter(random_, program_, true).write();
      break;
    default:
      write_plain();
      break;
  }
  top("print(rand(2))");  // the state of random numbers
  return std::move(program_);
}

void Writer::add_law(std::string name, std::string line, std::string plain) {
  program_.statements.push_back({line, {}, "", true});
  program_.laws.push_back({std::move(name), std::move(line), std::move(plain)});
}

void Writer::write_in_world(const std::function<void()>& functions) {
  is_one_text_ = random_.chance(8);
  world();
  functions();
  world_calls();
  if (!is_one_text_) return;
  Statement all{"if true {", std::move(program_.statements), "}"};
  program_.statements.clear();
  program_.statements.push_back(std::move(all));
}

void Writer::write_plain() {
  layer_struct();
  outside();
  idioms();
  begin_theme();
  const int count = theme_ == Theme::Mixed ? 1 + random_.below(3) : random_.below(2);
  for (int k = 0; k < count; ++k) function(k);
  calls();
}

}  // namespace kiln::testing
