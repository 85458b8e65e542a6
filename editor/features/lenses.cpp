// Lenses above definitions, and what they do: the one way in which the server runs a program.
#include <array>
#include <filesystem>

#include "editor/features.h"
#include "editor/program_run.h"
#include "lang/walk.h"
#include "repl/doctest.h"

namespace kiln::editor {
namespace {

constexpr std::string_view kRunExamples = "kiln.runExamples";
constexpr std::string_view kShowCompiled = "kiln.showCompiled";

struct Lens {
  lang::Span place;
  std::string title;
  std::string_view command;
  std::string name;  // of the function or struct; of a method "Linear.init"
};

bool is_jit(const lang::Expr& decorator) {
  if (decorator.kind == lang::ExprKind::Call) return is_jit(*lang::as<lang::CallExpr>(decorator).callee);
  return decorator.kind == lang::ExprKind::Name && lang::as<lang::NameExpr>(decorator).name == "jit";
}

class Lenses {
 public:
  std::vector<Lens> found;

  void of_block(const lang::Block& block) {
    for (const lang::Stmt* each : block.statements) {
      if (each->kind == lang::StmtKind::Function) function(lang::as<lang::FunctionStmt>(*each), "");
      if (each->kind == lang::StmtKind::Struct) structure(lang::as<lang::StructStmt>(*each));
    }
  }

 private:
  void function(const lang::FunctionStmt& s, const std::string& owner) {
    const std::string name = owner + std::string(s.function->name);
    examples(s.span, s.function->documentation, name);
    for (const lang::Expr* decorator : s.decorators) {
      if (owner.empty() && is_jit(*decorator))
        found.push_back(
            {s.span, "run the program and show how `" + name + "` is compiled", kShowCompiled, name});
    }
  }
  void structure(const lang::StructStmt& s) {
    examples(s.span, s.documentation, std::string(s.name));
    for (const lang::FunctionStmt* each : s.methods) function(*each, std::string(s.name) + ".");
  }
  void examples(lang::Span place, std::string_view documentation, const std::string& name) {
    const std::size_t count = repl::find_examples(documentation).size();
    if (count == 0) return;
    found.push_back({place, count == 1 ? "run the example" : "run " + std::to_string(count) + " examples",
                     kRunExamples, name});
  }
};

void lenses(Server& server, const Json& params, const Reply& reply) {
  Document& document = server.document_of(params);
  Lenses lenses;
  lenses.of_block(*document.analysis().main().body);
  Json all = Json::array();
  for (const Lens& each : lenses.found) {
    all.push_back(
        {{"range", range_json(document.text(), each.place.begin, each.place.begin, server.client().encoding)},
         {"command",
          {{"title", each.title}, {"command", each.command}, {"arguments", {document.uri(), each.name}}}}});
  }
  reply(std::move(all));
}

Json command_options() { return {{"commands", {kRunExamples, kShowCompiled}}}; }

void progress(Server& server, const Json& token, Json value) {
  if (!token.is_null()) server.notify("$/progress", {{"token", token}, {"value", std::move(value)}});
}

// Runs the program in a copy of the server, and shows what came of it.
void execute(Server& server, const Json& params, const Reply& reply) {
  const std::string command = params.at("command");
  const Json& arguments = params.at("arguments");
  Document* const document = server.workspace().find(arguments.at(0));
  if (document == nullptr) throw RequestError{kInvalidParams, "this document is not open"};
  const ProgramRun run{document->name(), document->path(), document->text().str(), arguments.at(1)};
  const Json token = params.value("workDoneToken", Json());
  RunReport (*work)(repl::Session&, const ProgramRun&) = nullptr;
  if (command == kRunExamples) work = run_examples_of;
  if (command == kShowCompiled) work = show_compiled;
  if (work == nullptr) throw RequestError{kInvalidParams, "there is no command `" + command + "`"};
  progress(server, token, {{"kind", "begin"}, {"title", "Kiln: " + run.function}});
  repl::Session& session = server.workspace().session();
  server.workspace().start(
      [&session, run, work](Channel& channel) {
        const RunReport report = work(session, run);
        channel.write({{"failed", report.failed}, {"text", report.text}});
      },
      [&server, token, reply](const Json& report) {
        constexpr int kError = 1, kInfo = 3;
        const bool failed = report.is_null() || report.at("failed").get<bool>();
        const std::string text = report.is_null()
                                     ? "the program was stopped: it ran for too long, or its process died"
                                     : report.at("text").get<std::string>();
        progress(server, token, {{"kind", "end"}});
        server.notify("window/showMessage", {{"type", failed ? kError : kInfo}, {"message", text}});
        reply(Json());
      });
}

constexpr std::array<Feature, 2> kLensesFeatures{
    {{"textDocument/codeLens", "codeLensProvider", [] { return Json::object(); }, lenses},
     {"workspace/executeCommand", "executeCommandProvider", command_options, execute}}};

}  // namespace

std::span<const Feature> lens_features() { return kLensesFeatures; }

}  // namespace kiln::editor
