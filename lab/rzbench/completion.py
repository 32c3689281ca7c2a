# SPDX-License-Identifier: BSD-3-Clause
"""Scripts by which bash and zsh complete a command line, written from the command's table, as src/cli does it for the commands in C."""
import re

SHELLS = ("bash", "zsh")
BASH = {"FILE": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word")',
        "DIR": 'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word")',
        "HOST,...": 'COMPREPLY=($(compgen -A hostname -- "$word"))'}
ZSH = {"FILE": "_files", "DIR": "_files -/", "HOST,...": "_hosts"}


def literal(argument):
    """Of "CPU,CPU|none" the words that are meant as they stand: those in lower case."""
    return [word for word in argument.split("|") if re.fullmatch("[a-z0-9-]+", word)] if "|" in argument else []


def bash(cli, options):
    values = []
    for names, argument, *_ in options:
        if argument:
            words = f'COMPREPLY=($(compgen -W "{" ".join(literal(argument))}" -- "$word"))' if literal(argument) else ":"
            values.append(f"    {'|'.join(names)}) {BASH.get(argument, words)}; return ;;\n")
    every = " ".join(names[-1] for names, *_ in options)
    return (f"# Completion in bash, from the table of options: {cli.name} --completion bash\n_{cli.name}()\n{{\n"
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n    COMPREPLY=()\n"
            '    if [[ $word == = ]]; then word=""\n    elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n'
            f"    case $before in\n{''.join(values)}    esac\n"
            f'    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W "{every}" -- "$word"))\n'
            f'    elif ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W "{" ".join(cli.words)}" -- "$word"))\n    fi\n}}\n'
            f"complete -o default -F _{cli.name} {cli.name}\n")


def zsh(cli, options):
    def quoted(text, special):
        return re.sub(f"([{re.escape(special)}])", r"\\\1", text).replace("'", "'\\''")

    lines = []
    for names, argument, text, *_ in options:
        value = ""
        if argument:
            action = ZSH.get(argument, f"({' '.join(literal(argument))})" if literal(argument) else " ")
            value = f":{quoted(argument, ':')}:{action}"
        what = quoted(re.split(r"\.(?: |$)", text)[0], "[]")
        lines += [f"    '*{name}{('=' if name.startswith('--') else '+') if argument else ''}[{what}]{value}' \\\n" for name in names]
    return (f"#compdef {cli.name}\n# Completion in zsh, from the table of options: {cli.name} --completion zsh\n_arguments -S \\\n{''.join(lines)}"
            f"    ':what:({' '.join(cli.words)})' \\\n    '*:argument:()'\n")


def completion(cli, shell):
    options = [(option.names.split(", "), *option[1:]) for option in cli.options()]
    return {"bash": bash, "zsh": zsh}[shell](cli, options)
