"""The completion scripts. Each asks `whisk completion candidates` at every TAB, so none goes stale with an upgrade."""

from __future__ import annotations

import shlex

from whisk.cli.candidate import Candidates

BASH = r"""# whisk completion for bash: put it into ~/.local/share/bash-completion/completions/whisk
_whisk() {
    local line first
    COMPREPLY=()
    first=1
    while IFS= read -r line; do
        if [ "$first" = 1 ]; then
            first=0
            case $line in
            :files*) compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]#=}"); return ;;
            :folders*) compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -d -- "${COMP_WORDS[COMP_CWORD]#=}"); return ;;
            esac
        fi
        case $line in *[:=]) compopt -o nospace ;; esac
        COMPREPLY+=("$line")
    done < <("${COMP_WORDS[0]}" completion candidates -shell=bash -line="${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _whisk whisk
"""

ZSH = r"""#compdef whisk
# whisk completion for zsh: put it as _whisk into a folder of $fpath
_whisk() {
    local line
    local -a lines texts shown
    lines=("${(@f)$("${words[1]}" completion candidates -shell=zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    case $lines[1] in
    :files*) compset -P "${lines[1]#:files }"; _files; return ;;
    :folders*) compset -P "${lines[1]#:folders }"; _files -/; return ;;
    esac
    for line in $lines; do
        [[ -n $line ]] || continue
        texts+=("${line%%$'\t'*}")
        if [[ $line == *$'\t'* ]]; then shown+=("${line%%$'\t'*}  ${line#*$'\t'}"); else shown+=("$line"); fi
    done
    (( $#texts )) || return 1
    if [[ $texts[1] == *[:=] ]]; then
        compadd -Q -S '' -l -d shown -a texts
    else
        compadd -Q -l -d shown -a texts
    fi
}
if [[ $funcstack[1] == _whisk ]]; then _whisk "$@"; else compdef _whisk whisk; fi
"""

FISH = r"""# whisk completion for fish: put it into ~/.config/fish/completions/whisk.fish
function __whisk_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] completion candidates -shell=fish -- $words[2..-1] 2>/dev/null)
    switch "$found[1]"
        case ':files*' ':folders*'
            __fish_complete_path (string replace -r '^-[^=]*=' '' -- (commandline -ct))
        case '*'
            printf '%s\n' $found
    end
end
complete -c whisk -f -a '(__whisk_candidates)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def split_line(line: str) -> list[str]:
    """The words of a bash command line up to the cursor, without the program; the last may be empty or unfinished."""
    for ending in ("", "'", '"'):
        try:
            words = shlex.split(line + ending)
        except ValueError:
            continue
        break
    else:
        words = line.split()
    if not line or line[-1].isspace():
        words.append("")
    return words[1:] or [""]


def render(found: Candidates, shell: str, typed: str) -> list[str]:
    """The lines that the scripts read: `text TAB about`, or the one line `:files prefix`.

    bash begins a new word at `:` and `=`, so it gets only what follows the last of them, and nothing to show beside.
    """
    if found.paths:
        return [f":{found.paths} {found.prefix}".rstrip()]
    if shell == "bash":
        lead = max(typed.rfind(":"), typed.rfind("=")) + 1
        return [each.text[lead:] for each in found.found]
    return [f"{each.text}\t{each.about}" if each.about else each.text for each in found.found]
