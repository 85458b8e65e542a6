# Completion of kiln for bash. What there is to complete is asked of `kiln --help`.
_kiln() {
  local word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(kiln --help | grep -oE '^  -{1,2}[a-z-]+')" -- "$word")
    return
  fi
  [[ $COMP_CWORD == 1 ]] &&
    mapfile -t COMPREPLY < <(compgen -W "$(kiln --help | sed -nE 's/^kiln ([a-z]+) .*/\1/p')" -- "$word")
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -S / -- "$word"; compgen -f -X '!*.kiln' -- "$word")
}
complete -o filenames -F _kiln kiln
