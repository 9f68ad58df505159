/** The conformance suite as a program: which Node runs it, what it judges, and what it said. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../../tools/conformance/node_modules')
const program = join(folder, '@modelcontextprotocol/conformance/dist/index.js')

/** The suite needs 22: this process when it is new enough, else the one in tools/conformance. */
function nodeOf(): string | null {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath
  return (
    readdirSync(folder)
      .filter((name) => name.startsWith('node-'))
      .map((name) => join(folder, name, 'bin/node'))
      .find((path) => existsSync(path)) ?? null
  )
}

/** Whether it is installed: `npm ci --prefix tools/conformance`. */
export const isInstalled = existsSync(program)

export const expectedFailures = resolve(import.meta.dirname, 'expected-failures.yml')

export interface Check {
  id: string
  status: string
  errorMessage?: string
}

/** Runs the program; throws when there is no Node that can. Its exit code is not asked: unscored scenarios never change it. */
export function runSuite(args: string[]): Promise<string> {
  const node = nodeOf()
  if (!node)
    throw new Error(
      'No Node 22 or newer for the suite. Run: npm ci --prefix tools/conformance --ignore-scripts',
    )
  return new Promise((done) =>
    execFile(node, [program, ...args], { maxBuffer: 64 * 1024 * 1024 }, (_error, out, err) =>
      done(out + err),
    ),
  )
}

/** The server scenarios of a revision: what it requires, and what is run beside it. */
export async function scenariosOf(revision: string): Promise<string[]> {
  const listed = await runSuite(['list', '--requirements', revision])
  const [required = '', unscored = ''] = listed.split('Run and reported, but never scored:')
  const server = required.slice(required.indexOf('Server scenarios'), required.indexOf('Client scenarios'))
  const names = [...server.matchAll(/^ +- (\S+)$/gm)].map((match) => match[1]!)
  const more = [...unscored.matchAll(/^ +- (\S+) \[server\]$/gm)].map((match) => match[1]!)
  return [...names, ...more]
}

/** The checks of every scenario that was run, by name. */
export function readChecks(output: string): Map<string, Check[]> {
  const found = new Map<string, Check[]>()
  for (const entry of readdirSync(output)) {
    const name = /^server-(.+?)-\d{4}-\d{2}-\d{2}T/.exec(entry)?.[1]
    const path = join(output, entry, 'checks.json')
    if (name && existsSync(path)) found.set(name, JSON.parse(readFileSync(path, 'utf8')) as Check[])
  }
  return found
}
