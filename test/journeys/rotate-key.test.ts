/** Rotating the master key: everything encrypted under the old one opens under the new one, or nothing has changed. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { loadConfig, type Config } from '../../src/config.ts'
import { rotateKey } from '../../src/rotate-key.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from 'drizzle-orm'
import { embeddedDatabase } from '../support/databases.ts'
import { adminKey, harnessOf } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { objectSchema } from '../support/fixtures.ts'
import { folderForFile, forFile } from '../support/for-file.ts'

let toolId: string

const dataDir = await folderForFile()
await embeddedDatabase(dataDir)
const upstream = await forFile(startLoopback((_request, response) => void response.end('{}')))

const configOf = (more: Record<string, string> = {}): Config => ({
  ...loadConfig({
    GATEHOUSE_PORT: '0',
    GATEHOUSE_LOG_LEVEL: 'silent',
    GATEHOUSE_ADMIN_KEY: adminKey,
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_DEMO: 'false',
    GATEHOUSE_EGRESS_ALLOW_PRIVATE: 'true',
    ...more,
  }),
})
const keyFile = () => readFile(join(dataDir, 'secret.key'), 'utf8')

/** Calls the tool through a server of its own; returns the header that the upstream received. */
async function headerSeen(config: Config): Promise<string | undefined> {
  const app = await createApp(config)
  const h = harnessOf(app)
  try {
    if (!toolId) {
      await h.mutate('setSecret', { name: 'TOKEN', value: 'kept safe' }, 'secret { id }')
      const http = {
        url: upstream.url,
        headers: { 'x-token': '{{secret:TOKEN}}' },
        inputSchema: objectSchema({}),
      }
      toolId = (await h.mutate('createTool', { name: 'sealed', config: { http } }, 'tool { id }'))['tool'].id
    }
    const { toolCall } = await h.mutate('callTool', { toolId }, 'toolCall { status }')
    return toolCall.status === 'SUCCEEDED' ? (upstream.seen.at(-1)!.headers['x-token'] as string) : undefined
  } finally {
    await h.stop()
  }
}

test('a generated key is replaced by another one, and secrets keep working', async () => {
  expect(await headerSeen(configOf())).toBe('kept safe')
  const before = await keyFile()
  expect(await rotateKey(configOf())).toMatchObject({ secrets: 1, tokens: 0 })
  expect(await keyFile()).not.toBe(before)
  expect(await headerSeen(configOf())).toBe('kept safe')
})

test('a request sent under the old key is still the same request under the new one', async () => {
  const asking = harnessOf(await createApp(configOf()))
  const config = { http: { url: upstream.url, inputSchema: objectSchema({}) } }
  const gated = { name: 'gated', gate: { autoApprove: false }, config }
  const { tool } = await asking.mutate('createTool', gated, 'tool { id }')
  const { toolCall } = await asking.mutate('callTool', { toolId: tool.id }, 'toolCall { id approval { id } }')
  await asking.stop()
  expect(await rotateKey(configOf())).toMatchObject({ approvals: 1 })
  const deciding = harnessOf(await createApp(configOf()))
  const before = upstream.seen.length
  const approvalId = toolCall.approval.id
  await deciding.mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
  await expect.poll(() => upstream.seen.length).toBe(before + 1)
  await deciding.stop()
})

test('it is refused while a server runs, and a configured key needs its successor', async () => {
  const app = await createApp(configOf())
  await expect(rotateKey(configOf())).rejects.toThrow(/in use|process/)
  await app.stop()
  const key = Buffer.alloc(32, 1).toString('base64')
  await expect(rotateKey(configOf({ GATEHOUSE_SECRET_KEY: key }))).rejects.toThrow('GATEHOUSE_NEW_SECRET_KEY')
})

test('a wrong key changes nothing; the right one leads to a configured one', async () => {
  const next = Buffer.alloc(32, 2).toString('base64')
  const wrong = {
    GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    GATEHOUSE_NEW_SECRET_KEY: next,
  }
  await expect(rotateKey(configOf(wrong))).rejects.toThrow()
  expect(await headerSeen(configOf())).toBe('kept safe')
  const right = { GATEHOUSE_SECRET_KEY: await keyFile(), GATEHOUSE_NEW_SECRET_KEY: next }
  expect(await rotateKey(configOf(right))).toMatchObject({ secrets: 1, tokens: 0 })
  expect(await headerSeen(configOf({ GATEHOUSE_SECRET_KEY: next }))).toBe('kept safe')
})

test('tokens of upstreams are encrypted again, and open logins are deleted', async () => {
  const now = Buffer.alloc(32, 2)
  const then = Buffer.alloc(32, 3)
  const app = await createApp(configOf({ GATEHOUSE_SECRET_KEY: now.toString('base64') }))
  const { db } = app.services
  const { seal, unseal } = await import('../../src/domain/secrets/secrets.ts')
  await query(
    db,
    sql`insert into upstream_tokens (upstream_id, project_id, sealed, client)
      values ('tool_x', 'p', ${seal(now, '{"a":1}', 'upstream/tool_x')}, null)`,
  )
  await app.stop()
  const keys = {
    GATEHOUSE_SECRET_KEY: now.toString('base64'),
    GATEHOUSE_NEW_SECRET_KEY: then.toString('base64'),
  }
  expect(await rotateKey(configOf(keys))).toMatchObject({ secrets: 1, tokens: 1 })
  const after = await createApp(configOf({ GATEHOUSE_SECRET_KEY: then.toString('base64') }))
  const [row] = await query<{ sealed: string }>(after.services.db, sql`select sealed from upstream_tokens`)
  expect(unseal(then, row!.sealed, 'upstream/tool_x')).toBe('{"a":1}')
  await after.stop()
})
