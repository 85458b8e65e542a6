// Owns the text of programs: files, places in them, and the translation from byte offsets to lines.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::lang {

// One-based, as people count. `column` counts Unicode code points, not bytes.
struct LineColumn {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

// The immutable text of one file or one entry at the prompt.
class SourceFile {
 public:
  // `is_library`: of the language itself, so that mistakes in programs are not shown there first.
  SourceFile(std::string name, std::string text, bool is_library = false);

  // The name shown in diagnostics: a path as the user gave it, or "<prompt:3>".
  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  bool is_library() const { return is_library_; }

  LineColumn locate(std::uint32_t offset) const;
  // The text of a one-based line, without its newline; empty past the end.
  std::string_view line(std::uint32_t number) const;
  std::uint32_t line_count() const { return static_cast<std::uint32_t>(line_starts_.size()); }
  // Byte offset at which a one-based line starts.
  std::uint32_t line_start(std::uint32_t number) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::uint32_t> line_starts_;
  bool is_library_;
};

// Half-open range of bytes of one file. A default-made span points nowhere.
struct Span {
  const SourceFile* file = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  explicit operator bool() const { return file != nullptr; }
  std::string_view text() const { return file->text().substr(begin, end - begin); }
  friend bool operator==(const Span&, const Span&) = default;
};

// From the start of `first` to the end of `last`; both of one file.
inline Span join(const Span& first, const Span& last) { return {first.file, first.begin, last.end}; }

// Keeps every source alive for as long as functions, spans and diagnostics may point into it.
class Sources {
 public:
  const SourceFile& add(std::string name, std::string text, bool is_library = false);

 private:
  std::deque<SourceFile> files_;
};

}  // namespace kiln::lang
