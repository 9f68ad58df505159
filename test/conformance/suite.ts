/** The conformance suite as a program: which Node runs it, what it judges, and what it said. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const folder = resolve(import.meta.dirname, '../../tools/conformance/node_modules')
const program = join(folder, '@modelcontextprotocol/conformance/dist/index.js')

/** A Node of 22 or newer: this process when it is new enough, else the one in tools/conformance. */
export function newerNode(): string | null {
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

export function warnIfMissing(): void {
  if (!isInstalled)
    console.warn(
      'SKIPPED LOUDLY: the conformance suite is not installed. Run: npm ci --prefix tools/conformance',
    )
}

export interface Check {
  id: string
  status: string
  errorMessage?: string
}

/** Runs the program; throws when there is no Node that can. Its exit code is not asked: unscored scenarios never change it. */
export function runSuite(args: string[]): Promise<string> {
  const node = newerNode()
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

/** The scenarios of a revision for one side: what it requires, and what is run beside it. */
export async function scenariosOf(revision: string, side: 'server' | 'client'): Promise<string[]> {
  const listed = await runSuite(['list', '--requirements', revision])
  const [required = '', unscored = ''] = listed.split('Run and reported, but never scored:')
  const [servers = '', clients = ''] = required.split('Client scenarios')
  const section = side === 'server' ? servers : clients
  const names = [...section.matchAll(/^ +- (\S+)$/gm)].map((match) => match[1]!)
  const more = [...unscored.matchAll(/^ +- (\S+) \[(\w+)\]$/gm)]
  return [...names, ...more.filter((match) => match[2] === side).map((match) => match[1]!)]
}

/** The excuses of a section of the file: `scenario:check` or a whole `scenario`, each with its reason behind it. */
export function expectedOf(section: string): { entry: string; reason: string }[] {
  const file = readFileSync(resolve(import.meta.dirname, 'expected-failures.yml'), 'utf8')
  const [, rest = ''] = file.split(`'${section}':\n`)
  return [...rest.split(/^'/m)[0]!.matchAll(/^ +- (\S+)(?: +# (.+))?$/gm)].map((match) => ({
    entry: match[1]!,
    reason: match[2] ?? '',
  }))
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
