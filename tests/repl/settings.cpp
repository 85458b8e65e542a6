// Settings that last: what is kept in the file, what is not, and that the file loses nothing.
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "repl/kept_settings.h"
#include "repl/session.h"

namespace kiln::settings_test {

using namespace kiln::repl;

namespace {

struct Home {
  std::string folder = "/tmp/kiln-test-XXXXXX";
  Home() { REQUIRE(mkdtemp(folder.data()) != nullptr); }
  ~Home() { std::filesystem::remove_all(folder); }
  std::string file() const { return folder + "/config/settings"; }
  std::string text() const { return read_text(file()); }
  void write(const std::string& content) const {
    std::filesystem::create_directories(folder + "/config");
    std::ofstream(file()) << content;
  }
};

// A session at a terminal, as far as settings are concerned. The tests change what is the session's own.
struct Terminal {
  explicit Terminal(const std::string& file, const std::vector<std::string_view>& given = {})
      : session(options(file)) {
    session.settings().apply(session, given);
    warnings = session.eval("none").diagnostics;
  }
  static Session::Options options(const std::string& file) {
    Session::Options options;
    options.interactive = options.numbers = true;
    options.settings_file = file;
    return options;
  }
  std::string operator()(std::string_view entry) {
    const Result result = session.eval(entry);
    return result.output + result.diagnostics;
  }
  Session session;
  std::string warnings;
};

}  // namespace

TEST_CASE("what is set at a terminal is there in the next session, until it is reset") {
  const Home home;
  {
    Terminal terminal(home.file());
    CHECK(terminal(":set numbers off") == "numbers is off here and in later sessions\n");
    CHECK(terminal(":set color on") == "color is on here and in later sessions\n");
    CHECK(terminal(":set color = off") == "color is off here and in later sessions\n");
    CHECK(home.text() == "numbers = off\ncolor = off\n");
  }
  Terminal next(home.file());
  CHECK(next.warnings.empty());
  CHECK_FALSE(next.session.options().numbers);
  CHECK(next(":set reset numbers").empty());
  CHECK(next.session.options().numbers);
  CHECK(home.text() == "color = off\n");
  next(":set numbers off");
  CHECK(next(":set reset").empty());
  CHECK(next.session.options().numbers);
  CHECK(home.text().empty());
}

TEST_CASE("what is not kept is said") {
  const Home home;
  Terminal terminal(home.file());
  CHECK(terminal(":set device cpu") ==
        "device is cpu in this session alone: a later session may find no such device\n");
  CHECK_FALSE(std::filesystem::exists(home.file()));
  Terminal without("");
  CHECK(without(":set numbers off") == "numbers is off in this session alone: `--no-init` keeps nothing\n");
  Session piped({});
  CHECK(piped.eval(":set numbers on").output.empty());
}

TEST_CASE("a line that sets nothing is warned of and stays") {
  const Home home;
  const std::string before = "# mine\nnumbrs = off\n\nnumbers = perhaps\ndevice = cuda\ncolor=on # loud\n";
  home.write(before);
  Terminal terminal(home.file());
  CHECK(terminal.warnings == "warning: " + home.file() +
                                 ":2: there is no setting `numbrs`; did you mean `:set numbers`?\n"
                                 "warning: " +
                                 home.file() +
                                 ":4: `numbers` takes on or off, not `perhaps`\n"
                                 "warning: " +
                                 home.file() +
                                 ":5: `device` is not kept: a later session may find no such device\n");
  CHECK(terminal.session.color());
  CHECK(terminal.session.options().numbers);
  terminal(":set color off");
  CHECK(home.text() == "# mine\nnumbrs = off\n\nnumbers = perhaps\ndevice = cuda\ncolor = off\n");
}

TEST_CASE("a file that is no text is warned of and left alone") {
  const Home home;
  const std::string before("color\0 = off\n", 13);
  home.write(before);
  Terminal terminal(home.file());
  CHECK(terminal.warnings == "warning: settings are as they come: cannot read '" + home.file() +
                                 "': it is not text; Kiln reads UTF-8 text\n");
  CHECK(terminal(":set color on").starts_with("color is on in this session alone: cannot read '"));
  std::ifstream file(home.file());
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == before);
}

TEST_CASE("what the command line gave is not changed by the file") {
  const Home home;
  home.write("color = on\nnumbers = off\n");
  Terminal terminal(home.file(), {"color"});
  CHECK_FALSE(terminal.session.color());
  CHECK_FALSE(terminal.session.options().numbers);
}

}  // namespace kiln::settings_test
