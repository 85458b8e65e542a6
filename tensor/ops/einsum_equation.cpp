#include "tensor/ops/einsum_equation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tensor/error.h"
#include "tensor/how_many.h"

namespace kiln::einsum {

namespace {

class Parser {
 public:
  Parser(std::string_view text, std::span<const Dims> shapes) : text_(text), shapes_(shapes) {
    equation_.sizes.fill(-1);
  }

  Equation run() {
    const std::size_t arrow = text_.find("->");
    read_operands(text_.substr(0, arrow));
    if (arrow == std::string_view::npos) {
      equation_.result = implied_result();
    } else {
      equation_.result = labels_of(text_.substr(arrow + 2), -1, -1);
      check_result();
    }
    return std::move(equation_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why, std::vector<int> operands = {}) const {
    throw OpError(ErrorKind::Value, fmt::format("einsum: \"{}\": {}", text_, why), std::move(operands));
  }

  static std::string name_of(int label) {
    if (label >= kLetters) return "a dimension of \"...\"";
    return fmt::format("'{}'", static_cast<char>(label < 26 ? 'a' + label : 'A' + label - 26));
  }
  int label_of(char c) const {
    if (c >= 'a' && c <= 'z') return c - 'a';
    if (c >= 'A' && c <= 'Z') return 26 + c - 'A';
    refuse(fmt::format("'{}' is not a letter", c));
  }

  // Of one operand of `rank`, or of the result when that is -1.
  Labels labels_of(std::string_view part, int rank, int operand) const {
    const auto letters = std::count_if(part.begin(), part.end(), [](char c) { return c != ' ' && c != '.'; });
    const int dots = rank >= 0 ? rank - static_cast<int>(letters) : ellipsis_;
    Labels labels;
    bool seen = false;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == ' ') continue;
      if (part[i] != '.') {
        labels.push_back(label_of(part[i]));
        continue;
      }
      if (seen || part.substr(i, 3) != "...") refuse("'.' stands only in one \"...\" per operand");
      if (dots > kEllipsisDims) refuse("\"...\" stands for too many dimensions");
      for (int d = 0; d < dots; ++d) labels.push_back(kLabels - dots + d);
      seen = true;
      i += 2;
    }
    if (rank >= 0 && static_cast<int>(labels.size()) != rank) {
      refuse(fmt::format("operand {} has {}, \"{}\" names {}", operand, how_many(rank, "dimension"), part,
                         letters),
             {operand});
    }
    return labels;
  }

  void read_operands(std::string_view left) {
    const auto named = static_cast<std::size_t>(std::count(left.begin(), left.end(), ',')) + 1;
    if (named != shapes_.size()) {
      refuse(fmt::format("names {} operand{}, given {} {}", named, named == 1 ? "" : "s",
                         shapes_.size() == 1 ? "is" : "are", shapes_.size()));
    }
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      const std::size_t comma = left.find(',');
      const Labels labels =
          labels_of(left.substr(0, comma), static_cast<int>(shapes_[i].size()), static_cast<int>(i));
      note_sizes(labels, shapes_[i], static_cast<int>(i));
      for (const int label : labels) ellipsis_ = std::max(ellipsis_, label >= kLetters ? kLabels - label : 0);
      equation_.operands.push_back(labels);
      left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
    }
  }

  // Sizes of 1 broadcast, but not along the diagonal of one operand.
  void note_sizes(const Labels& labels, const Dims& sizes, int operand) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto* first = std::find(labels.begin(), labels.end(), labels[i]);
      const Dim size_first = sizes[static_cast<std::size_t>(first - labels.begin())];
      if (size_first != sizes[i]) {
        refuse(fmt::format("{} has sizes {} and {} in operand {}", name_of(labels[i]), size_first, sizes[i],
                           operand),
               {operand});
      }
      const auto label = static_cast<std::size_t>(labels[i]);
      Dim& known = equation_.sizes[label];
      if (known == -1 || known == 1) {
        known = sizes[i];
        from_[label] = operand;
      } else if (sizes[i] != 1 && sizes[i] != known) {
        refuse(fmt::format("{} has size {} in operand {} and {} in operand {}", name_of(labels[i]), known,
                           from_[label], sizes[i], operand),
               {from_[label], operand});
      }
    }
  }

  // Without "->": the letters that occur once, in order of the alphabet, upper case first, after `...`.
  Labels implied_result() const {
    std::array<int, kLabels> counts{};
    for (const Labels& labels : equation_.operands)
      for (const int label : labels) ++counts[static_cast<std::size_t>(label)];
    Labels result;
    for (int label = kLetters; label < kLabels; ++label)
      if (counts[static_cast<std::size_t>(label)] > 0) result.push_back(label);
    for (int i = 0; i < kLetters; ++i) {
      const int label = i < 26 ? 26 + i : i - 26;
      if (counts[static_cast<std::size_t>(label)] == 1) result.push_back(label);
    }
    return result;
  }

  void check_result() const {
    LabelSet seen = 0;
    for (const int label : equation_.result) {
      if (equation_.sizes[static_cast<std::size_t>(label)] == -1)
        refuse(fmt::format("the result names {}, which no operand has", name_of(label)));
      if ((seen & bit(label)) != 0) refuse(fmt::format("the result names {} twice", name_of(label)));
      seen |= bit(label);
    }
  }

  std::string_view text_;
  std::span<const Dims> shapes_;
  Equation equation_;
  std::array<int, kLabels> from_{};  // the operand that gave a label its size
  int ellipsis_ = 0;                 // the most dimensions that a "..." stands for
};

// ---- The order of products ----

double volume(LabelSet labels, const Sizes& sizes) {
  double product = 1;
  for (; labels != 0; labels &= labels - 1)
    product *= static_cast<double>(sizes[static_cast<std::size_t>(std::countr_zero(labels))]);
  return product;
}

// The best order by dynamic programming over all subsets of the terms.
class BestOrder {
 public:
  BestOrder(std::span<const LabelSet> terms, LabelSet result, const Sizes& sizes)
      : terms_(terms), plans_(std::size_t{1} << terms.size()) {
    const std::size_t all = plans_.size() - 1;
    for (std::size_t set = 1; set <= all; ++set) {
      plans_[set].labels = labels_in(set) & (result | labels_in(all ^ set));
      if (!std::has_single_bit(set)) find_split(set, sizes);
    }
    place(all);
  }
  std::vector<Step> take() { return std::move(steps_); }

 private:
  struct Plan {
    LabelSet labels = 0;  // of the product of the subset
    double cost = 0;
    std::size_t left = 0;  // the part multiplied by the rest
  };

  LabelSet labels_in(std::size_t set) const {
    LabelSet labels = 0;
    for (; set != 0; set &= set - 1) labels |= terms_[static_cast<std::size_t>(std::countr_zero(set))];
    return labels;
  }
  void find_split(std::size_t set, const Sizes& sizes) {
    Plan& plan = plans_[set];
    const std::size_t first = set & (~set + 1);  // always on the left: each split is looked at once
    for (std::size_t left = (set - 1) & set; left != 0; left = (left - 1) & set) {
      if ((left & first) == 0) continue;
      const Plan& a = plans_[left];
      const Plan& b = plans_[set ^ left];
      const double cost = a.cost + b.cost + volume(a.labels | b.labels, sizes);
      if (plan.left != 0 && cost >= plan.cost) continue;
      plan.cost = cost;
      plan.left = left;
    }
  }
  // Appends the steps of a subset, gives the number of its product.
  int place(std::size_t set) {
    if (std::has_single_bit(set)) return std::countr_zero(set);
    const int left = place(plans_[set].left);
    const int right = place(set ^ plans_[set].left);
    steps_.push_back({left, right});
    return static_cast<int>(terms_.size() + steps_.size()) - 1;
  }

  std::span<const LabelSet> terms_;
  std::vector<Plan> plans_;
  std::vector<Step> steps_;
};

// The cheapest product first, and so on.
std::vector<Step> greedy_order(std::span<const LabelSet> operands, LabelSet result, const Sizes& sizes) {
  std::vector<LabelSet> terms(operands.begin(), operands.end());
  std::vector<int> live;
  for (std::size_t i = 0; i < terms.size(); ++i) live.push_back(static_cast<int>(i));
  const auto term = [&](std::size_t i) { return terms[static_cast<std::size_t>(live[i])]; };
  std::vector<Step> steps;
  while (live.size() > 1) {
    std::size_t left = 0, right = 1;
    for (std::size_t i = 0; i < live.size(); ++i) {
      for (std::size_t j = i + 1; j < live.size(); ++j) {
        if (volume(term(i) | term(j), sizes) < volume(term(left) | term(right), sizes)) left = i, right = j;
      }
    }
    steps.push_back({live[left], live[right]});
    LabelSet kept = result;
    for (std::size_t i = 0; i < live.size(); ++i)
      if (i != left && i != right) kept |= term(i);
    terms.push_back((term(left) | term(right)) & kept);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(right));
    live[left] = static_cast<int>(terms.size()) - 1;
  }
  return steps;
}

}  // namespace

Dims Equation::sizes_of(const Labels& labels) const {
  Dims found;
  for (const int label : labels) found.push_back(sizes[static_cast<std::size_t>(label)]);
  return found;
}

Equation parse_equation(std::string_view text, std::span<const Dims> shapes) {
  return Parser(text, shapes).run();
}

std::vector<Step> contraction_order(std::span<const LabelSet> terms, LabelSet result, const Sizes& sizes) {
  constexpr std::size_t kBest = 6;  // the search takes three times as long for each term more
  if (terms.size() < 2) return {};
  if (terms.size() == 2) return {{0, 1}};
  return terms.size() <= kBest ? BestOrder(terms, result, sizes).take() : greedy_order(terms, result, sizes);
}

}  // namespace kiln::einsum
