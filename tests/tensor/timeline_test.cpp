// The timeline: what is taken down, on which thread, and whose time is whose.
#include "tensor/timeline.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "tensor/functions.h"
#include "tensor/parallel.h"

namespace kiln::timeline::timeline_test {
namespace {

std::vector<std::string> names_of(const std::vector<Event>& events, Kind kind) {
  std::vector<std::string> names;
  for (const Event& each : events) {
    if (each.kind == kind) names.push_back(each.name);
  }
  return names;
}

TEST_CASE("nothing is taken down without a recording", "[timeline]") {
  {
    const Span before(Kind::Compile, "before");
  }
  Recording recording(Detail::Ops);
  CHECK(recording.stop().empty());
  {
    const Span after(Kind::Compile, "after");
  }
  Recording next(Detail::Ops);
  CHECK(next.stop().empty());
}

TEST_CASE("spans are in the order in which they began, and own what is not inside of them", "[timeline]") {
  Recording recording(Detail::Phases);
  {
    const Span outer(Kind::Capture, "outer");
    {
      const Span first(Kind::Compile, "first");
    }
    {
      const Span second(Kind::Compile, "second");
      const Span inside(Kind::Wait, "inside");
    }
  }
  const std::vector<Event> events = recording.stop();
  REQUIRE(events.size() == 4);
  CHECK(events[0].name == "outer");
  CHECK(events[1].name == "first");
  CHECK(events[2].name == "second");
  CHECK(events[3].name == "inside");
  const std::vector<std::int64_t> own = own_times(events);
  CHECK(own[0] == events[0].duration() - events[1].duration() - events[2].duration());
  CHECK(own[2] == events[2].duration() - events[3].duration());
  CHECK(own[3] == events[3].duration());
}

TEST_CASE("ops are taken down when they are asked for, or while capture runs them", "[timeline]") {
  const Tensor x = ops::ones(Dims{4});
  Recording phases(Detail::Phases);
  static_cast<void>(ops::exp(x));
  {
    const Span capture(Kind::Capture, "f");
    static_cast<void>(ops::sin(x));
  }
  CHECK(names_of(phases.stop(), Kind::Op) == std::vector<std::string>{"sin"});
  Recording all(Detail::Ops);
  static_cast<void>(ops::exp(x));
  CHECK(names_of(all.stop(), Kind::Op) == std::vector<std::string>{"exp"});
}

TEST_CASE("a line that is given with a span is kept, and files are kept once", "[timeline]") {
  const Line line = line_of("a.kiln", 7);
  CHECK(line.file == line_of(std::string("a.") + "kiln", 8).file);
  Recording recording(Detail::Ops);
  {
    const Span span(Kind::Kernel, "exp add", line);
  }
  const std::vector<Event> events = recording.stop();
  REQUIRE(events.size() == 1);
  CHECK(events[0].line == line);
}

TEST_CASE("other threads tell what they do on tracks of their own", "[timeline]") {
  Recording recording(Detail::Phases);
  {
    const Span here(Kind::Compile, "here");
  }
  std::thread([] { const Span there(Kind::Compile, "there"); }).join();
  const std::vector<Event> events = recording.stop();
  REQUIRE(events.size() == 2);
  CHECK(events[0].thread == 0);
  CHECK(events[1].thread == 1);
}

TEST_CASE("events may be taken while a recording goes on, and what is compiled is known", "[timeline]") {
  Recording recording(Detail::Phases);
  CHECK_FALSE(is_compiling());
  {
    const Span span(Kind::Compile, "open");
    CHECK(is_compiling());
    CHECK(recording.take().empty());
  }
  CHECK_FALSE(is_compiling());
  CHECK(recording.take().size() == 1);
  CHECK(recording.stop().empty());
}

TEST_CASE("an op knows how many bytes of tensors live when it has ended", "[timeline]") {
  // Threads of a pool tell what they do, too, and their events come after those of this thread.
  const auto last_bytes = [](std::vector<Event> events) {
    std::erase_if(events, [](const Event& event) { return event.thread != 0; });
    REQUIRE_FALSE(events.empty());
    return events.back().live_bytes;
  };
  Recording recording(Detail::Ops);
  {
    const Tensor x = ops::ones(Dims{1000, 250});
    const std::int64_t one = last_bytes(recording.take());
    CHECK(one >= 1'000'000);
    const Tensor y = ops::exp(x);
    CHECK(last_bytes(recording.take()) == one + 1'000'000);
    const Span phase(Kind::Compile, "phase");
  }
  CHECK(last_bytes(recording.stop()) == -1);
}

TEST_CASE("what goes on beside the threads is told with times of the day", "[timeline]") {
  using namespace std::chrono;
  const auto today = [] {
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  };
  tell_beside("before", "", today(), today());
  Recording recording(Detail::Ops);
  const std::int64_t begin = today();
  const Span here(Kind::Run, "here");
  tell_beside("`w`", "allreduce", begin, begin + 2000);
  const std::vector<Event> events = recording.stop();
  REQUIRE(events.size() == 1);
  CHECK(events[0].thread == kBeside);
  CHECK(events[0].phase == "allreduce");
  CHECK(events[0].duration() == 2'000'000);
  CHECK(std::abs(events[0].begin) < 1'000'000'000);
  CHECK(own_times(events).size() == 1);
}

TEST_CASE("one recording at a time", "[timeline]") {
  Recording recording(Detail::Phases);
  CHECK_THROWS_WITH(Recording(Detail::Ops), Catch::Contains("recorded already"));
}

}  // namespace
TEST_CASE("phases under way are seen from other threads, with the parts that are done", "[timeline]") {
  const auto names = [](const PhaseWatch& watch) {
    std::string text;
    std::thread([&] {
      for (const Phase& each : watch.open())
        text += each.name +
                (each.parts > 0 ? std::to_string(each.done) + "/" + std::to_string(each.parts) : "") + " ";
    }).join();
    return text;
  };
  {
    const PhaseWatch watch;
    CHECK(names(watch).empty());
    const Span outer(Kind::Capture, "outer");
    {
      const Span inner(Kind::Compile, "inner");
      const Parts parts(3);
      std::thread([&] {
        const Span elsewhere(Kind::Compile, "elsewhere");
        parts.are_done(2);
      }).join();
      CHECK(names(watch) == "outer inner2/3 ");
      Recording recording(Detail::Phases);
      const Span recorded(Kind::Compile, "recorded");
      CHECK(names(watch) == "outer inner2/3 recorded ");
    }
    CHECK(names(PhaseWatch()) == "outer ");
    CHECK(names(watch) == "outer ");
  }
  const Span after(Kind::Compile, "after");
  CHECK_FALSE(is_compiling());
}

}  // namespace kiln::timeline::timeline_test
