// Starts `kiln lsp` for documents in Kiln.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async function () {
  const command = vscode.workspace.getConfiguration("kiln").get("command");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("kiln", "Kiln", server, { documentSelector: [{ language: "kiln" }] });
  await client.start();
};

exports.deactivate = function () {
  return client && client.stop();
};
