#include "repl/trace.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dist/launch/rank.h"
#include "dist/transport/store.h"
#include "interpreter/host/rank_job.h"
#include "interpreter/trace_text.h"
#include "repl/write_text.h"

namespace kiln::repl {
namespace {

using namespace std::chrono_literals;

constexpr auto kLimit = 30s;               // for what another rank sends
constexpr std::size_t kPiece = 1U << 20U;  // bytes of one message
int traces_sent = 0;                       // all ranks count alike

dist::RankPlace place() {
  if (dist::RankLink* const link = dist::launcher_link()) {
    if (const dist::RankLink::Epoch epoch = link->newest_epoch(); epoch.number >= 0) return epoch.place;
  }
  return interp::rank_place();
}

// Files of ranks that another launcher started stay apart, since ranks send theirs through our launcher.
std::string path_of_rank(const std::string& path) {
  const int rank = place().rank;
  if (rank == 0 || dist::launcher_link() != nullptr) return path;
  const std::size_t dot = std::min(path.rfind('.'), path.size());
  return path.substr(0, dot) + ".rank" + std::to_string(rank) + path.substr(dot);
}

bool is_sent() { return dist::launcher_link() != nullptr && place().rank > 0; }

std::string key(int rank, const std::string& what) {
  return fmt::format("trace/{}/{}/{}", traces_sent, rank, what);
}

void send(int rank, const std::string& text) {
  dist::RankLink& link = *dist::launcher_link();
  const std::size_t pieces = (text.size() + kPiece - 1) / kPiece;
  for (std::size_t k = 0; k < pieces; ++k)
    link.set(key(rank, std::to_string(k)), text.substr(k * kPiece, kPiece));
  link.set(key(rank, "pieces"), std::to_string(pieces));
}

// What a rank said before it was lost is there, though the loss is what is told first.
std::string value_of(const std::string& name) {
  constexpr int kTries = 20;
  for (int k = 0;; ++k) {
    try {
      return dist::launcher_link()->get(name, kLimit);
    } catch (const dist::NotSet&) {
      throw;
    } catch (const dist::PeerLost&) {
      if (k == kTries) throw;
      std::this_thread::sleep_for(50ms);
    }
  }
}

// Nothing of a rank that has sent nothing.
std::optional<std::string> received(int rank) try {
  std::string text;
  const int pieces = std::stoi(value_of(key(rank, "pieces")));
  for (int k = 0; k < pieces; ++k) text += value_of(key(rank, std::to_string(k)));
  return text;
} catch (const std::runtime_error&) {
  return std::nullopt;
}

}  // namespace

Trace::Trace(std::string path) : path_(path_of_rank(path)), recording_(timeline::Detail::Ops) {
  if (!is_sent()) check_writable(path_);
}

std::string Trace::finish() {
  const std::vector<timeline::Event> events = recording_.stop();
  const dist::RankPlace own = place();
  interp::TracedProcess process;
  if (own.size > 1) process = {own.rank, fmt::format("rank {}", own.rank)};
  const bool is_of_job = own.size > 1 && dist::launcher_link() != nullptr;
  if (is_of_job) process.begin = recording_.began() + dist::launcher_link()->to_job_clock();
  std::vector<std::string> ranks{interp::trace_events(events, process)};
  std::string missing;
  if (is_of_job) {
    ++traces_sent;
    if (own.rank > 0) {
      send(own.rank, ranks.front());
      return {};
    }
    for (int rank = 1; rank < own.size; ++rank) {
      std::optional<std::string> text = received(rank);
      if (text) {
        ranks.push_back(*std::move(text));
      } else {
        missing += fmt::format("; rank {} sent nothing", rank);
      }
    }
  }
  write_text(path_, interp::trace_of(ranks));
  return fmt::format("wrote {}, which Perfetto opens (ui.perfetto.dev){}\n", path_, missing);
}

}  // namespace kiln::repl
