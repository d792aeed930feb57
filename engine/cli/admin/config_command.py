"""The command `config`: the settings of the commands, and where each comes from."""

from dataclasses import asdict

import typer

from grantpath.engine.cli.context import CommandContext, command
from grantpath.engine.cli.output import emit, out, styled
from grantpath.engine.cli.settings import config_path
from grantpath.graph.client.address import shown


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(app, "Server", "grantpath config --profile production", name="config")(show_config)


def show_config(session: CommandContext) -> None:
    """Show the settings of the commands, and where each comes from: an option, a variable, a profile or the default.

    The configuration file is the one that GRANTPATH_CONFIG names, otherwise grantpath/config.toml in XDG_CONFIG_HOME or
    ~/.config. Passwords are not shown.
    """
    found = [asdict(each) for each in session.settings]
    for each in found:
        del each["table"]
        if each["key"] == "uri" and each["value"]:
            each["value"] = shown(each["value"])
    file = config_path()
    if session.json:
        emit({"file": str(file), "exists": file.is_file(), "settings": found})
        return
    console = out()
    console.print(styled("file", "bold"), styled(f" {file}{'' if file.is_file() else ' (does not exist)'}"), sep="")
    for each in found:
        value, source = each["value"] or "-", each["source"]
        console.print(styled(f"{each['key']:<14}"), styled(f"{value}  "), styled(source, "dim"), sep="")
