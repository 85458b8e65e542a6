// What a launcher is made of: places of ranks, messages, lines, marked errors, and what is said of a job's
// end.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "dist/launch/error_mark.h"
#include "dist/launch/lines.h"
#include "dist/launch/message.h"
#include "dist/launch/rank_place.h"
#include "dist/launch/remote_command.h"
#include "dist/launch/unheard_ranks.h"
#include "dist/launch/verdict.h"

namespace kiln::launch_parts_test {

using namespace kiln::dist;

TEST_CASE("hosts are read from a list", "[launch]") {
  const auto hosts = parse_hosts("a:2,10.0.0.1:4,b");
  REQUIRE(hosts.size() == 3);
  CHECK((hosts[0].name == "a" && hosts[0].slots == 2));
  CHECK((hosts[1].name == "10.0.0.1" && hosts[1].slots == 4));
  CHECK((hosts[2].name == "b" && hosts[2].slots == 1));
  CHECK_THROWS_WITH(parse_hosts("a:0"), "`a:0` is no host with a number of ranks, such as `a:2`");
  CHECK_THROWS_WITH(parse_hosts("a:2,"), "`` is no host with a number of ranks, such as `a:2`");
  CHECK_THROWS_WITH(parse_hosts("a,a"), "the host `a` is named twice");
}

TEST_CASE("ranks fill the hosts in order", "[launch]") {
  std::vector<std::vector<int>> places;
  for (const RankPlace& p : places_on({0, 0, 0, 1, 2}))
    places.push_back({p.rank, p.size, p.local_rank, p.local_size, p.cross_rank, p.cross_size});
  CHECK(places == std::vector<std::vector<int>>{{0, 5, 0, 3, 0, 3},
                                                {1, 5, 1, 3, 0, 1},
                                                {2, 5, 2, 3, 0, 1},
                                                {3, 5, 0, 1, 1, 3},
                                                {4, 5, 0, 1, 2, 3}});
  const RankPlace place = parse_place(place_text({3, 5, 0, 1, 1, 3}));
  CHECK((place.rank == 3 && place.size == 5 && place.local_size == 1 && place.cross_size == 3));
  CHECK_THROWS_AS(parse_place("1 2"), std::runtime_error);
}

TEST_CASE("messages survive being cut anywhere", "[launch]") {
  const std::string bytes = encode({Message::Kind::Set, "key", "value"}) +
                            encode({Message::Kind::Beat, "", ""}) +
                            encode({Message::Kind::Goodbye, std::string("\0\n", 2), ""});
  MessageReader reader;
  std::vector<Message> messages;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    while (auto message = reader.next()) messages.push_back(*message);
  }
  REQUIRE(messages.size() == 3);
  CHECK((messages[0].kind == Message::Kind::Set && messages[0].key == "key" && messages[0].value == "value"));
  CHECK(messages[1].kind == Message::Kind::Beat);
  CHECK(messages[2].key == std::string("\0\n", 2));
  reader.feed("GET / HTTP/1.1\r\n");
  CHECK_THROWS_AS(reader.next(), std::runtime_error);
}

TEST_CASE("of ranks that do not reach each other some leave, so that the rest do", "[launch]") {
  using Clock = UnheardRanks::Clock;
  const Clock::time_point begin{};
  const auto leavers = [&](const std::vector<std::pair<int, std::vector<int>>>& reports, int silent = -1) {
    UnheardRanks unheard;
    for (const auto& [rank, others] : reports) unheard.note(rank, others, begin);
    std::vector<std::pair<int, int>> found;
    for (const auto& each : unheard.leavers(begin + std::chrono::seconds(1), std::chrono::seconds(1),
                                            [&](int rank) { return rank == silent; }))
      found.emplace_back(each.rank, each.unreached);
    return found;
  };
  using Found = std::vector<std::pair<int, int>>;
  CHECK(leavers({}) == Found{});
  CHECK(leavers({{1, {2}}}) == Found{{2, 1}});
  CHECK(leavers({{2, {1}}, {1, {2}}}) == Found{{2, 1}});
  // Rank 0 is the one that reaches none of the others.
  CHECK(leavers({{1, {0}}, {2, {0}}}) == Found{{0, 1}});
  CHECK(leavers({{0, {2, 3}}, {1, {2, 3}}}) == Found{{3, 0}, {2, 0}});
  // Who is gone for the launcher as well is no reason for others to leave.
  CHECK(leavers({{0, {1}}, {2, {1}}}, 1) == Found{});
  CHECK(leavers({{1, {2}}, {1, {}}}) == Found{});
  UnheardRanks unheard;
  unheard.note(0, {1}, begin);
  CHECK(unheard.leavers(begin, std::chrono::seconds(1), [](int) { return false; }).empty());
}

TEST_CASE("a stream is cut into whole lines", "[launch]") {
  std::vector<std::string> lines;
  LineCutter cutter([&](std::string_view line) { lines.emplace_back(line); });
  for (const char* part : {"a", "b\nc\n", "\nd"}) cutter.feed(part);
  CHECK(lines == std::vector<std::string>{"ab", "c", ""});
  cutter.finish();
  CHECK(lines.back() == "d");
}

TEST_CASE("a marked error is taken out of what a rank writes", "[launch]") {
  ErrorReader reader;
  std::string plain;
  LineCutter lines([&](std::string_view line) {
    if (const auto rest = reader.take(line)) plain += std::string(*rest) + "\n";
  });
  lines.feed("before\n" + marked({"ValueError", "ValueError: no\n  at x\n"}) + "after\n");
  CHECK(plain == "before\nafter\n");
  REQUIRE(reader.error());
  CHECK(reader.error()->kind == "ValueError");
  CHECK(reader.error()->text == "ValueError: no\n  at x\n");
}

namespace {

RankEnd stopped(int rank) {
  RankEnd end{rank, {}, 15, {}, {}, true};
  return end;
}
RankEnd failed(int rank, const std::string& kind, const std::string& text) {
  return {rank, 1, {}, RankError{kind, text}, {}, false};
}

}  // namespace

TEST_CASE("a job's end is told once, by its cause", "[launch]") {
  const RankEnd fine{0, 0, {}, {}, {}, false};
  CHECK(judge(std::vector{fine}).exit_code == 0);
  CHECK(judge(std::vector{fine}).text.empty());

  const RankEnd killed{2, {}, 9, {}, {}, false};
  Verdict verdict = judge(std::vector{stopped(0), failed(1, "RanksLost", "RanksLost: rank 2\n"), killed});
  CHECK(verdict.exit_code == 137);
  CHECK(verdict.text == "kiln run: rank 2 was killed by signal 9 (Killed); the other ranks were stopped\n");

  verdict = judge(
      std::vector{failed(0, "ValueError", "ValueError: x\n"), failed(1, "ValueError", "ValueError: x\n"),
                  failed(2, "RanksLost", "RanksLost: y\n"), failed(3, "ValueError", "ValueError: x\n")});
  CHECK(verdict.exit_code == 1);
  CHECK(verdict.text ==
        "ValueError: x\nkiln run: this error ended ranks 0, 1 and 3; the other ranks were stopped\n");

  CHECK(judge(std::vector{failed(0, "ValueError", "ValueError: x\n")}).text == "ValueError: x\n");

  const RankEnd silent{1, {}, {}, {}, "gave no sign of life for 10 s", false};
  CHECK(judge(std::vector{stopped(0), silent}).text ==
        "kiln run: rank 1 gave no sign of life for 10 s; the other ranks were stopped\n");

  const RankEnd left{1, 3, {}, {}, "closed its connection to the launcher", false};
  CHECK(judge(std::vector{stopped(0), left}).text ==
        "kiln run: rank 1 left with exit code 3; the other ranks were stopped\n");
}

TEST_CASE("a command travels to another host whatever its words hold", "[launch]") {
  const std::vector<std::string> words = remote_command({"ssh", "-q", "{host}"}, "b", {"KILN_RANK=1"},
                                                        {"/usr/bin/kiln", "a file.kiln", "$HOME", "'", ""});
  REQUIRE(words.size() == 7);
  CHECK(std::vector(words.begin(), words.begin() + 5) ==
        std::vector<std::string>{"ssh", "-q", "b", "env", "KILN_RANK=1"});
  CHECK(words[6] == "/usr/bin/kiln");
  for (const std::string& word : words) CHECK(word.find_first_of(" $'\"") == std::string::npos);

  const std::size_t equals = words[5].find('=');
  setenv(words[5].substr(0, equals).c_str(), words[5].substr(equals + 1).c_str(), 1);
  CHECK(unpacked_arguments({"else"}) == std::vector<std::string>{"a file.kiln", "$HOME", "'", ""});
  CHECK(unpacked_arguments({"else"}) == std::vector<std::string>{"else"});
  setenv("KILN_TEST_PLAIN", "a-1", 1);
  setenv("KILN_TEST_SPACES", "a b", 1);
  const std::vector<std::string> sent = settings_to_send();
  CHECK(std::ranges::count(sent, "KILN_TEST_PLAIN=a-1") == 1);
  CHECK(std::ranges::none_of(sent,
                             [](const std::string& each) { return each.starts_with("KILN_TEST_SPACES"); }));
  CHECK(remote_command({"rsh"}, "b", {}, {"kiln"})[1] == "b");
}

}  // namespace kiln::launch_parts_test
