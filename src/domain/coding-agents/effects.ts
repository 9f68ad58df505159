/**
 * What a call of a coding agent may do, by rules over its words: never a guess. What no rule knows is UNKNOWN. The rules read
 * what the agent sent; what a shell makes of it, they cannot know. Pure.
 */
import { posix, win32 } from 'node:path'
import type { JsonObject } from '../../core/json.ts'
import type { CodingAgent, Effect } from './tool.ts'

const namesOf = (names: string): Set<string> => new Set(names.split(' '))

interface BuiltIn {
  /** They only read, or change nothing but the state of the agent itself. */
  readers: Set<string>
  writers: Set<string>
  shells: Set<string>
  fetchers: Set<string>
}

/**
 * The tools of each agent, exactly as it spells them: `todo_write` of OpenCode is the tool `write` of an MCP server named `todo`.
 * Not those that start something whose own calls no hook may see, such as subagents and skills.
 */
const builtIn: Record<CodingAgent, BuiltIn> = {
  CLAUDE: {
    readers: namesOf(
      'Read Glob Grep LS NotebookRead TodoWrite ExitPlanMode EnterPlanMode AskUserQuestion ToolSearch BashOutput',
    ),
    writers: namesOf('Write Edit MultiEdit NotebookEdit'),
    shells: namesOf('Bash PowerShell'),
    fetchers: namesOf('WebFetch WebSearch'),
  },
  CODEX: {
    readers: namesOf('update_plan'),
    writers: new Set(),
    shells: namesOf('Bash shell exec_command local_shell'),
    fetchers: namesOf('web_search'),
  },
  COPILOT: {
    readers: namesOf('view glob grep report_intent'),
    writers: namesOf('create edit'),
    shells: namesOf('bash powershell'),
    fetchers: namesOf('web_fetch web_search'),
  },
  GEMINI: {
    readers: namesOf('read_file read_many_files list_directory glob grep_search search_file_content'),
    writers: namesOf('write_file replace'),
    shells: namesOf('run_shell_command'),
    fetchers: namesOf('web_fetch google_web_search'),
  },
  OPENCODE: {
    readers: namesOf('read glob grep list todoread todowrite'),
    writers: namesOf('write edit'),
    shells: namesOf('bash'),
    fetchers: namesOf('webfetch websearch'),
  },
}

/** Programs that only read, whatever their options. */
const readingPrograms = namesOf('ls pwd cat head tail wc stat')
const networkPrograms = namesOf(
  'curl wget ssh scp sftp rsync ftp telnet nc ncat netcat socat ping dig nslookup git gh npm npx pnpm yarn bun pip pip3 pipx uv ' +
    'uvx cargo go gem bundle composer apt apt-get dnf yum brew docker podman kubectl helm terraform aws gcloud az psql mysql',
)
const deletingPrograms = namesOf(
  'rm rmdir unlink shred truncate dd mkfs fdisk wipefs kill pkill killall shutdown reboot del erase rd remove-item drop clean ' +
    'reset prune purge uninstall delete -delete --delete --force -f',
)

/** Where agents put a command, and where a path. */
const commandKeys = ['command', 'cmd']
const pathKeys = ['file_path', 'filePath', 'notebook_path', 'absolute_path', 'path']

/** The text under the only one of these names that is given; null with none, several, or another kind of value: no rule knows. */
function onlyText(input: JsonObject, names: readonly string[]): string | null {
  const given = names.filter((name) => Object.hasOwn(input, name))
  const value = given.length === 1 ? input[given[0]!] : null
  return typeof value === 'string' ? value : null
}

/** What the input of a call says about its effects, in the order of `effects`; never empty. */
export function effectsOf(
  { agent, tool, cwd }: { agent: CodingAgent; tool: string; cwd: string | null },
  input: JsonObject,
): Effect[] {
  const { shells, readers, fetchers, writers } = builtIn[agent]
  if (shells.has(tool)) return ofCommand(onlyText(input, commandKeys))
  if (readers.has(tool)) return ['read']
  if (fetchers.has(tool)) return ['network']
  if (writers.has(tool)) return [placeOf(onlyText(input, pathKeys), cwd)]
  return ['unknown']
}

/** The names under which people read what a call acts on, the first that is a text. */
export const targetKeys = [...commandKeys, ...pathKeys, 'url', 'query', 'pattern']

/** Everything but words, one after the other, may mean anything to a shell. */
const plainWords = /^[\w./:=@,+ -]+$/

function ofCommand(command: string | null): Effect[] {
  const words = (command ?? '').split(/[^\w./:=@,+-]+/).filter((word) => word !== '')
  const programs = words.map((word) =>
    word
      .toLowerCase()
      .replace(/^.*[\\/]/, '')
      .replace(/\.exe$/, ''),
  )
  const [first] = programs
  if (plainWords.test(command ?? '') && first === words[0] && readingPrograms.has(first!)) return ['read']
  const isNetwork =
    programs.some((name) => networkPrograms.has(name)) || words.some((word) => /:\/\/|@/.test(word))
  const found: Effect[] = [
    ...(isNetwork ? (['network'] as const) : []),
    ...(programs.some((name) => deletingPrograms.has(name)) ? (['deletion'] as const) : []),
  ]
  return found.length > 0 ? found : ['unknown']
}

/** By their names alone: where links lead is not known here. */
function placeOf(path: string | null, cwd: string | null): Effect {
  if (path === null || cwd === null || path === '' || /^~|\0/.test(path)) return 'unknown'
  const { resolve, relative, isAbsolute, sep } = /^[a-z]:[\\/]|^\\\\/i.test(cwd) ? win32 : posix
  if (!isAbsolute(cwd)) return 'unknown'
  const way = relative(cwd, resolve(cwd, path))
  return way === '' || way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? 'outside' : 'write'
}
