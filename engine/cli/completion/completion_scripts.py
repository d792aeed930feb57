"""The functions of bash and zsh that complete the command `grantpath`, and their installation."""

import os
from pathlib import Path

from grantpath.graph.errors import InvalidInput

BASH = r"""_grantpath_completion() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <(_GRANTPATH_COMPLETE=bash "$1" "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=] ]] && type compopt &>/dev/null; then
        compopt -o nospace
    fi
}
complete -o default -F _grantpath_completion grantpath
"""
ZSH = r"""#compdef grantpath
_grantpath() {
    local -a found open closed
    found=("${(@f)$(_GRANTPATH_COMPLETE=zsh "${(Q)words[1]}" "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( ! $#found )); then
        _files
        return
    fi
    open=("${(@M)found:#*[:=]}")
    closed=("${(@)found:#*[:=]}")
    (( $#closed )) && compadd -- "${closed[@]}"
    (( $#open )) && compadd -S '' -- "${open[@]}"
}
if [[ $funcstack[1] == _grantpath ]]; then
    _grantpath "$@"
else
    compdef _grantpath grantpath
fi
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH}
FILES = {"bash": ".bash_completions/grantpath.sh", "zsh": ".zfunc/_grantpath"}
START = {
    "bash": (".bashrc", "source ~/.bash_completions/grantpath.sh"),
    "zsh": (".zshrc", "fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit"),
}


def shell_in_use() -> str:
    """bash or zsh: the shell that runs this command, else that of the variable SHELL. Raises InvalidInput."""
    import shellingham

    try:
        name = str(shellingham.detect_shell()[0])
    except (shellingham.ShellDetectionFailure, OSError):
        name = Path(os.environ.get("SHELL", "")).name
    if name not in SCRIPTS:
        raise InvalidInput(f"there is no completion for the shell {name or '(unknown)'}; run this in bash or zsh")
    return name


def install(shell: str) -> str:
    """Writes the function into the home folder, and loads it in the shell's start file. Returns what was done."""
    home = Path.home()
    file, (start, line) = home / FILES[shell], START[shell]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SCRIPTS[shell], encoding="utf-8")
        started = home / start
        text = started.read_text(encoding="utf-8") if started.exists() else ""
        if line not in text.splitlines():
            with started.open("a", encoding="utf-8") as out:
                out.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the completion cannot be installed in {home}: {error}; make the file writable") from None
    return f"installed {file}, which ~/{start} loads; start a new {shell} to use it"
