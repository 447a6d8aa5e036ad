"""`gossamer doctor`: is everything as it should be?"""

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON

app = command_group()


@app.command(cls=StrictCommand)
def doctor(as_json: bool = JSON) -> None:
    """Look at the home, the database, the machine and the network, and say what to do about what is wrong.

    Changes nothing. Ends with exit code 1 if something is broken; warnings alone end with 0.

    Example:

    \b
        gossamer doctor
    """
    from gossamer.cli.checkup.examine import show_health

    show_health(as_json=as_json)
