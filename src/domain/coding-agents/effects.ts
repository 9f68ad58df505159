/**
 * What a call of a coding agent may do, by rules over its words: never a guess. What no rule knows is UNKNOWN. The rules read
 * what the agent sent; what a shell makes of it, they cannot know. Pure.
 */
import { posix, win32 } from 'node:path'

/** What the argument `effects` may hold, and what it means. */
export const effects = {
  read: 'it only reads, or changes nothing but the state of the agent itself',
  write: 'it writes a file below the working directory',
  outside: 'it writes a file outside the working directory',
  network: 'it names a program or an address of the network',
  deletion: 'it names a program that deletes, overwrites or ends something',
  unknown: 'no rule knows what it does',
} as const
export type Effect = keyof typeof effects

/** Names of tools, in lower case and without `_`, which the programs spell in different ways. */
const namesOf = (names: string): Set<string> => new Set(names.split(' '))
const readers = namesOf(
  'read readfile readmanyfiles notebookread glob globsearch grep grepsearch searchfilecontent ls list listdirectory view ' +
    'todowrite todoread updateplan reportintent exitplanmode enterplanmode askuserquestion toolsearch task agent skill ' +
    'taskoutput bashoutput readbash',
)
const writers = namesOf('write writefile edit multiedit replace notebookedit create strreplaceeditor')
const shells = namesOf('bash shell runshellcommand execcommand localshell powershell')
const fetchers = namesOf('webfetch websearch googlewebsearch')

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

/** What the arguments of a call say about its effects, in the order of `effects`; never empty. */
export function effectsOf(tool: string, target: string | null, cwd: string | null): Effect[] {
  const name = tool.toLowerCase().replaceAll('_', '')
  if (shells.has(name)) return ofCommand(target)
  if (readers.has(name)) return ['read']
  if (fetchers.has(name)) return ['network']
  if (writers.has(name)) return [placeOf(target, cwd)]
  return ['unknown']
}

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
