// The command that shows the ranks of a job, and what they wait for: ranks.
#include <fmt/format.h>

#include <array>

#include "interpreter/host/rank_job.h"
#include "repl/command.h"

namespace kiln::repl {
namespace {

void show_ranks(Session& session, std::string_view argument) {
  if (!argument.empty()) usage_error(*find_command("ranks"), fmt::format("`{}` is not known", argument));
  dist::Controller* const ranks = interp::rank_controller();
  if (ranks == nullptr) {
    session.write("this process is alone; `dist.init()` joins the ranks that `kiln run -n 4` starts\n");
    return;
  }
  const dist::RankPlace place = interp::rank_place();
  session.write(fmt::format("rank {} of {}, {} of {} on this host, connected by {}\n", place.rank, place.size,
                            place.local_rank, place.local_size, ranks->transport_name()));
  for (const std::string& line : ranks->channels().report()) session.write(line + "\n");
  for (const std::string& line : ranks->report()) session.write(line + "\n");
}

constexpr std::array<Command, 1> kRanksCommands{{
    {"ranks", "", "Looking", "where this process stands among the ranks of its job, and what each waits for",
     "Rank 0 knows what all ranks have called, which collectives are not called by all, and by\n"
     "whom; the others tell what they wait for themselves.",
     show_ranks,
     no_function("it tells of programs that are under way; what they wait for is told where it takes long")},
}};

}  // namespace

std::span<const Command> rank_commands() { return kRanksCommands; }

}  // namespace kiln::repl
