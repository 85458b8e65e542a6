#include "editor/workspace.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "editor/program.h"
#include "repl/completion.h"
#include "repl/documentation.h"

namespace kiln::editor {
namespace {

using Clock = Worker::Clock;

// Typing that goes on starts no check.
constexpr auto kPause = std::chrono::milliseconds(60);
constexpr auto kLongestRun = std::chrono::minutes(10);
constexpr std::size_t kMostChecks = 2;    // at a time
constexpr std::size_t kMostChecked = 12;  // copies that are kept to answer

// Imports and names of files are relative to where the program is.
void go_to_folder_of(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::current_path(std::filesystem::path(path).parent_path(), ignored);
}

}  // namespace

Workspace::Workspace(std::function<void(Document&)> publish, std::function<void(Document&)> refresh)
    : publish_(std::move(publish)), refresh_(std::move(refresh)) {}

repl::Session& Workspace::session() {
  if (session_ == nullptr) {
    repl::Session::Options options;
    options.compiles_hot = false;
    session_ = std::make_unique<repl::Session>(std::move(options));
  }
  return *session_;
}

void Workspace::warm_up() {
  repl::candidates(session(), "x.s", 3);
  repl::find_page(session(), "relu");
  ask(nullptr, {{"ask", "complete"}, {"text", "x"}, {"at", 1}}, [](const Json&) {});
}

Document* Workspace::find(const std::string& uri) {
  const auto found = documents_.find(uri);
  return found == documents_.end() ? nullptr : found->second.get();
}

Document& Workspace::open(const std::string& uri, std::string text, int version) {
  close(uri);
  std::unique_ptr<Document>& document = documents_[uri];
  document = std::make_unique<Document>(uri, std::move(text), version);
  touch(*document);
  return *document;
}

void Workspace::close(const std::string& uri) {
  if (Document* const document = find(uri)) settle(*document);
  documents_.erase(uri);
}

void Workspace::when_settled(Document& document, std::function<void()> then) {
  document.waiting.push_back(std::move(then));
  if (!document.due && document.checking == nullptr) settle(document);
}

void Workspace::settle(Document& document) {
  for (const auto& each : std::exchange(document.waiting, {})) each();
}

void Workspace::touch(Document& document) {
  document.checking.reset();
  document.due = Clock::now() + kPause;
}

void Workspace::touch_all() {
  for (const auto& [uri, document] : documents_) touch(*document);
}

void Workspace::ask(Document* document, Json question, Worker::Answer then) {
  if (document != nullptr && document->checked != nullptr && document->checked->is_alive())
    return document->checked->ask(std::move(question), std::move(then));
  if (library_ == nullptr || !library_->is_alive()) {
    if (library_ != nullptr) leaving_.push_back(std::move(library_));
    repl::Session& all = session();
    library_ = std::make_unique<Worker>(
        [&all](Channel& channel) {
          channel.write({{"ready", true}});
          Program(all).serve(channel);
        },
        Worker::Answer());
  }
  library_->ask(std::move(question), std::move(then));
}

void Workspace::start(Worker::Work work, Worker::Answer then) {
  apart_.push_back(std::make_unique<Worker>(std::move(work), std::move(then), kLongestRun));
}

void Workspace::begin_check(Document& document) {
  document.due.reset();
  if (!document.analysis().mistakes().empty()) {
    std::vector<Mistake> mistakes;
    for (const lang::Diagnostic& each : document.analysis().mistakes()) {
      if (auto mistake = mistake_of(each, document.name())) mistakes.push_back(std::move(*mistake));
    }
    document.set_mistakes(std::move(mistakes));
    publish_(document);
    return settle(document);
  }
  repl::Session& all = session();
  document.checking = std::make_unique<Worker>(
      [&all, name = document.name(), text = document.text().str(), path = document.path()](Channel& channel) {
        go_to_folder_of(path);
        Program program(all);
        channel.write(program.check(name, text, path));
        program.serve(channel);
      },
      [this, &document](const Json& found) { conclude(document, found); });
}

// A copy that ended without a word says nothing of the program: the last mistakes stay.
void Workspace::conclude(Document& document, const Json& found) {
  if (found.is_null()) return settle(document);
  std::vector<Mistake> mistakes;
  for (const Json& each : found.at("mistakes")) mistakes.push_back(mistake_from(each));
  document.set_mistakes(std::move(mistakes));
  document.learn(KnownTypes(typed_places_from(found.at("types"))));
  if (document.checked != nullptr) leaving_.push_back(std::move(document.checked));
  document.checked = std::move(document.checking);
  publish_(document);
  refresh_(document);
  settle(document);
}

std::vector<Worker*> Workspace::workers() const {
  std::vector<Worker*> all;
  const auto add = [&](const std::unique_ptr<Worker>& worker) {
    if (worker != nullptr && worker->is_alive()) all.push_back(worker.get());
  };
  add(library_);
  for (const auto& each : apart_) add(each);
  for (const auto& each : leaving_) add(each);
  for (const auto& [uri, document] : documents_) {
    add(document->checking);
    add(document->checked);
  }
  return all;
}

void Workspace::add_watched(std::vector<pollfd>& watched) const {
  for (const Worker* each : workers()) {
    const auto events = static_cast<short>(each->wants_to_write() ? POLLIN | POLLOUT : POLLIN);
    watched.push_back({each->descriptor(), events, 0});
  }
}

int Workspace::patience() const {
  Clock::time_point earliest = Clock::time_point::max();
  for (const Worker* each : workers()) earliest = std::min(earliest, each->deadline());
  for (const auto& [uri, document] : documents_) {
    if (document->due) earliest = std::min(earliest, *document->due);
  }
  if (earliest == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(earliest - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void Workspace::go_on() {
  for (Worker* each : workers()) each->go_on();
  const auto is_done = [](const std::unique_ptr<Worker>& each) {
    return !each->is_alive() || each->deadline() == Clock::time_point::max();
  };
  std::erase_if(leaving_, is_done);
  std::erase_if(apart_, is_done);
  std::size_t checking = 0, checked = 0;
  for (const auto& [uri, document] : documents_) {
    if (document->checking != nullptr && !document->checking->is_alive()) document->checking.reset();
    checking += document->checking != nullptr ? 1 : 0;
    checked += document->checked != nullptr ? 1 : 0;
  }
  for (const auto& [uri, document] : documents_) {
    if (document->due && *document->due <= Clock::now() && checking < kMostChecks) {
      begin_check(*document);
      checking += document->checking != nullptr ? 1 : 0;
    }
    const bool is_spare = checked > kMostChecked && document->checked != nullptr &&
                          document->checked->deadline() == Clock::time_point::max();
    if (is_spare) {
      document->checked.reset();
      --checked;
    }
  }
}

}  // namespace kiln::editor
