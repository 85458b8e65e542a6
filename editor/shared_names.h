// Owns the names that files of a program share: a variable of one module stands in those that import it, too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "editor/workspace.h"

namespace kiln::editor {

// A variable of the module in a file of the user's, or a parameter of the function that it stands for.
struct SharedName {
  std::string file;  // its canonical path
  std::string name;
  std::string parameter = {};  // "": the variable itself
  friend auto operator<=>(const SharedName&, const SharedName&) = default;
};

// A name of the document's text.
struct NameAt {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::string name;
};

// The file of the user's that an import of a program in `folder` names, as its canonical path; "" where it
// names a module of the library, or a file that is not there.
std::string imported_file(const std::string& folder, const lang::ImportStmt& import);

// What the name at an offset is, where other files may use it as well: a variable of the module, what stands
// behind `from module import`, a member of a module, or a parameter of a function of the module, which calls
// may name. Nothing for names that belong to the text alone.
std::optional<SharedName> shared_name_at(Workspace& workspace, Document& document, std::size_t offset);
// The name itself, of a shared name or any other.
std::optional<NameAt> name_at(Document& document, std::size_t offset);

// A text in which a shared name stands: of an open document as it is there, else of the disk.
struct NamePlaces {
  std::string uri;
  const Analysis* analysis = nullptr;
  std::shared_ptr<const Analysis> own;  // of a file that is not open
  std::vector<Occurrence> places;       // in order
};

// All texts of the open folders and documents, and of the file that defines the name, in which it stands.
// `from module import name` makes it a name of the importing module, too, which others may import from there.
std::vector<NamePlaces> places_of(Workspace& workspace, const std::vector<std::string>& folders,
                                  const SharedName& name);

}  // namespace kiln::editor
