// Where a library is looked for, in which order, by the names of one that no machine has.
#include <catch2/catch.hpp>

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tensor/cuda/library_search.h"
#include "tests/cuda/child.h"

namespace kiln::library_search_test {

using namespace kiln::testing;
namespace fs = std::filesystem;

namespace {

// Folders with libraries in them, for the time of a test.
class Tree {
 public:
  Tree() {
    std::string pattern = (fs::temp_directory_path() / "kiln_search_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  std::string path(const std::string& inner) const { return (root_ / inner).string(); }
  std::string add_library(const std::string& inner) const {
    fs::create_directories((root_ / inner).parent_path());
    fs::copy_file(KILN_FAKE_INCOMPLETE, root_ / inner);
    return path(inner);
  }
  void add_text(const std::string& inner, const std::string& text, bool is_program = false) const {
    fs::create_directories((root_ / inner).parent_path());
    std::ofstream(root_ / inner) << text;
    if (is_program) fs::permissions(root_ / inner, fs::perms::owner_all);
  }
  // A python3 that looks for packages in a folder of the tree, and where PATH finds it.
  Variables python(const std::string& packages) const {
    add_text("bin/python3", "#!/bin/sh\necho " + path(packages) + "\n", true);
    return {{"PATH", path("bin") + ":/usr/bin:/bin"}};
  }

 private:
  fs::path root_;
};

cuda::LibraryName sample() { return {"KILN_SEARCH", {"libkiln_search.so.13", "libkiln_search.so.12"}, true}; }

std::string text_of(const cuda::OpenLibrary& found) {
  if (found.handle == nullptr) return found.problem.empty() ? "nothing" : "problem: " + found.problem;
  return found.path + " by " + found.found_by;
}

std::string found(const Variables& variables, const cuda::LibraryName& name = sample()) {
  return in_child(variables, [&] { return text_of(cuda::find_library(name)); });
}

const std::string kNewer = "libkiln_search.so.13", kOlder = "libkiln_search.so.12";

}  // namespace

TEST_CASE("a library that is nowhere is not found", "[search]") {
  const Tree tree;
  CHECK(found({{"PATH", ""}}) == "nothing");
  CHECK(found(tree.python("none")) == "nothing");
  CHECK(found({{"CUDA_HOME", tree.path("none")}, {"PATH", "/none"}}) == "nothing");
}

TEST_CASE("the variable comes first, and nothing else is tried", "[search]") {
  const Tree tree;
  const std::string named = tree.add_library("named.so"), in_home = tree.add_library("home/lib64/" + kNewer);
  CHECK(found({{"KILN_SEARCH", named}, {"CUDA_HOME", tree.path("home")}}) == named + " by KILN_SEARCH");
  CHECK(found({{"KILN_SEARCH", ""}, {"CUDA_HOME", tree.path("home")}}) == in_home + " by CUDA_HOME");
  CHECK(found({{"KILN_SEARCH", "/no/file"}, {"CUDA_HOME", tree.path("home")}}) ==
        "problem: /no/file: cannot open shared object file: No such file or directory");
}

TEST_CASE("a library that is loaded already comes before one on the disk", "[search]") {
  const Tree tree;
  const std::string loaded = tree.add_library("elsewhere/" + kNewer);
  tree.add_library("home/lib64/" + kNewer);
  CHECK(in_child({{"CUDA_HOME", tree.path("home")}}, [&]() -> std::string {
          if (dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) return dlerror();
          return text_of(cuda::find_library(sample()));
        }) == loaded + " by already loaded");
}

TEST_CASE("what the system finds comes before toolkits", "[search]") {
  const Tree tree;
  tree.add_library("home/lib64/libc.so.6");
  const std::string by = found({{"CUDA_HOME", tree.path("home")}}, {"KILN_SEARCH", {"libutil.so.1"}, true});
  CHECK((by.ends_with(" by the system") || by.ends_with(" by already loaded")));
}

TEST_CASE("toolkits are looked into in their order, each for the newer library first", "[search]") {
  const Tree tree;
  const std::string home_older = tree.add_library("home/lib/" + kOlder);
  const std::string path_newer = tree.add_library("path/lib64/" + kNewer);
  const std::string path_older = tree.add_library("path/lib64/" + kOlder);
  const Variables both = {{"CUDA_HOME", tree.path("home")}, {"CUDA_PATH", tree.path("path")}};
  CHECK(found(both) == home_older + " by CUDA_HOME");
  CHECK(found({{"CUDA_PATH", tree.path("path")}}) == path_newer + " by CUDA_PATH");
  CHECK(found(both, {"KILN_SEARCH", {kOlder}, true}) == home_older + " by CUDA_HOME");
  CHECK(found({{"CUDA_PATH", tree.path("path")}}, {"KILN_SEARCH", {kOlder}, true}) ==
        path_older + " by CUDA_PATH");
}

TEST_CASE("packages of python3 come last", "[search]") {
  const Tree tree;
  const std::string older = tree.add_library("site/nvidia/cuda_nvrtc/lib/" + kOlder);
  CHECK(found(tree.python("site")) == older + " by python3");
  const std::string newer = tree.add_library("site/nvidia/cu13/lib/" + kNewer);
  Variables variables = tree.python("site");
  CHECK(found(variables) == newer + " by python3");
  tree.add_library("site/nvidia/a/include/lib/" + kNewer);
  CHECK(found(variables) == newer + " by python3");
  variables.emplace_back("CUDA_HOME", tree.path("home"));
  CHECK(found(variables) == newer + " by python3");
  const std::string in_home = tree.add_library("home/lib64/" + kOlder);
  CHECK(found(variables) == in_home + " by CUDA_HOME");
  CHECK(found(variables, {"KILN_SEARCH", {kNewer, kOlder}, false}) == "nothing");
}

TEST_CASE("the folder that a program is run in holds no libraries of python3's", "[search]") {
  const Tree tree;
  tree.add_library("nvidia/cu13/lib/" + kNewer);
  tree.add_text("bin/python3", "#!/bin/sh\necho\n", true);
  CHECK(in_child({{"PATH", tree.path("bin") + ":/usr/bin:/bin"}}, [&] {
          fs::current_path(tree.path(""));
          return text_of(cuda::find_library(sample()));
        }) == "nothing");
}

TEST_CASE("a file that cannot be loaded is told where there is no other", "[search]") {
  const Tree tree;
  tree.add_text("home/lib64/" + kNewer, "");
  const Variables home = {{"CUDA_HOME", tree.path("home")}, {"PATH", "/none"}};
  CHECK(found(home) == "problem: " + tree.path("home/lib64/" + kNewer) + ": file too short");
  const std::string good = tree.add_library("home/lib64/" + kOlder);
  CHECK(found(home) == good + " by CUDA_HOME");
}

}  // namespace kiln::library_search_test
