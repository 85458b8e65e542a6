#include "dist/launch/rank_place.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace kiln::dist {
namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value).ptr != end) return std::nullopt;
  return value;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

HostSlots parse_host(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::optional<int> slots =
      colon == std::string::npos ? 1 : number(std::string_view(text).substr(colon + 1));
  const std::string name = text.substr(0, colon);
  if (name.empty() || !slots || *slots < 1)
    throw std::invalid_argument("`" + text + "` is no host with a number of ranks, such as `a:2`");
  return {name, *slots};
}

std::optional<LaunchedRank> read_environment() {
  const auto number_of = [](const char* name) { return number(variable(name)); };
  LaunchedRank rank;
  rank.rendezvous = variable("KILN_RENDEZVOUS");
  if (rank.rendezvous.empty()) return std::nullopt;
  for (const auto& [name, into] : {std::pair{"KILN_RANK", &rank.place.rank},
                                   {"KILN_SIZE", &rank.place.size},
                                   {"KILN_LOCAL_RANK", &rank.place.local_rank},
                                   {"KILN_LOCAL_SIZE", &rank.place.local_size},
                                   {"KILN_CROSS_RANK", &rank.place.cross_rank},
                                   {"KILN_CROSS_SIZE", &rank.place.cross_size},
                                   {"KILN_EPOCH", &rank.epoch},
                                   {"KILN_NUMBER", &rank.number}}) {
    const std::optional<int> value = number_of(name);
    if (!value) throw std::runtime_error(std::string(name) + " is no number; `kiln run` sets it");
    *into = *value;
  }
  rank.secret = variable("KILN_JOB");
  rank.is_prompt = variable("KILN_PROMPT") == "1";
  rank.is_elastic = variable("KILN_ELASTIC") == "1";
  return rank;
}

}  // namespace

std::vector<HostSlots> parse_hosts(const std::string& text) {
  std::vector<HostSlots> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const HostSlots host = parse_host(text.substr(begin, comma - begin));
    if (std::ranges::any_of(hosts, [&](const HostSlots& other) { return other.name == host.name; }))
      throw std::invalid_argument("the host `" + host.name + "` is named twice");
    hosts.push_back(host);
    begin = comma + 1;
  }
  return hosts;
}

std::string place_text(const RankPlace& place) {
  std::string text;
  for (const int number :
       {place.rank, place.size, place.local_rank, place.local_size, place.cross_rank, place.cross_size})
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

RankPlace parse_place(const std::string& text) {
  RankPlace place;
  std::istringstream words(text);
  if (words >> place.rank >> place.size >> place.local_rank >> place.local_size >> place.cross_rank >>
      place.cross_size)
    return place;
  throw std::runtime_error("`" + text + "` is no place of a rank");
}

std::vector<RankPlace> places_on(const std::vector<std::size_t>& hosts) {
  const int size = static_cast<int>(hosts.size());
  std::vector<RankPlace> places;
  std::map<std::size_t, int> filled;  // ranks on each host
  for (const std::size_t host : hosts)
    places.push_back({static_cast<int>(places.size()), size, filled[host]++, 0, 0, 0});
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    RankPlace& place = places[rank];
    place.local_size = filled[hosts[rank]];
    for (const auto& [host, ranks] : filled) {
      if (ranks <= place.local_rank) continue;
      ++place.cross_size;
      if (host < hosts[rank]) ++place.cross_rank;
    }
  }
  return places;
}

std::vector<std::string> environment_of(const LaunchedRank& rank) {
  const RankPlace& place = rank.place;
  std::vector<std::string> variables{"KILN_RANK=" + std::to_string(place.rank),
                                     "KILN_SIZE=" + std::to_string(place.size),
                                     "KILN_LOCAL_RANK=" + std::to_string(place.local_rank),
                                     "KILN_LOCAL_SIZE=" + std::to_string(place.local_size),
                                     "KILN_CROSS_RANK=" + std::to_string(place.cross_rank),
                                     "KILN_CROSS_SIZE=" + std::to_string(place.cross_size),
                                     "KILN_RENDEZVOUS=" + rank.rendezvous,
                                     "KILN_JOB=" + rank.secret,
                                     "KILN_EPOCH=" + std::to_string(rank.epoch),
                                     "KILN_NUMBER=" + std::to_string(rank.number)};
  if (rank.is_prompt) variables.emplace_back("KILN_PROMPT=1");
  if (rank.is_elastic) variables.emplace_back("KILN_ELASTIC=1");
  return variables;
}

std::optional<LaunchedRank> launched_rank() {
  static const std::optional<LaunchedRank> rank = [] {
    const std::optional<LaunchedRank> found = read_environment();
    // What the rank starts is not told to be the rank.
    for (const char* const name : {"KILN_RENDEZVOUS", "KILN_JOB"}) unsetenv(name);
    return found;
  }();
  return rank;
}

std::optional<RankPlace> place_of_mpi() {
  const auto rank = number(variable("OMPI_COMM_WORLD_RANK")), size = number(variable("OMPI_COMM_WORLD_SIZE"));
  if (!rank || !size) return std::nullopt;
  RankPlace place{*rank, *size};
  place.local_rank = number(variable("OMPI_COMM_WORLD_LOCAL_RANK")).value_or(0);
  place.local_size = number(variable("OMPI_COMM_WORLD_LOCAL_SIZE")).value_or(1);
  // Hosts are filled in order and alike, which is how `mpirun` places ranks unless told otherwise.
  place.cross_size = (place.size + place.local_size - 1) / place.local_size;
  place.cross_rank = place.rank / place.local_size;
  return place;
}

}  // namespace kiln::dist
