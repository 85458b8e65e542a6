// Owns the error kinds of the language and the error a tensor operation raises; the interpreter adds places.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln {

enum class ErrorKind {
  Syntax,
  Name,
  Type,
  Value,
  Shape,
  DType,
  Index,
  Key,
  Attribute,
  Device,
  Autograd,
  Capture,
  IO,
  Assertion,
  Overflow,
  Recursion,
  OutOfMemory,
  RanksLost,
  Interrupted,
  User,
  Internal,
};
std::string_view name(ErrorKind kind);  // "ShapeError", "OutOfMemory", "Error" for User

// What the user did wrong in an op. `operands` are indices of the op's inputs that the message speaks of: the
// interpreter puts a caret under each.
class OpError : public std::exception {
 public:
  OpError(ErrorKind kind, std::string message, std::vector<int> operands = {}, std::string help = {})
      : kind_(kind), message_(std::move(message)), operands_(std::move(operands)), help_(std::move(help)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::vector<int>& operands() const { return operands_; }
  const std::string& help() const { return help_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
  std::vector<int> operands_;
  std::string help_;
};

// What we did wrong. Caught at the outermost level, reported as such, the session lives on.
class InternalError : public std::exception {
 public:
  explicit InternalError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

}  // namespace kiln
