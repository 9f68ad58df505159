/** kill -9 of the server while a client follows a generation and runs its tools: nothing lost, nothing twice. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createClient } from '../../client/index.ts'
import { mutate } from '../support/ask.ts'
import { buildServer } from '../support/build.ts'
import { databaseKinds, embeddedDatabase, postgresDatabase } from '../support/databases.ts'
import { adminKey } from '../support/harness.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { drawn } from '../support/random.ts'
import { folderForFile } from '../support/for-file.ts'

const entry: string = (await buildServer()).entry
const folder = await folderForFile()

describe.each(drawn(databaseKinds))('on %s', (kind) => {
  test(
    'a run with client tools ends well through two kills and a rolling restart',
    { timeout: 720_000 },
    async () => {
      const database = kind === 'PostgreSQL' ? await postgresDatabase() : null
      if (!database) await embeddedDatabase(join(folder, kind))
      const settings = {
        GATEHOUSE_ADMIN_KEY: adminKey,
        GATEHOUSE_DATA_DIR: join(folder, kind),
        GATEHOUSE_LEASE_MS: '1000',
        GATEHOUSE_LOG_LEVEL: 'silent',
        GATEHOUSE_DEMO: 'false',
        ...(database ? { DATABASE_URL: database.url } : {}),
      }
      let server: Replica = startReplica(entry, { ...settings, GATEHOUSE_PORT: '0' })
      await server.ready
      const { url } = server
      const again = async (end: (one: Replica) => Promise<unknown>) => {
        await end(server)
        server = startReplica(entry, { ...settings, GATEHOUSE_PORT: new URL(url).port })
        await server.ready
      }
      const inputSchema = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] }
      const { tool } = await mutate(
        url,
        adminKey,
        'createTool',
        { name: 'ask', config: { client: { inputSchema } } },
        'tool { id }',
      )
      const { agent } = await mutate(
        url,
        adminKey,
        'createAgent',
        { name: 'a', toolIds: [tool.id] },
        'agent { id }',
      )
      const client = createClient({ url, key: adminKey, webSocket: WebSocket })
      const prompt = `${[1, 2, 3, 4].map((n) => `call ask {"word":"w${n}"}`).join('\nthen\n')}\nthen\nslow 20ms\nsay ${'word '.repeat(40)}`
      const { id } = await client.startGeneration({ agentId: agent.id, prompt })
      const cursors: string[] = []
      const runs: string[] = []
      let restarting: Promise<void> | null = null
      let letters = 0
      const generation = await client.runClientTools(
        id,
        {
          ask: async ({ word }, { toolCallId }) => {
            runs.push(toolCallId)
            // While the call is open, and just after its output was sent.
            if (word === 'w1') await again((one) => one.kill())
            if (word === 'w2') setTimeout(() => void (restarting ??= again((one) => one.kill())))
            if (word === 'w3') await restarting?.then(() => again((one) => one.stop()))
            return word
          },
        },
        {
          onEvent: (event) => {
            if (event.type === 'TEXT_DELTA') letters += event.text.length
            else cursors.push(event.cursor)
          },
        },
      )
      expect(generation).toMatchObject({ status: 'COMPLETED', output: { text: 'word '.repeat(40).trim() } })
      expect(runs.length).toBe(4)
      expect(new Set(runs).size).toBe(4)
      expect(letters).toBeGreaterThan(0)
      const log = await client.query<{ generation: { events: { nodes: { cursor: string }[] } } }>(
        'query($id: ID!) { generation(id: $id) { events(first: 100) { nodes { cursor } } } }',
        { id },
      )
      expect(cursors).toEqual(log.generation.events.nodes.map(({ cursor }) => cursor))
      client.close()
      await server.stop()
      await database?.drop()
    },
  )
})
