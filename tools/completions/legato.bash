# shellcheck shell=bash
# Completion of legato-sandbox, legato-diff and legato-fs for bash: verbs and
# options are those of `--help`, so there is no list here that could be old.

_legato_help() { "$1" --help 2>/dev/null; }

_legato_verbs() { # PROGRAM
  _legato_help "$1" | sed -nE "s/^(usage:|   or:|      ) *${1##*/} ([a-z]+)( .*)?\$/\\2/p" | sort -u
}

_legato_options() { # PROGRAM
  _legato_help "$1" | grep -oE -- '--[a-z][a-z-]*' | sort -u
}

# Ids and names of executions.
_legato_ids() {
  legato-sandbox ls 2>/dev/null | awk 'NR > 1 { print $1; if ($2 != "-") print $2 }'
}

_legato() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]:-} words='' i
  COMPREPLY=()
  # What follows "--" is a command's, or a path.
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "${COMP_WORDS[i]}" = -- ]; then return 0; fi
  done
  case $current in
    -*) words=$(_legato_options "$program") ;;
    *)
      if [ "$COMP_CWORD" -eq 1 ]; then words=$(_legato_verbs "$program"); fi
      case ${program##*/}:$verb in
        legato-diff:* | legato-sandbox:exec | legato-sandbox:kill | legato-sandbox:show | \
          legato-sandbox:discard | legato-sandbox:quota)
          words+=" $(_legato_ids)"
          ;;
      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _legato legato-sandbox legato-diff legato-fs
