/**
 * As near to a machine that has Node and nothing else as one with other things allows: an empty home, copies of the files that git
 * has, and no variable but PATH and LANG. Packages come from the registry, or from what npm has downloaded before.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './documents.ts'
import { hasTerminal, openTerminal, type Terminal } from './terminal.ts'

export interface CleanMachine {
  /** A new folder below its home. */
  folder(name: string): Promise<string>
  /** A clone of the repository, as it stands with what is not committed yet. */
  clone(name: string): Promise<string>
  /** A terminal in this folder. Servers that are started in it take a free port, and have these settings besides. */
  terminal(folder: string, settings?: Record<string, string>): Promise<Terminal>
  /** Closes its terminals and removes it. */
  remove(): Promise<void>
}

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })

const isClone = () => {
  try {
    return git('rev-parse', '--is-inside-work-tree').toString().trim() === 'true'
  } catch {
    return false
  }
}

/** Whether this machine has what makes one. */
export const hasCleanMachine = hasTerminal && isClone()
if (!isClone()) console.warn('SKIPPED LOUDLY: no checkout of git, so nothing is cloned to a clean machine.')

/** Of npm, when it cannot reach the registry and has not downloaded the package before. */
const unreachable =
  /npm (?:error|ERR!) code (?:ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)/

/** Whether an install failed because there is no registry. */
export const lacksRegistry = (error: unknown): boolean => unreachable.test(String(error))

export async function openCleanMachine(): Promise<CleanMachine> {
  const home = await mkdtemp(join(tmpdir(), 'gatehouse-machine-'))
  const terminals: Terminal[] = []
  const config = (name: string) =>
    execFileSync('npm', ['config', 'get', name], { cwd: home, encoding: 'utf8' }).trim()
  const kept = ['cache', 'registry', 'cafile'].map((name) => [name, config(name)] as const)
  const settings = [...kept.filter(([, value]) => value !== 'null'), ['prefer-offline', 'true']]
  const globals = join(home, '.npm-global')
  await writeFile(
    join(home, '.npmrc'),
    [...settings, ['prefix', globals]].map((pair) => `${pair.join('=')}\n`).join(''),
  )
  const folder = async (name: string) => {
    const path = join(home, name)
    await mkdir(path)
    return path
  }
  return {
    folder,
    async clone(name) {
      const path = await folder(name)
      const files = git('ls-files', '-z', '--cached', '--others', '--exclude-standard')
      const options = { cwd: root, maxBuffer: 256 * 1024 * 1024 }
      const packed = execFileSync('tar', ['--null', '-T', '-', '-cf', '-'], { ...options, input: files })
      execFileSync('tar', ['-xf', '-', '-C', path], { input: packed })
      return path
    },
    async terminal(cwd, more = {}) {
      const terminal = await openTerminal(cwd, {
        PATH: `${join(globals, 'bin')}:${process.env['PATH']!}`,
        HOME: home,
        LANG: 'C.UTF-8',
        GATEHOUSE_PORT: '0',
        ...more,
      })
      terminals.push(terminal)
      return terminal
    },
    async remove() {
      for (const terminal of terminals) await terminal.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}
