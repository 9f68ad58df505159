/** `gatehouse completion SHELL`: a script that completes commands and their options. */
import { out } from './screen.ts'
import { commonOptions, UsageError, type Command } from './usage.ts'

type Words = Record<string, string[]>

const shells: Record<string, (words: Words) => string> = {
  bash: (words) => `_gatehouse() {
  local words
  case "\${COMP_WORDS[1]}" in
${cases(words, (all) => `words="${all}"`)}
    *) words="${Object.keys(words).join(' ')}" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="${Object.keys(words).join(' ')}"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _gatehouse gatehouse
`,
  zsh: (words) => `_gatehouse() {
  if (( CURRENT == 2 )); then
    compadd -- ${Object.keys(words).join(' ')}
    return
  fi
  case "$words[2]" in
${cases(words, (all) => `compadd -- ${all}`)}
  esac
}
compdef _gatehouse gatehouse
`,
  fish: (words) =>
    `complete -c gatehouse -f -n __fish_use_subcommand -a "${Object.keys(words).join(' ')}"\n${Object.entries(
      words,
    )
      .map(
        ([name, all]) =>
          `complete -c gatehouse -n "__fish_seen_subcommand_from ${name}" -a "${all.join(' ')}"\n`,
      )
      .join('')}`,
}

const cases = (words: Words, line: (all: string) => string) =>
  Object.entries(words)
    .map(([name, all]) => `    ${name}) ${line(all.join(' '))} ;;`)
    .join('\n')

/** The command, for these commands. What follows a command is read from its help, so that nothing is listed twice. */
export function completionOf(commands: Readonly<Record<string, Command>>): Command {
  return {
    summary: 'print the completion for bash, zsh or fish',
    help: `gatehouse completion bash|zsh|fish

  bash   source <(gatehouse completion bash)
  zsh    source <(gatehouse completion zsh)
  fish   gatehouse completion fish | source
`,
    options: {},
    async run({ words: [shell = '', ...rest] }) {
      if (!Object.hasOwn(shells, shell) || rest.length > 0) throw new UsageError('Say bash, zsh or fish.')
      out(
        shells[shell]!(
          Object.fromEntries(Object.entries(commands).map(([name, one]) => [name, wordsOf(name, one)])),
        ),
      )
      return 0
    },
  }
}

/** The second words that the help of a command shows, and all of its options. */
function wordsOf(name: string, { help, options }: Command): string[] {
  const second = [...help.matchAll(new RegExp(`^gatehouse ${name} ([a-z|]+)`, 'gm'))].flatMap(([, words]) =>
    words!.split('|'),
  )
  return [...new Set(second), ...Object.keys({ ...options, ...commonOptions }).map((option) => `--${option}`)]
}
