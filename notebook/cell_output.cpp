#include "notebook/cell_output.h"

#include <algorithm>

#include "tensor/held_signals.h"

namespace kiln::notebook {
namespace {

constexpr std::chrono::milliseconds kPatience{50};
constexpr std::size_t kMuch = std::size_t{1} << 15U;

// The bytes before a character of UTF-8 that is cut off by the end.
std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(text.size(), 3); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0U) == 0x80U) continue;
    const std::size_t length = byte >= 0xf0U ? 4 : byte >= 0xe0U ? 3 : byte >= 0xc0U ? 2 : 1;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace

CellOutput::CellOutput(Client& client, bool captures) : client_(client), captured_(captures) {
  mutex_.lock();
  const HeldSignals held;
  watcher_ = std::thread([this] { watch(); });
}

CellOutput::~CellOutput() {
  ends_ = true;
  mutex_.unlock();
  watcher_.join();
}

void CellOutput::begin_cell() {
  is_cell_ = true;
  mutex_.unlock();
}

void CellOutput::end_cell() {
  const HeldSignals held;
  mutex_.lock();
  is_cell_ = false;
  take_captured();
  send_text();
}

void CellOutput::watch() {
  for (;;) {
    captured_.wait(kPatience);
    const std::lock_guard lock(mutex_);
    if (ends_) return;
    take_captured();
    if (Clock::now() - sent_ >= kPatience) send_whole_characters();
  }
}

void CellOutput::take_captured() {
  captured_.take([&](std::string_view name, std::string_view text) { add(name, text); });
}

void CellOutput::add(std::string_view name, std::string_view text) {
  if (name != name_) send_text();
  name_ = name;
  text_ += text;
  if (text_.size() >= kMuch) send_whole_characters();
}

void CellOutput::send_whole_characters() {
  const std::string rest = text_.substr(whole_characters(text_));
  text_.resize(text_.size() - rest.size());
  send_text();
  text_ = rest;
}

void CellOutput::send_text() {
  if (!text_.empty()) client_.stream(name_, text_);
  text_.clear();
  sent_ = Clock::now();
}

// Between cells the thread that runs them holds the lock anyhow.
std::unique_lock<std::mutex> CellOutput::own_lock() {
  return is_cell_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

void CellOutput::write(std::string_view name, std::string_view text) {
  const HeldSignals held;  // messages are sent whole
  const auto lock = own_lock();
  take_captured();
  add(name, text);
}

void CellOutput::show(const std::function<void(Client&)>& tell) {
  const HeldSignals held;  // messages are sent whole
  const auto lock = own_lock();
  take_captured();
  send_text();
  tell(client_);
}

}  // namespace kiln::notebook
