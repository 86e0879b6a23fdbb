# Completion for fish: verbs and options are those of `--help`.

function __legato_verbs
    $argv[1] --help 2>/dev/null | string replace -rf "^(?:usage:|   or:|      ) *$argv[1] ([a-z]+)(?: .*)?\$" '$1' | sort -u
end

function __legato_options
    $argv[1] --help 2>/dev/null | string match -ra -- '--[a-z][a-z-]*' | sort -u
end

function __legato_ids
    legato-sandbox ls 2>/dev/null | awk 'NR > 1 { print $1; if ($2 != "-") print $2 }'
end

function __legato_before_command
    not contains -- -- (commandline -opc)
end

for program in legato-sandbox legato-diff legato-fs
    complete -c $program -n '__legato_before_command; and test (count (commandline -opc)) -eq 1' -a "(__legato_verbs $program)"
    complete -c $program -n '__legato_before_command; and string match -q -- "-*" (commandline -ct)' -a "(__legato_options $program)"
end
complete -c legato-sandbox -n '__legato_before_command; and __fish_seen_subcommand_from exec kill show discard quota' -f -a '(__legato_ids)'
complete -c legato-diff -n __legato_before_command -a '(__legato_ids)'
