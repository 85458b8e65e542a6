#include "dist/launch/discovery.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace kiln::dist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeriod{1000};

// Lines are read as the list of `--hosts` is.
std::vector<HostSlots> parse_lines(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) return {};
  std::ranges::replace(text, '\n', ',');
  return parse_hosts(text);
}

}  // namespace

Discovery::Discovery(Poller& poller, std::string script) : poller_(poller), script_(std::move(script)) {}

Discovery::~Discovery() { forget_child(); }

std::vector<HostSlots> Discovery::ask() {
  begin();
  while (child_->output().get() >= 0) read();
  while (child_->is_running()) {
    usleep(1000);
    child_->reap();
  }
  const int status = child_->status();
  forget_child();
  if (status != 0) throw std::runtime_error("the script that discovers hosts failed: " + script_);
  return parse_lines(output_);
}

std::optional<std::vector<HostSlots>> Discovery::look() {
  if (!child_) {
    if (Clock::now() < next_) return std::nullopt;
    begin();
    poller_.add(child_->output().get(), [this] { read(); });
  }
  child_->reap();
  if (child_->is_running() || child_->output().get() >= 0) return std::nullopt;
  const int status = child_->status();
  forget_child();
  if (status != 0) return std::nullopt;
  try {
    return parse_lines(output_);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

void Discovery::begin() {
  output_.clear();
  child_ = std::make_unique<Child>(ChildOptions{{"sh", "-c", script_}, {}, false, true, true});
  next_ = Clock::now() + kPeriod;
}

void Discovery::read() {
  std::array<char, 4096> bytes;
  const int descriptor = child_->output().get();
  const ssize_t count = ::read(descriptor, bytes.data(), bytes.size());
  if (count > 0) {
    output_.append(bytes.data(), static_cast<std::size_t>(count));
  } else {
    poller_.remove(descriptor);
    child_->output().close();
  }
}

void Discovery::forget_child() {
  if (child_ && child_->output().get() >= 0) poller_.remove(child_->output().get());
  child_.reset();
}

}  // namespace kiln::dist
