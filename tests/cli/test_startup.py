"""Commands stay quick because they load only what they need."""

import subprocess
import sys

HEAVY = {
    "celery",
    "redis",
    "playwright",
    "patchright",
    "obstore",
    "boto3",
    "fastapi",
    "uvicorn",
    "argon2",
    "jwt",
    "sqlalchemy",
    "wreq",
    "alembic",
}


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from gossamer.cli import main\n"
        "sys.argv = ['gossamer', '--help']\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert "typer" in loaded
    assert not loaded & HEAVY


def test_both_names_and_the_module_are_the_same_program() -> None:
    said = {
        subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
        for command in (
            [f"{sys.prefix}/bin/gossamer"],
            [f"{sys.prefix}/bin/backlink-prospector"],
            [sys.executable, "-m", "gossamer"],
        )
    }
    assert len(said) == 1
    assert said.pop().startswith("gossamer ")
