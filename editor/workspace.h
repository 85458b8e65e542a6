// Owns the open documents and the copies of the server that check them and answer questions.
#pragma once

#include <poll.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "editor/document.h"
#include "repl/session.h"

namespace kiln::editor {

class Workspace {
 public:
  // `publish` is called when mistakes of a document are found, or found to be gone; `refresh` when types are.
  Workspace(std::function<void(Document&)> publish, std::function<void(Document&)> refresh);

  Document* find(const std::string& uri);  // null when it is not open
  Document& open(const std::string& uri, std::string text, int version);
  void close(const std::string& uri);
  // After a change: what is under way for the old text is stopped, and a check is due soon.
  void touch(Document& document);
  void touch_all();
  const std::map<std::string, std::unique_ptr<Document>>& documents() const { return documents_; }

  // Calls `then` when the text as it is has been checked: at once where it has been. Also where the check
  // ended without a word or the document is closed, with the mistakes that are known.
  void when_settled(Document& document, std::function<void()> then);

  // Asks the copy that knows the document, or one that knows the library alone; `document` may be null.
  void ask(Document* document, Json question, Worker::Answer then);
  // A copy for work of its own, such as running a program. It is stopped when it is done or too late.
  void start(Worker::Work work, Worker::Answer then);

  // The library, as a program would see it that defines nothing. Nothing runs in it.
  repl::Session& session();
  // Makes ready what the first questions would wait for.
  void warm_up();

  // ---- For the loop of the process ----
  void add_watched(std::vector<pollfd>& watched) const;
  // Milliseconds until something is due; -1: nothing is.
  int patience() const;
  // Starts checks that are due, reads what copies wrote, stops those that are too late.
  void go_on();

 private:
  void begin_check(Document& document);
  void conclude(Document& document, const Json& found);
  static void settle(Document& document);
  std::vector<Worker*> workers() const;

  std::function<void(Document&)> publish_, refresh_;
  std::unique_ptr<repl::Session> session_;
  std::map<std::string, std::unique_ptr<Document>> documents_;
  std::unique_ptr<Worker> library_;               // answers what is asked of no checked document
  std::vector<std::unique_ptr<Worker>> apart_;    // do work of their own
  std::vector<std::unique_ptr<Worker>> leaving_;  // were replaced while one of their answers was under way
};

}  // namespace kiln::editor
