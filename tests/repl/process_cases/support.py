"""The real binary from outside, in a folder of its own: how tests run it, and where."""

import os
import subprocess

KILN = NO_COMPILER = FOLDER = ""  # as process.py was given them; the folder is made for the tests


def environment(**changes):
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE")}
    env.update({"HOME": FOLDER, "XDG_STATE_HOME": FOLDER + "/state", "XDG_CONFIG_HOME": FOLDER + "/config"})
    env.update(changes)
    return env


def kiln(*arguments, stdin="", **changes):
    result = subprocess.run([KILN, *arguments], input=stdin.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment(**changes), cwd=FOLDER, timeout=60)
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w" if isinstance(text, str) else "wb") as file:
        file.write(text)
    return path
