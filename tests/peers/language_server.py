"""The language server under the capabilities of three editors, through pytest-lsp, and in Neovim itself.

Runs itself by pytest. pytest-lsp checks of each answer that the editor's capabilities allow it.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

ROOT = Path(__file__).resolve().parent.parent.parent
KILN = os.environ.get("KILN", str(ROOT / "build" / "kiln"))
URI = "file:///nowhere/program.kiln"
PROGRAM = """import nn
## Two layers.
## >>> mlp(ones(2, 784), ones(784, 128), ones(128, 10)).shape
## (2, 10)
fn mlp(x, w1, w2) {
  h = relu(x @ w1)
  return h @ w2
}
w1 = randn(784, 128)
w2 = randn(128, 10)
logits = mlp(randn(32, 784), w1, w2)
"""
EDITORS = ["visual-studio-code", "neovim", "emacs"]


@pytest_lsp.fixture(params=EDITORS, config=ClientServerConfig(server_command=[KILN, "lsp"]))
async def client(request, lsp_client: LanguageClient):
    lsp_client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)(lambda *_: None)
    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=client_capabilities(request.param), root_uri=None))
    yield
    await lsp_client.shutdown_session()


def document():
    return types.TextDocumentIdentifier(uri=URI)


def at(line, character):
    return {"text_document": document(), "position": types.Position(line=line, character=character)}


async def opened(client, text=PROGRAM, uri=URI):
    """The mistakes of a text, as the editor gets them: it asks where it can, and else is told."""
    client.text_document_did_open(types.DidOpenTextDocumentParams(
        text_document=types.TextDocumentItem(uri=uri, language_id="kiln", version=1, text=text)))
    if client.capabilities.text_document.diagnostic is not None:
        report = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(
            text_document=types.TextDocumentIdentifier(uri=uri)))
        return report.items
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return client.diagnostics[uri]


@pytest.mark.asyncio
async def test_mistakes_and_fixes(client):
    (mistake,) = await opened(client, PROGRAM.replace("x @ w1", "x @ w2"))
    assert mistake.code == "K0501"
    actions = await client.text_document_code_action_async(types.CodeActionParams(
        text_document=document(), range=mistake.range, context=types.CodeActionContext(diagnostics=[mistake])))
    assert [each.edit.changes[URI][0].new_text for each in actions] == ["x @ w1"]


@pytest.mark.asyncio
async def test_hover_and_signature(client):
    await opened(client)
    hover = await client.text_document_hover_async(types.HoverParams(**at(5, 2)))
    assert "h: f32[32, 128]" in hover.contents.value
    found = await client.text_document_signature_help_async(types.SignatureHelpParams(**at(10, 26)))
    assert found.signatures[0].label.startswith("randn(")


@pytest.mark.asyncio
async def test_completion(client):
    await opened(client, PROGRAM)
    client.text_document_did_change(types.DidChangeTextDocumentParams(
        text_document=types.VersionedTextDocumentIdentifier(uri=URI, version=2),
        content_changes=[types.TextDocumentContentChangePartial(
            range=types.Range(start=types.Position(11, 0), end=types.Position(11, 0)), text="y = randn(5, 784) @ ")]))
    found = await client.text_document_completion_async(types.CompletionParams(**at(11, 20)))
    assert found.items[0].label == "w1"
    told = await client.completion_item_resolve_async(found.items[0])
    assert told.label == "w1"


@pytest.mark.asyncio
async def test_names(client):
    await opened(client)
    definition = await client.text_document_definition_async(types.DefinitionParams(**at(10, 10)))
    assert definition.range.start == types.Position(4, 3)
    references = await client.text_document_references_async(types.ReferenceParams(
        context=types.ReferenceContext(include_declaration=True), **at(5, 2)))
    assert len(references) == 2
    renamed = await client.text_document_rename_async(types.RenameParams(new_name="weights", **at(8, 0)))
    assert len(renamed.changes[URI]) == 2
    symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(text_document=document()))
    assert [each.name for each in symbols] == ["mlp", "w1", "w2", "logits"]


@pytest.mark.asyncio
async def test_all_fixes(client):
    mistakes = await opened(client, "x = reluu(ones(2))\nprint(sqart(4.0))\n")
    assert len(mistakes) == 2
    (action,) = await client.text_document_code_action_async(types.CodeActionParams(
        text_document=document(), range=mistakes[0].range, context=types.CodeActionContext(
            diagnostics=[], only=[types.CodeActionKind.SourceFixAll])))
    assert [each.new_text for each in action.edit.changes[URI]] == ["relu", "sqrt"]


@pytest.mark.asyncio
async def test_names_of_other_files(client, tmp_path):
    part, main = tmp_path / "part.kiln", tmp_path / "main.kiln"
    part.write_text("fn twice(x) = 2 * x\n")
    await opened(client, "from part import twice\nprint(twice(3))\n", main.as_uri())
    place = {"text_document": types.TextDocumentIdentifier(uri=main.as_uri()), "position": types.Position(1, 7)}
    references = await client.text_document_references_async(types.ReferenceParams(
        context=types.ReferenceContext(include_declaration=True), **place))
    assert sorted(each.uri for each in references) == [main.as_uri(), main.as_uri(), part.as_uri()]
    renamed = await client.text_document_rename_async(types.RenameParams(new_name="doubled", **place))
    assert {uri: [each.new_text for each in edits] for uri, edits in renamed.changes.items()} == {
        main.as_uri(): ["doubled", "doubled"], part.as_uri(): ["doubled"]}


@pytest.mark.asyncio
async def test_appearance(client):
    await opened(client)
    folds = await client.text_document_folding_range_async(types.FoldingRangeParams(text_document=document()))
    assert any(each.start_line == 4 for each in folds)
    tokens = await client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(text_document=document()))
    assert len(tokens.data) % 5 == 0 and tokens.data
    whole = types.Range(start=types.Position(0, 0), end=types.Position(99, 0))
    hints = await client.text_document_inlay_hint_async(types.InlayHintParams(text_document=document(), range=whole))
    assert ": f32[32, 10]" in [each.label for each in hints]
    lenses = await client.text_document_code_lens_async(types.CodeLensParams(text_document=document()))
    assert [each.command.title for each in lenses] == ["run the example"]


@pytest.mark.asyncio
async def test_format(client):
    await opened(client, "x=1\n")
    edits = await client.text_document_formatting_async(types.DocumentFormattingParams(
        text_document=document(), options=types.FormattingOptions(tab_size=2, insert_spaces=True)))
    assert [each.new_text for each in edits] == ["x = 1\n"]


@pytest.mark.asyncio
async def test_format_of_lines(client):
    await opened(client, "x=1\ny=2\n")
    edits = await client.text_document_range_formatting_async(types.DocumentRangeFormattingParams(
        text_document=document(), options=types.FormattingOptions(tab_size=2, insert_spaces=True),
        range=types.Range(start=types.Position(1, 0), end=types.Position(1, 3))))
    assert [(each.range.start.line, each.new_text) for each in edits] == [(1, "y = 2\n")]


@pytest.mark.skipif(shutil.which("nvim") is None, reason="neovim is not installed")
def test_neovim():
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.kiln"
        program.write_text("")
        script = Path(__file__).parent / "support" / "neovim.lua"
        done = subprocess.run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", str(program), "-c", f"luafile {script}"],
                              env=dict(os.environ, KILN=KILN), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        assert program.read_text() == "weights = randn(3, 4)\ny = relu(weights)\n", done.stderr


if __name__ == "__main__":
    raise SystemExit(subprocess.call([sys.executable, "-m", "pytest", __file__, "-q", "-p", "no:cacheprovider", "-o",
                                      "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]))
