// Error codes of names, fields, keys and indices.
#include <array>

#include "lang/error_code_rows.h"

namespace kiln::lang {
namespace {

constexpr std::array<ErrorCode, 17> kNamesCodes{{
    {"K0200", "NameError", "", "a name that means nothing",
     "A name is not known, in a way that has no page of its own.", R"(throw NameError("no such column"))",
     R"(column = 1
column)"},
    {"K0201", "NameError", "*is not defined", "a name that is not defined",
     "No variable, function or module has this name here. Names of the standard library's modules "
     "need an `import`; those of tensor functions need none: `zeros(2, 3)`, not `torch.zeros(2, "
     "3)`.",
     "y = zeors(2)", "y = zeros(2)"},
    {"K0202", "NameError", "the variable * has no value here", "a local variable before its first value",
     "A variable that a function assigns is its own in the whole function, also before the "
     "assignment. To change the one outside, say `nonlocal` first.",
     R"(n = 0
fn count() { print(n); n = 1 }
count())",
     R"(n = 0
fn count() { m = n; print(m); m = 1 }
count())"},
    {"K0203", "NameError", "there is no command*\nthere is no setting*\nnothing is known of*",
     "a command or a page that does not exist",
     "`:help` lists the commands, `:set` the settings, and `:apropos word` searches names and "
     "documentation.",
     ":tmie 1 + 1", ":time 1 + 1"},
    {"K0210", "AttributeError", "", "a field that is not there",
     "A field or method is missing, in a way that has no page of its own.",
     R"(throw AttributeError("no weights"))",
     R"(struct P { x }
P(1).x)"},
    {"K0211", "AttributeError", "* has no field or method*", "no such field or method",
     "The value has nothing of this name. Tab after the point lists what it has; `dir(x)` gives "
     "the names.",
     "[1, 2].push(3)", "[1, 2].append(3)"},
    {"K0212", "AttributeError", "field * has no value yet", "a field before its first value",
     "A declared field without a default has no value until something assigns it, most often "
     "`init`.",
     R"(struct P { x  fn init(self) { } }
P().x)",
     R"(struct P { x  fn init(self) { self.x = 1 } }
P().x)"},
    {"K0213", "AttributeError", "* has no field `*", "a field that the struct does not declare",
     "Fields of a struct are those that it declares or that `init` assigns, so that a slip in a "
     "name is found.",
     R"(struct P { x }
p = P(1)
p.y = 2)",
     R"(struct P { x; y = 0 }
p = P(1)
p.y = 2)"},
    {"K0220", "KeyError", "", "a key that is not there",
     "A key is missing, in a way that has no page of its own.", R"(throw KeyError("rate"))",
     R"({"rate": 0.1}["rate"])"},
    {"K0221", "KeyError", "the dict has no key*", "a dict without this key",
     "`d[key]` needs the key to be there. `d.get(key, default)` gives a default, and `key in d` "
     "asks.",
     R"(d = {"width": 3}
d["widht"])",
     R"(d = {"width": 3}
d.get("widht", 0))"},
    {"K0230", "IndexError", "", "an index out of range",
     "An index or a dimension is out of range, in a way that has no page of its own.",
     R"(throw IndexError("no such row"))", "[1, 2][1]"},
    {"K0231", "IndexError", "index * is out of range for a*", "an index beyond the end",
     "Indices of a list of n go from 0 to n - 1, and from the end from -1 to -n.",
     R"(xs = [1, 2, 3]
xs[3])",
     R"(xs = [1, 2, 3]
xs[-1])"},
    {"K0232", "IndexError", "index * is out of bounds for dimension*", "an index beyond a tensor's size",
     "Along a dimension of size n indices go from 0 to n - 1, and from the end from -1 to -n.",
     R"(x = zeros(2, 3)
x[0, 3])",
     R"(x = zeros(2, 3)
x[0, 2])"},
    {"K0233", "IndexError", "*dim * is out of range for a *-d tensor", "a dimension that the tensor has not",
     "A tensor of n dimensions has those from 0 to n - 1, and from the end from -1 to -n. "
     "`x.shape` shows their sizes.",
     "zeros(2, 3).sum(dim=2)", "zeros(2, 3).sum(dim=1)"},
    {"K0234", "IndexError", "target * is no class*", "a class that the scores do not have",
     "The targets of a classification are class numbers from 0 to the number of classes less one.",
     "cross_entropy(zeros(2, 3), tensor([0, 3]))", "cross_entropy(zeros(2, 3), tensor([0, 2]))"},
    {"K0235", "IndexError", "too many indices*\n*takes at most * indices*\n*indices for a*",
     "more indices than dimensions",
     "An index has at most one item for each dimension of the tensor; `none` and `...` are none of "
     "them.",
     "zeros(3)[0, 0]", "zeros(3, 1)[0, 0]"},
    {"K0236", "IndexError", "format: the text has a place for argument*",
     "a format with more places than arguments", "Each `{}` of a text takes one argument of `format`.",
     R"("{} and {}".format(1))", R"("{} and {}".format(1, 2))"},
}};

}  // namespace

std::span<const ErrorCode> names_codes() { return kNamesCodes; }

}  // namespace kiln::lang
