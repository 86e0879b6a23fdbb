#!/bin/bash
# What --help, the man pages and the shells' completions say of each other.
. "$(dirname "$0")/../lib/lib.sh"
sandbox_begin
top=$tests/..
mkdir "$work/bin"
ln -s "$LEGATO_SANDBOX" "$LEGATO_DIFF" "$LEGATO_FS" "$work/bin/"
export PATH=$work/bin:$PATH

# shellcheck source=/dev/null
. "$top/tools/completions/legato.bash"
options_in() { grep -oE -- '--[a-z][a-z-]*' | sort -u; }
for page in sandbox/legato-sandbox.1 tools/diff/legato-diff.1; do
  program=$(basename "${page%.1}")
  "$program" --help | options_in | grep -vxE -- '--(help|version)' >"$work/help"
  options_in <"$top/$page.scd" >"$work/page"
  same "$program: the man page has every option of --help" '' "$(comm -23 "$work/help" "$work/page")"
  # An option has its own paragraph: "*--name*" at the start of a line.
  grep -E '^\*-' "$top/$page.scd" | options_in | grep -vxE -- '--(help|version)' >"$work/headings"
  for verb in $(_legato_verbs "$program"); do "$program" "$verb" --help </dev/null 2>/dev/null; done | options_in >>"$work/help"
  sort -uo "$work/help" "$work/help"
  same "$program: --help has every option of the man page" '' "$(comm -13 "$work/help" "$work/headings")"
done

complete_bash() { # WORD...: of which the last is being typed
  bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _legato; printf "%s\n" "${COMPREPLY[@]}"' \
    "$top/tools/completions/legato.bash" "$@"
}
for program in legato-sandbox legato-diff legato-fs; do
  same "bash: the options of $program are those of --help" "$("$program" --help | options_in)" "$(complete_bash "$program" run -- | sort -u)"
done
same 'bash: a verb' kill "$(complete_bash legato-sandbox ki)"
check 'bash: all verbs of the usage' sh -c "test $(complete_bash legato-sandbox '' | wc -l) -ge 10"
same 'bash: nothing after "--"' '' "$(complete_bash legato-sandbox run -- ki)"
export XDG_STATE_HOME=$work/xdg
(cd "$checkout" && legato-sandbox run --name friendly -- true </dev/null 2>/dev/null)
same 'bash: an execution' friendly "$(complete_bash legato-sandbox show fr)"
same 'bash: an execution, for legato-diff' friendly "$(complete_bash legato-diff fr)"
if have zsh; then check 'zsh reads its file' zsh -n "$top/tools/completions/_legato"; else skip 'zsh reads its file' 'no zsh'; fi
if have fish; then
  fish=$top/tools/completions/legato.fish
  same 'fish: a verb' kill "$(fish --no-config -c "source $fish; complete -C 'legato-sandbox ki'" | cut -f1)"
  check 'fish: an option' sh -c "fish --no-config -c \"source $fish; complete -C 'legato-sandbox run --det'\" | grep -q -- --detach"
else
  skip 'fish: a verb' 'no fish'
fi
base_untouched
finish
