"""What a user's editor sees: no error in a user's program, and what each public name is for.

pyright checks `typed_user.py`, strictly, against nica as it is installed (not the sources), and its
language server is asked for the text that pops up over each public name.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import nica

BIN = Path(sys.executable).parent
PROGRAM = Path(__file__).with_name("typed_user.py")
MEMBERS = ("fit", "partial_fit", "separate", "separate_one", "transform", "save", "unmixing_")


def send(server: IO[bytes], message: dict[str, Any]) -> None:
    """Send one message of the language server protocol."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.flush()


def receive(server: IO[bytes]) -> dict[str, Any]:
    """Wait for one message."""
    length = 0
    while line := server.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        raise SystemExit("pyright's language server ended")
    message: dict[str, Any] = json.loads(server.read(length))
    return message


def hover(folder: Path, text: str) -> list[str]:
    """What the language server shows over the end of each line of a program."""
    command = [str(BIN / "pyright-langserver"), "--stdio"]
    shown: dict[int, str] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        uri = (folder / "hover.py").as_uri()
        root: dict[str, Any] = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        root["workspaceFolders"] = [{"uri": folder.as_uri(), "name": "user"}]
        send(process.stdin, {"id": 0, "method": "initialize", "params": root})
        send(process.stdin, {"method": "initialized", "params": {}})
        opened = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        send(process.stdin, {"method": "textDocument/didOpen", "params": {"textDocument": opened}})
        lines = text.splitlines()
        for i, line in enumerate(lines):
            at = {"textDocument": {"uri": uri}, "position": {"line": i, "character": len(line) - 1}}
            send(process.stdin, {"id": i + 1, "method": "textDocument/hover", "params": at})
        while len(shown) < len(lines):
            message = receive(process.stdout)
            if "method" in message and "id" in message:  # what the server asks, it can do without
                send(process.stdin, {"id": message["id"], "result": None})
            elif message.get("id"):
                shown[message["id"]] = str(
                    message["result"] and message["result"]["contents"]["value"]
                )
        process.kill()
    return [shown[i + 1] for i in range(len(lines))]


def public() -> dict[str, Any]:
    """Everything that a user is meant to call, by the name that the user writes."""
    names = [name for name in nica.__all__ if name != "__version__"]
    found = {f"nica.{name}": getattr(nica, name) for name in names}
    for name in names:
        for part in getattr(found[f"nica.{name}"], "__all__", ()):
            if callable(thing := getattr(found[f"nica.{name}"], part)):
                found[f"nica.{name}.{part}"] = thing
    return found | {f"nica.NICA.{name}": getattr(nica.NICA, name) for name in MEMBERS}


def main() -> None:
    """Check, say what was found, and fail if anything is amiss."""
    wanted = public()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)  # away from the sources, which pyright would look into
        shutil.copy(PROGRAM, folder)
        venv = BIN.parent
        settings = {"typeCheckingMode": "strict", "venvPath": str(venv.parent), "venv": venv.name}
        (folder / "pyrightconfig.json").write_text(json.dumps(settings))
        status = subprocess.run([BIN / "pyright", "-p", folder], check=False).returncode
        shown = hover(folder, "\n".join(["import nica", *wanted]))[1:]
    silent = []
    for (name, thing), text in zip(wanted.items(), shown, strict=True):
        first = (inspect.getdoc(thing) or "").partition("\n")[0]
        if re.sub(r"\W", "", first) not in re.sub(r"\W", "", text):
            silent.append(name)
            print(f"{name}: an editor shows {text!r}, not {first!r}")
    print(f"Hover: {len(wanted) - len(silent)} of {len(wanted)} public names show what they are")
    raise SystemExit(bool(status or silent))


if __name__ == "__main__":
    main()
