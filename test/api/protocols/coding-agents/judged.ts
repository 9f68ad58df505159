/** Coding agents whose hooks `gatehouse agents install` has written, with a model that calls what a test says. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codingAgent } from '../../../support/peers.ts'
import { startScriptedModel, type ScriptedCall, type ScriptedModel } from '../../../support/scripted-model.ts'
import { command } from '../../../cli/command.ts'
import {
  codexSettings,
  makePlace,
  quietOpencode,
  startProgram,
  type Place,
  type Program,
} from './programs.ts'

export type JudgedName = 'claude' | 'codex' | 'copilot' | 'gemini' | 'opencode'

interface Judged {
  /** The call of its shell. */
  shell(line: string): ScriptedCall
  env(model: string): Record<string, string>
  /** Its own settings, beside the hooks. */
  prepare?(place: Place, model: string): Promise<void>
  args: string[]
  /** Where its hooks are. */
  file: string
}

const opencodeSettings = (model: string) => ({
  enabled_providers: ['local'],
  provider: {
    local: {
      npm: '@ai-sdk/openai-compatible',
      name: 'local',
      options: { baseURL: `${model}/v1`, apiKey: 'none' },
      models: { m: {} },
    },
  },
  model: 'local/m',
  small_model: 'local/m',
})

/** It installs a package of types beside its plugins, from the registry, unless it is there. */
async function forgoPackages(folder: string): Promise<void> {
  const [name, version] = ['@opencode-ai/plugin', '1.18.33']
  const wanted = { dependencies: { [name]: version } }
  const packages = { '': wanted, [`node_modules/${name}`]: { version } }
  await mkdir(join(folder, 'node_modules', name), { recursive: true })
  await writeFile(join(folder, 'node_modules', name, 'package.json'), JSON.stringify({ name, version }))
  await writeFile(join(folder, 'package.json'), JSON.stringify(wanted))
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
}

/** Every tool is allowed by the program itself: the hook alone stops it. */
const judged: Record<JudgedName, Judged> = {
  claude: {
    shell: (line) => ({ name: 'Bash', input: { command: line, description: 'writes a line' } }),
    env: (model) => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    }),
    args: ['-p', 'do it', '--output-format', 'json', '--allowedTools', 'Bash'],
    file: '.claude/settings.json',
  },
  codex: {
    shell: (line) => ({ name: 'exec_command', input: { cmd: line } }),
    env: () => ({}),
    async prepare(place, model) {
      await mkdir(join(place.home, '.codex'), { recursive: true })
      await writeFile(join(place.home, '.codex/config.toml'), codexSettings(model))
    },
    args: [
      'exec',
      '-s',
      'danger-full-access',
      '--skip-git-repo-check',
      '--json',
      '--dangerously-bypass-hook-trust',
      '-m',
      'm',
      'do it',
    ],
    file: '.codex/hooks.json',
  },
  copilot: {
    shell: (line) => ({ name: 'bash', input: { command: line, description: 'writes a line' } }),
    env: (model) => ({
      COPILOT_HOOK_ALLOW_LOCALHOST: '1',
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
      COPILOT_PROVIDER_API_KEY: 'none',
      COPILOT_MODEL: 'm',
    }),
    args: ['--no-auto-update', '-p', 'do it', '--allow-all-tools'],
    file: '.copilot/hooks/gatehouse.json',
  },
  gemini: {
    shell: (line) => ({ name: 'run_shell_command', input: { command: line, description: 'writes a line' } }),
    env: (model) => ({
      GEMINI_API_KEY: 'none',
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    }),
    async prepare(place) {
      const settings = {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }
      await mkdir(join(place.home, '.gemini'), { recursive: true })
      await writeFile(join(place.home, '.gemini/settings.json'), JSON.stringify(settings))
    },
    args: ['-m', 'gemini-2.5-flash', '--approval-mode', 'yolo', '-p', 'do it'],
    file: '.gemini/settings.json',
  },
  opencode: {
    shell: (line) => ({ name: 'bash', input: { command: line, description: 'writes a line' } }),
    env: () => quietOpencode,
    async prepare(place, model) {
      await mkdir(join(place.home, '.config/opencode'), { recursive: true })
      const text = JSON.stringify(opencodeSettings(model))
      await writeFile(join(place.home, '.config/opencode/opencode.json'), text)
      await forgoPackages(join(place.home, '.config/opencode'))
    },
    args: ['run', 'do it'],
    file: '.config/opencode/plugin/gatehouse.js',
  },
}

export interface Session {
  place: Place
  model: ScriptedModel
  /** Starts the program on its task, or with other arguments. */
  start(args?: string[]): Program
  /** The lines that its commands have written. */
  lines(): Promise<string[]>
  /** Changes the file with its hooks. */
  rewrite(change: (text: string) => string): Promise<void>
  close(): Promise<void>
}

/** The command whose effect is counted. */
export const effectOf = (word = 'line') => `echo ${word} >> out.txt`

/** A place where this program is installed, whose model calls these commands of its shell, by default one. */
export async function openSession(
  name: JudgedName,
  server: { url: string; adminKey: string },
  {
    commands = [effectOf()],
    options = [],
    key,
  }: { commands?: string[]; options?: string[]; key?: string } = {},
): Promise<Session> {
  const { shell, env, prepare, args, file } = judged[name]
  const model = await startScriptedModel(commands.map(shell))
  const place = await makePlace(env(model.url))
  await prepare?.(place, model.url)
  const setting = { GATEHOUSE_URL: server.url, GATEHOUSE_KEY: server.adminKey, HOME: place.home }
  const install = await command(['agents', 'install', name, ...options], setting)
  if ((await install.ended) !== 0) throw new Error(install.err())
  const [, variable, secret] = /^export (\w+)=(\S+)$/m.exec(install.out())!
  place.env[variable!] = key ?? secret!
  const path = codingAgent(name)!
  const [binary, before] = path.endsWith('.js') ? [process.execPath, [path]] : [path, []]
  const started: Program[] = []
  return {
    place,
    model,
    start(given = args) {
      const program = startProgram(binary, [...before, ...given], place)
      started.push(program)
      return program
    },
    async lines() {
      const text = await readFile(join(place.work, 'out.txt'), 'utf8').catch(() => '')
      return text.split('\n').filter((line) => line !== '')
    },
    async rewrite(change) {
      const where = join(place.home, file)
      await writeFile(where, change(await readFile(where, 'utf8')))
    },
    async close() {
      await Promise.all(started.map((program) => program.kill()))
      await model.close()
      await place.close()
    },
  }
}
