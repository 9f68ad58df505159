/** The alert rules and the dashboard: every metric that they name exists, and promtool accepts the rules. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { makeGatedAgent } from '../support/gated-agent.ts'
import { callRaw } from '../support/bridge.ts'
import { openHarness } from '../support/harness.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { forFile } from '../support/for-file.ts'

const promtool = '/usr/bin/promtool'
if (!existsSync(promtool))
  console.warn(`SKIPPED LOUDLY: ${promtool} is not installed; the alert rules are not judged.`)

const folder = resolve(import.meta.dirname, '../../deploy/observability')
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
const alerts = textOf('alerts.yaml')
const dashboard = JSON.parse(textOf('dashboard.json')) as {
  panels: { id: number; title: string; targets: { expr: string }[] }[]
}
const guide = readFileSync(resolve(folder, '../../docs/guides/observability.md'), 'utf8')

/** The names of metrics in an expression of PromQL; histograms by the name that their series begin with. */
function metricsIn(expression: string): string[] {
  const names = expression.match(/\b(?:gatehouse|gen_ai|mcp|process|nodejs)_[a-z_]+/g) ?? []
  return names.map((name) => name.replace(/_(bucket|sum|count)$/, ''))
}

const expressions = [
  ...[...alerts.matchAll(/^ +expr: (.+)$/gm)].map((match) => match[1]!),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
]

const h = await forFile(openHarness())
const agent = await forFile(makeGatedAgent(h))

async function metrics(): Promise<{ names: Set<string>; text: string }> {
  const text = await (await fetch(`${h.url}/metrics`)).text()
  return { names: new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]!)), text }
}

const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  )

test('a running server has every metric that rules, dashboard and guide name', async () => {
  const { names } = await metrics()
  const missing = (text: string) => metricsIn(text).filter((name) => !names.has(name))
  expect(missing('max(gatehouse_events_lag_secs)')).toEqual(['gatehouse_events_lag_secs'])
  expect(expressions.length).toBeGreaterThan(25)
  for (const expression of expressions) {
    expect(metricsIn(expression).length + Number(expression.startsWith('up{')), expression).toBeGreaterThan(0)
    expect(missing(expression), expression).toEqual([])
  }
  const documented = [...guide.matchAll(/`((?:gatehouse|gen_ai|mcp)_[a-z_]+)`/g)].map((match) => match[1]!)
  expect(documented.length).toBeGreaterThan(10)
  expect(documented.filter((name) => !names.has(name))).toEqual([])
})

test('every alert has a row in the guide, and panels have different ids', () => {
  const named = [...alerts.matchAll(/alert: (\w+)/g)].map((match) => match[1]!)
  const rows = [...guide.matchAll(/^\| `(Gatehouse\w+)` \|/gm)].map((match) => match[1]!)
  expect(rows).toEqual(named)
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
})

test('durations are counted by kind and outcome, and never by the name of a caller', async () => {
  await callRaw(agent.url, agent.callerKey, 'echo', { word: 'x' })
  await callRaw(agent.url, agent.callerKey, 'fail', { word: 'x' })
  await callRaw(agent.url, agent.callerKey, 'made_up_by_a_stranger', {})
  const { text } = await metrics()
  const tools = 'gen_ai_execute_tool_duration_seconds_count'
  expect(valueOf(text, `${tools}{outcome="succeeded",kind="http"}`)).toBe(1)
  expect(valueOf(text, `${tools}{outcome="errored",kind="http"}`)).toBe(1)
  const served = 'mcp_server_operation_duration_seconds_count'
  expect(valueOf(text, `${served}{outcome="success",kind="tool"}`)).toBe(1)
  expect(valueOf(text, `${served}{outcome="tool_error",kind="tool"}`)).toBe(1)
  expect(valueOf(text, `${served}{outcome="error",kind="unknown"}`)).toBe(1)
  expect(text).not.toContain('made_up')
})

test('runs, model responses and tokens are counted; a model that never answered has no label', async () => {
  const input = { agentId: agent.agentId, prompt: 'say hello' }
  const { generation } = await h.mutate('startGeneration', input, 'generation { id }')
  await h.until(generation.id, ['COMPLETED'])
  const counted = async () => {
    const { text } = await metrics()
    return {
      activations: valueOf(text, 'gen_ai_invoke_agent_duration_seconds_count{outcome="completed"}'),
      models: valueOf(
        text,
        'gen_ai_client_operation_duration_seconds_count{outcome="success",kind="builtin",model="builtin/rehearsal"}',
      ),
      tokens: valueOf(
        text,
        'gen_ai_client_token_usage_count{type="input",kind="builtin",model="builtin/rehearsal"}',
      ),
    }
  }
  await expect.poll(counted).toEqual({ activations: 1, models: 1, tokens: 1 })
  const { meters } = h.app.services
  meters.duration('model', 1, { outcome: 'model_auth', kind: 'openai', model: 'openai/made-up' })
  for (let i = 0; i < 200; i++) meters.tokens('input', 1, { kind: 'openai', model: `openai/m${i}` })
  const { text } = await metrics()
  expect(text).not.toContain('made-up')
  expect(text).toContain('model="openai/m48"')
  expect(text).not.toContain('model="openai/m49"')
  expect(valueOf(text, 'gen_ai_client_token_usage_count{type="input",kind="openai",model="other"}')).toBe(151)
})

test('what waits for people is counted', async () => {
  const gated = { toolId: agent.tools.pay, arguments: { word: 'x' } }
  const first = await h.mutate('callTool', gated, 'toolCall { id approval { id } }')
  await h.mutate('callTool', { ...gated, arguments: { word: 'y' } }, 'toolCall { id }')
  const { db } = h.app.services
  await query(
    db,
    sql`update approvals set expires_at = now() + interval '50 seconds', wake_at = now() + interval '50 seconds'
      where id = ${first['toolCall'].approval.id}`,
  )
  await query(
    db,
    sql`insert into tool_calls (id, project_id, source, runtime_name, status, requested_by)
      select 'call_unknown', project_id, 'DIRECT', 'pay', 'UNKNOWN', 'key' from tool_calls limit 1`,
  )
  await query(
    db,
    sql`insert into upstreams (id, project_id, config, status)
      select 'tool_away', project_id, '{}', 'UNREACHABLE' from tool_calls limit 1`,
  )
  const waits = async () => {
    const { text } = await metrics()
    return ['approvals_pending', 'approvals_ending', 'tool_calls_unknown', 'upstreams_faulty'].map((name) =>
      valueOf(text, `gatehouse_${name}`),
    )
  }
  await expect.poll(waits, { interval: 500 }).toEqual([2, 1, 1, 1])
})

test.skipIf(!existsSync(promtool))(
  'promtool accepts the rules, and each alert fires for its cause',
  async () => {
    const run = promisify(execFile)
    const { stdout } = await run(promtool, ['check', 'rules', 'alerts.yaml'], { cwd: folder })
    expect(stdout).toContain('9 rules found')
    const tested = await run(promtool, ['test', 'rules', 'alerts-test.yaml'], { cwd: folder })
    expect(tested.stdout).toContain('SUCCESS')
    for (const [, name] of alerts.matchAll(/alert: (\w+)/g))
      expect(textOf('alerts-test.yaml').split(`alertname: ${name}`).length, name).toBeGreaterThan(2)
  },
)
