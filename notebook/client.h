// Owns what a notebook is told while a cell runs, and what it is asked: the messages of Jupyter, without how
// they travel.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace kiln::notebook {

using Json = nlohmann::json;

// An error as a notebook shows it.
struct CellError {
  std::string name;                    // the kind, "ShapeError"
  std::string message;                 // one sentence
  std::vector<std::string> traceback;  // the lines of its text, with the colours of a terminal
};

// The error as the content of a reply.
inline Json error_json(const CellError& error) {
  return {
      {"status", "error"}, {"ename", error.name}, {"evalue", error.message}, {"traceback", error.traceback}};
}

// One who shows a notebook. `data` is a MIME bundle: texts by their types, pictures as base64.
class Client {
 public:
  Client() = default;
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  virtual void stream(const std::string& name, const std::string& text) = 0;  // "stdout" or "stderr"
  // What is shown with an id can be shown anew; "" is none.
  virtual void display(Json data, const std::string& id) = 0;
  virtual void update_display(Json data, const std::string& id) = 0;
  virtual void result(Json data) = 0;  // the value of the cell
  virtual void error(const CellError& error) = 0;
  // Asks for a line. Throws OpError (Interrupted).
  virtual std::string ask(const std::string& prompt) = 0;
};

}  // namespace kiln::notebook
