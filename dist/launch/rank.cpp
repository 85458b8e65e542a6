#include "dist/launch/rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "dist/controller/agreement.h"
#include "dist/launch/peer_beats.h"
#include "dist/launch/socket.h"
#include "dist/transport/plugins.h"
#include "dist/transport/shm_transport.h"
#include "tensor/cuda/refusal.h"

namespace kiln::dist {
namespace {

RankLink* the_link = nullptr;
std::unique_ptr<PeerBeats> the_beats;  // of the epoch that was joined last; null where all are on this host

// New ranks wait for the others to commit; survivors hear of the next epoch at once.
constexpr std::chrono::minutes kElasticLimit{10};
constexpr std::chrono::seconds kNextEpoch{30};
constexpr std::chrono::milliseconds kLateLook{200};

std::string chosen_transport(const std::string& by_default) {
  const char* const chosen = std::getenv("KILN_TRANSPORT");
  return chosen == nullptr || *chosen == '\0' ? by_default : chosen;
}

// How often this process has joined, in which epoch, and where it stood.
struct Joined {
  int epoch = -1;
  int times = 0;
};
Joined joined;

// A job may be joined again after it was left, without a new epoch.
std::string scope_of(int epoch) {
  return "transport/" + std::to_string(epoch) + "/" + std::to_string(joined.times);
}

// Returns when all ranks are here to be connected. Where one is missing it looks for the others only shortly.
void wait_for_all(const std::string& scope, const RankPlace& place, std::chrono::milliseconds limit) {
  const auto key = [&](int rank) { return scope + "/come/" + std::to_string(rank); };
  the_link->set(key(place.rank), "");
  std::vector<int> missing;
  for (int rank = 0; rank < place.size; ++rank) {
    try {
      the_link->get(key(rank), missing.empty() ? limit : kLateLook);
    } catch (const NotSet&) {
      missing.push_back(rank);
    }
  }
  if (missing.empty()) return;
  throw PeerLost(missing, ranks_text(missing) + (missing.size() == 1 ? " has" : " have") +
                              " not called `dist.init()` within " + std::to_string(limit.count() / 1000) +
                              " s");
}

std::unique_ptr<Transport> connect(const RankPlace& place, int epoch, std::chrono::milliseconds limit) {
  if (place.size == 1) return make_self_transport();
  const bool is_one_host = place.local_size == place.size;
  const std::string scope = scope_of(epoch);
  wait_for_all(scope, place, limit);
  const std::string name = chosen_transport(is_one_host ? "shm" : "gloo");
  if (name == "shm" && is_one_host)
    return make_shm_transport(*the_link, scope, place.rank, place.size, limit);
  if (name == "shm") throw std::runtime_error("the transport `shm` is for ranks of one host");
  if (name == "gloo")
    return make_gloo_transport(*the_link, scope, place.rank, place.size, the_link->host_address(), limit);
  throw std::runtime_error("`kiln run` knows no transport `" + name + "`: there are `shm` and `gloo`");
}

// Ranks on other hosts may no longer be reached while the launcher is, and the other way round.
std::unique_ptr<PeerBeats> beats_with_peers(const RankPlace& place, int epoch,
                                            std::chrono::milliseconds limit) {
  if (place.local_size == place.size) return nullptr;
  const std::string scope = scope_of(epoch) + "/beats/", host = the_link->host_address();
  const LaunchedRank own = *launched_rank();
  Descriptor socket = bind_datagrams(host);
  the_link->set(scope + std::to_string(place.rank),
                std::to_string(own.number) + " " + host + ":" + std::to_string(port_of(socket)));
  std::map<int, std::string> peers;
  for (int rank = 0; rank < place.size; ++rank) {
    std::istringstream words(the_link->get(scope + std::to_string(rank), limit));
    int number = 0;
    std::string address;
    words >> number >> address;
    if (!address.starts_with(host + ":")) peers[number] = address;
  }
  return std::make_unique<PeerBeats>(
      std::move(socket), peers, own.number, hash_of(own.secret + scope),
      [](const std::vector<int>& unheard) { the_link->tell_unheard(unheard); });
}

// Joins the newest epoch that the launcher has begun.
Membership join_newest(const LaunchedRank& rank, std::chrono::milliseconds limit) {
  RankLink::Epoch epoch{rank.epoch, rank.place};
  if (const RankLink::Epoch newer = the_link->newest_epoch(); newer.number > epoch.number) epoch = newer;
  // A rank of a new host is taken in when it is here, and an epoch in which ranks were lost is over.
  if (epoch.number < 0) the_link->tell_ready();
  if (epoch.number < 0 || (epoch.number == joined.epoch && the_link->has_lost()))
    epoch = the_link->wait_for_epoch(joined.epoch, limit);
  joined = {epoch.number, epoch.number == joined.epoch ? joined.times + 1 : 0};
  the_link->begin_epoch(epoch.number);
  Membership membership{epoch.place, epoch.number, connect(epoch.place, epoch.number, limit)};
  the_beats = beats_with_peers(epoch.place, epoch.number, limit);
  return membership;
}

// Ranks may die while others connect: then these meet in the next epoch.
Membership join_launched(const LaunchedRank& rank, std::chrono::milliseconds limit) {
  if (!rank.is_elastic) return join_newest(rank, limit);
  for (;;) {
    try {
      return join_newest(rank, kElasticLimit);
    } catch (const PeerLost&) {
      the_link->wait_for_epoch(joined.epoch, kNextEpoch);
    }
  }
}

}  // namespace

RankProcessLink::RankProcessLink(const std::string& program) {
  const std::optional<LaunchedRank> rank = launched_rank();
  if (!rank) return;
  link_ =
      std::make_unique<RankLink>(rank->rendezvous, rank->secret, Hello{rank->number, rank->epoch, program});
  the_link = link_.get();
}

RankProcessLink::~RankProcessLink() {
  the_beats.reset();
  the_link = nullptr;
}

RankLink* launcher_link() { return the_link; }

std::string hash_of(const std::string& bytes) {
  // FNV-1a of 64 bits.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return std::to_string(hash);
}

int thread_share(const RankPlace& place, int most) {
  const auto processors = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp(processors / place.local_size, 1, most);
}

Membership join_job(std::chrono::milliseconds limit) {
  Membership membership;
  if (const std::optional<LaunchedRank> rank = launched_rank(); rank && the_link != nullptr) {
    membership = join_launched(*rank, limit);
    membership.transport->on_end([] {
      if (the_link != nullptr) the_link->on_lost({});
    });
    the_link->on_lost(
        [transport = membership.transport.get()](const std::vector<int>& ranks, const std::string& why) {
          transport->lose(ranks, why);
        });
  } else if (const std::optional<RankPlace> place = place_of_mpi()) {
    membership.place = *place;
    membership.transport = make_mpi_transport();
  } else {
    membership.transport = make_self_transport();
  }
  return membership;
}

bool has_newer_epoch() { return the_link != nullptr && the_link->newest_epoch().number > joined.epoch; }

bool has_transport(const std::string& name) {
  if (name == "nccl") return !cuda::refusal_of(cuda::nccl());
  return name == "shm" || has_plugin(name);
}

}  // namespace kiln::dist
