/** `gatehouse start` and `gatehouse demo`: the server, in this process or one of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { note } from './screen.ts'
import type { Command } from './usage.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const start: Command = {
  summary: 'start the server',
  help: `gatehouse start

Starts the server in this process, with the settings of the environment: see
docs/guides/configuration.md. It ends on SIGTERM or Ctrl-C.
`,
  options: {},
  isWordless: true,
  async run() {
    await import(new URL('../main.js', import.meta.url).href)
    // The server ends the process.
    return new Promise<never>(() => {})
  },
}

export const demo: Command = {
  summary: 'see what Gatehouse promises, with a server of its own',
  help: `gatehouse demo [--watch]

Shows in this terminal: a client's pause, two reviewers, an approval that nobody
answers, and kill -9 twice. It runs in a checkout with its development dependencies.

  --watch  wait for Enter at each chapter
`,
  options: { watch: { type: 'boolean' } },
  async run({ options }) {
    const program = join(root, 'bench/demo.ts')
    if (!existsSync(program) || !existsSync(join(root, 'node_modules/tsx'))) {
      note(`The demo runs in a checkout with its development dependencies; ${dirname(program)} has none.`)
      return 1
    }
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', program, ...(options['watch'] ? ['--watch'] : [])],
      {
        cwd: root,
        stdio: 'inherit',
      },
    )
    const [code] = (await once(child, 'exit')) as [number | null]
    return code ?? 1
  },
}
