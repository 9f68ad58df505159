/** A terminal in which somebody pastes commands: `script` makes a real one, so that programs see a person and not a pipe. */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

/** Commands that were pasted, and what they show. */
export interface Pasted {
  /** Resolves with the match once it is shown; throws with what is there when the commands end without it. */
  shows(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves with what was shown when the commands have ended. */
  ended: Promise<string>
  /** Presses Ctrl-C; resolves with what was shown when the commands have ended. */
  interrupt(): Promise<string>
}

export interface Terminal {
  /** Pastes the text of one block. What earlier ones have exported is there. */
  paste(text: string): Promise<Pasted>
  /** Closes the window: what still runs is hung up. */
  close(): Promise<void>
}

/** Whether this machine has what makes one. */
export const hasTerminal = spawnSync('script', ['--version']).status === 0
if (!hasTerminal)
  console.warn('SKIPPED LOUDLY: no `script` of util-linux, so nothing is pasted into a terminal.')

/** Opens one in this folder, with these variables and no others. */
export async function openTerminal(cwd: string, env: Record<string, string>): Promise<Terminal> {
  const own = await mkdtemp(join(tmpdir(), 'gatehouse-terminal-'))
  const [block, exported, leader] = ['block.sh', 'exported.sh', 'leader'].map((name) => join(own, name)) as [
    string,
    string,
    string,
  ]
  await writeFile(exported, '')
  // The lines of the block run one after the other, as in a shell that stays open, whatever becomes of each.
  const commands = `echo \\$\\$ > ${leader}; source ${exported}; trap 'export -p > ${exported}' EXIT; source ${block}`
  let newest: { pasted: Pasted; isOver(): boolean } | null = null
  // A signal of a terminal goes to all processes in the foreground: here to all of the group that the shell leads.
  const signal = async (name: NodeJS.Signals) => process.kill(-Number(await readFile(leader, 'utf8')), name)
  return {
    async paste(text) {
      await writeFile(block, text)
      const shell = ['-qec', `exec bash --noprofile --norc -c "${commands}"`, '/dev/null']
      const child = spawn('script', shell, { cwd, env: { ...env, TERM: 'dumb' } })
      let isOver = false
      const pasted = pastedIn(child, () => signal('SIGINT'))
      newest = { pasted, isOver: () => isOver }
      void pasted.ended.then(() => (isOver = true))
      return pasted
    },
    async close() {
      if (newest && !newest.isOver()) {
        await signal('SIGHUP')
        await newest.pasted.ended
      }
      await rm(own, { recursive: true, force: true })
    },
  }
}

function pastedIn(child: ChildProcessWithoutNullStreams, pressCtrlC: () => Promise<unknown>): Pasted {
  let shown = ''
  let look = () => {}
  const keep = (chunk: Buffer) => {
    shown += stripVTControlCharacters(chunk.toString()).replaceAll('\r', '')
    look()
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const ended = new Promise<string>((resolve) => child.once('close', () => resolve(shown)))
  return {
    ended,
    shows: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = pattern.exec(shown)
          if (found) resolve(found)
        }
        look()
        void ended.then(() => reject(new Error(`the commands ended without ${pattern}:\n${shown}`)))
      }),
    async interrupt() {
      await pressCtrlC()
      return ended
    },
  }
}
