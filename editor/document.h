// Owns one document of the editor: its text as it changes, and what is known of it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "editor/analysis.h"
#include "editor/known_types.h"
#include "editor/message_stream.h"
#include "editor/mistake.h"
#include "editor/text.h"
#include "editor/worker.h"

namespace kiln::editor {

class Document {
 public:
  Document(std::string uri, std::string text, int version);

  const std::string& uri() const { return uri_; }
  // Of its file; "" when it is in none.
  const std::string& path() const { return path_; }
  // In places of mistakes: the path, or the URI.
  const std::string& name() const { return path_.empty() ? uri_ : path_; }
  const Text& text() const { return text_; }
  int version() const { return version_; }
  // Of the text as it is now; made when first asked for.
  const Analysis& analysis();
  const KnownTypes& types() const { return types_; }

  // One change as the protocol has it: {"range", "text"}, or {"text"} of the whole. Throws Json::exception
  // for anything else.
  void change(const Json& change, Encoding encoding);
  void set_version(int version) { version_ = version; }
  void learn(KnownTypes types) { types_ = std::move(types); }

  // Have there been no changes since the mistakes were found?
  bool mistakes_are_current() const { return mistakes_version_ == version_; }
  void set_mistakes(std::vector<Mistake> found) {
    mistakes = std::move(found);
    mistakes_version_ = version_;
  }

  // ---- For who checks it ----
  std::vector<Mistake> mistakes;                 // as they were last published
  std::unique_ptr<Worker> checking;              // the text as it is now
  std::unique_ptr<Worker> checked;               // the last text that could be checked: it answers questions
  std::optional<Worker::Clock::time_point> due;  // when the next check begins
  std::vector<std::function<void()>> waiting;    // for the end of the check, once each

 private:
  std::string uri_, path_;
  Text text_;
  int version_;
  int mistakes_version_ = 0;
  std::unique_ptr<Analysis> analysis_;
  KnownTypes types_;
};

// ---- Places as the protocol has them ----

Json position_json(const Text& text, std::size_t offset, Encoding encoding);
Json range_json(const Text& text, std::size_t begin, std::size_t end, Encoding encoding);
Position position_from(const Json& json);
inline Json range_json(const Text& text, const lang::Span& span, Encoding encoding) {
  return range_json(text, span.begin, span.end, encoding);
}

}  // namespace kiln::editor
