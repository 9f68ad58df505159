/** Foreign servers that tests run against. They have a package of their own: `npm ci --prefix tools/peers --ignore-scripts`. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, test } from 'vitest'

const peers = resolve(import.meta.dirname, '../../tools/peers')

/** Whether they are installed; tests that need one are skipped otherwise. */
export const hasPeers = existsSync(join(peers, 'node_modules/.package-lock.json'))

if (!hasPeers)
  console.warn(
    'SKIPPED LOUDLY: the foreign servers are not installed. Run: npm ci --prefix tools/peers --ignore-scripts',
  )

/** For tests, and groups of them, that need one. */
export const peerTest = hasPeers ? test : test.skip
export const describeWithPeers = hasPeers ? describe : describe.skip

/** The path of a file in tools/peers. */
export function peerFile(path: string): string {
  return join(peers, path)
}

/** Imports a package of tools/peers; `T` is what `typeof import` says of it. */
export async function importPeer<T>(name: string): Promise<T> {
  const path = createRequire(join(peers, 'package.json')).resolve(name)
  return (await import(pathToFileURL(path).href)) as T
}

/** The React packages of CopilotKit, in a folder of their own; null where they are not installed. */
const copilotKit = resolve(import.meta.dirname, '../../tools/copilotkit/node_modules')
export const copilotKitPackages = existsSync(join(copilotKit, '.package-lock.json')) ? copilotKit : null

if (!copilotKitPackages)
  console.warn(
    'SKIPPED LOUDLY: the pages of CopilotKit are not installed. Run: npm ci --prefix tools/copilotkit --ignore-scripts',
  )

/** Coding agents, each one program of its platform, in a folder of their own. */
const codingAgents = resolve(import.meta.dirname, '../../tools/coding-agents/node_modules')
const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const programs = {
  codex: `codex-linux-${process.arch}/vendor/${machine}-unknown-linux-musl/bin/codex`,
  opencode: `opencode-linux-${process.arch}/bin/opencode`,
  claude: `@anthropic-ai/claude-code-linux-${process.arch}/claude`,
  copilot: `@github/copilot-linux-${process.arch}/copilot`,
  gemini: '@google/gemini-cli/bundle/gemini.js',
}

/** The path of this program; null where it is not installed, or not made for this platform. */
export function codingAgent(name: keyof typeof programs): string | null {
  const path = join(codingAgents, programs[name])
  if (existsSync(path)) return path
  console.warn(
    `SKIPPED LOUDLY: ${name} is not installed. Run: npm ci --prefix tools/coding-agents --ignore-scripts`,
  )
  return null
}
