// A client that takes down what it is told.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "notebook/client.h"

namespace kiln::notebook {

struct Told {
  std::string kind;  // of a text the name of its stream
  std::string text;  // of a display its id
  Json data;
  CellError error;
};

class Recorder : public Client {
 public:
  std::vector<Told> all;
  std::string answer;

  // "stdout result"
  std::string kinds() const {
    std::string text;
    for (const Told& each : all) text += (text.empty() ? "" : " ") + each.kind;
    return text;
  }
  // Of any thread.
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return all.size();
  }

  // When text goes out depends on the clock: what stands together is one.
  void stream(const std::string& name, const std::string& text) override {
    const std::lock_guard lock(mutex_);
    if (all.empty() || all.back().kind != name) all.push_back({name, {}, {}, {}});
    all.back().text += text;
  }
  void display(Json data, const std::string& id) override { take({"display", id, std::move(data), {}}); }
  void update_display(Json data, const std::string& id) override {
    take({"update", id, std::move(data), {}});
  }
  void result(Json data) override { take({"result", {}, std::move(data), {}}); }
  void error(const CellError& error) override { take({"error", {}, {}, error}); }
  std::string ask(const std::string& prompt) override {
    take({"ask", prompt, {}, {}});
    return answer;
  }

 private:
  void take(Told told) {
    const std::lock_guard lock(mutex_);
    all.push_back(std::move(told));
  }
  std::mutex mutex_;
};

}  // namespace kiln::notebook
