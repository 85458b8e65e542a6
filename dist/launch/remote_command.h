// Owns what a rank's command becomes on its way to another host.
#pragma once

#include <string>
#include <vector>

namespace kiln::dist {

/// The agent's words with the host's name for "{host}", or behind them where no word holds that, then `env`,
/// the variables and the command. Agents like `ssh` have a shell on the other side read what others hand on
/// as it is, so no word of the result means anything to a shell: the command's arguments and this folder
/// travel in a variable (`command_words`).
std::vector<std::string> remote_command(const std::vector<std::string>& agent, const std::string& host,
                                        const std::vector<std::string>& environment,
                                        const std::vector<std::string>& command);

/// The settings of this process that begin with KILN_, for ranks on other hosts, where agents hand on no
/// environment: those that mean nothing to a shell.
std::vector<std::string> settings_to_send();

/// What was packed for a rank that an agent started: the arguments behind the program's name; the process is
/// now in the folder of the launcher, where the host has it. Without a packed command it is `arguments`.
std::vector<std::string> unpacked_arguments(std::vector<std::string> arguments);

}  // namespace kiln::dist
