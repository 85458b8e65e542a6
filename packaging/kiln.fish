# Completion of kiln for fish. What there is to complete is asked of `kiln --help`: a word, and behind a tab what it means.
function __kiln_options
    kiln --help | string match -r '^  -.*' | string replace -r '^  (\S+)(?: \S+)? +(\S.*)' '$1\t$2'
end
function __kiln_tools
    kiln --help | string match -r '^kiln [a-z]+ .*' | string replace -r '^kiln (\S+) .*? {2,}(\S.*)' '$1\t$2'
end
complete -c kiln -f
complete -c kiln -n 'string match -q -- "-*" (commandline -ct)' -a '(__kiln_options)'
complete -c kiln -n 'test (count (commandline -opc)) -eq 1' -a '(__kiln_tools)'
complete -c kiln -k -a '(__fish_complete_suffix .kiln)'
