-- In Neovim: types a program with a wrong name, applies the fix, renames a variable, formats, and writes the file.
local function fail(what)
  io.stderr:write(what .. "\n")
  vim.cmd("cquit 1")
end

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then fail("waited for " .. what) end
end

vim.bo.filetype = "kiln"
local buffer = vim.api.nvim_get_current_buf()
local id = vim.lsp.start_client({ name = "kiln", cmd = { os.getenv("KILN"), "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)
local client = vim.lsp.get_client_by_id(id)
wait("initialize", function() return client.initialized end)

vim.api.nvim_buf_set_lines(0, 0, -1, false, { "x=randn(3,4)", "y = reluu(x)" })
wait("the mistake", function() return #vim.diagnostic.get(0) == 1 end)

local function request(method, more)
  vim.api.nvim_win_set_cursor(0, { 2, 4 })
  local params = vim.tbl_extend("force", vim.lsp.util.make_range_params(), more or {})
  local answer = client.request_sync(method, params, 20000, buffer)
  if not answer or answer.err then fail(method .. ": " .. vim.inspect(answer)) end
  return answer.result
end

local actions = request("textDocument/codeAction", { context = { diagnostics = {} } })
if #actions ~= 1 then fail("fixes: " .. vim.inspect(actions)) end
vim.lsp.util.apply_workspace_edit(actions[1].edit, client.offset_encoding)
wait("no mistake", function() return #vim.diagnostic.get(0) == 0 end)

vim.api.nvim_win_set_cursor(0, { 1, 0 })
local named = client.request_sync("textDocument/rename",
  vim.tbl_extend("force", vim.lsp.util.make_position_params(), { newName = "weights" }), 20000, buffer)
if not named or named.err then fail("rename: " .. vim.inspect(named)) end
vim.lsp.util.apply_workspace_edit(named.result, client.offset_encoding)

local formatted = client.request_sync("textDocument/formatting", vim.lsp.util.make_formatting_params({}), 20000, buffer)
vim.lsp.util.apply_text_edits(formatted.result, 0, client.offset_encoding)
vim.cmd("silent write")
vim.cmd("qall!")
