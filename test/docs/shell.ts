/** One bash that stays open, as a terminal does: what a block sets, exports or starts in the background, the next one has. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Shell {
  /** Runs a script; returns what it prints. Throws with its words when any of its commands fails. */
  run(script: string): Promise<string>
  close(): Promise<void>
}

const end = '--- end of the block'

/** Starts it in this folder, with nothing of our environment but the path. */
export function openShell(folder: string): Shell {
  const bash = spawn('bash', ['--noprofile', '--norc'], {
    cwd: folder,
    env: {
      PATH: `${join(folder, 'node_modules/.bin')}:${process.env['PATH']!}`,
      HOME: folder,
      LANG: 'C.UTF-8',
    },
  })
  let [printed, complained, scripts] = ['', '', 0]
  let check = () => {}
  bash.stderr.on('data', (chunk: Buffer) => (complained += chunk.toString()))
  bash.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
    check()
  })
  bash.stdin.write("set -o pipefail\ntrap 'FAILED=yes' ERR\n")
  return {
    async run(script) {
      const file = join(folder, `block-${++scripts}.sh`)
      await writeFile(file, script)
      ;[printed, complained] = ['', '']
      const done = new Promise<string>((resolve, reject) => {
        check = () => {
          const [output, failed] = printed.split(`\n${end} `)
          if (failed === undefined || !failed.includes('\n')) return
          if (failed.trim() === '') resolve(output!)
          else reject(new Error(`a command failed\n${output}\n${complained}`))
        }
      })
      bash.stdin.write(`FAILED=; source ${file}; printf '\\n${end} %s\\n' "$FAILED"\n`)
      return done
    },
    async close() {
      bash.stdin.end()
      await once(bash, 'exit')
    },
  }
}
