/** A process is killed between a vote and the update of its message in Slack: another one updates it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildServer } from '../support/build.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { startReplica, type Replica } from '../support/replica.ts'
import { interact, openSlackServer, pressOf, type SlackServer } from '../support/slack-server.ts'
import { openSlackFixtures, user } from '../support/slack-fixtures.ts'
import { makeFixtures, type Fixtures } from '../support/fixtures.ts'

const closers: (() => unknown)[] = []
let start: () => Replica
let slack: SlackServer
let h: Harness
let fixtures: Fixtures

beforeAll(async () => {
  if (!hasPostgres) return
  const [{ entry }, database] = await Promise.all([buildServer(), postgresDatabase()])
  closers.push(() => database.drop())
  slack = await openSlackServer()
  closers.push(() => slack.close())
  // The one that is asked; those that work are processes of their own.
  h = await openHarness({ databaseUrl: database.url, role: 'api', slackApiUrl: slack.url })
  closers.push(() => h.stop())
  fixtures = await makeFixtures(h)
  closers.push(() => fixtures.close())
  start = () => {
    const replica = startReplica(entry, {
      DATABASE_URL: database.url,
      GATEHOUSE_PORT: '0',
      GATEHOUSE_DEMO: 'false',
      GATEHOUSE_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      GATEHOUSE_LEASE_MS: '1500',
      GATEHOUSE_EGRESS_ALLOW_PRIVATE: 'true',
      GATEHOUSE_PUBLIC_URL: h.url,
      GATEHOUSE_SLACK_API_URL: slack.url,
      GATEHOUSE_LOG_LEVEL: 'error',
    })
    closers.push(() => replica.kill())
    return replica
  }
}, 540_000)
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

test.skipIf(!hasPostgres)(
  'the message of a vote is updated after kill -9, the question is posted once, and the call ran once',
  { timeout: 360_000 },
  async () => {
    const first = start()
    await first.ready
    const slackFixtures = await openSlackFixtures(h, fixtures, slack)
    const { approvalId, callId, tool, message } = await slackFixtures.question()
    // Slack has the update and never answers: the process is killed while it waits.
    let held = 0
    slack.interfere = (method) => method === 'chat.update' && ++held > 0
    expect((await interact(h.url, pressOf(message, 'approve', user))).status).toBe(200)
    await slack.until(() => held > 0)
    // A call that is killed while it runs would be UNKNOWN, which other tests cover.
    await slackFixtures.gate.untilCall(callId, ['SUCCEEDED'])
    await first.kill()
    slack.interfere = null
    expect((await slackFixtures.gate.approval(approvalId))['votes']).toHaveLength(1)
    await start().ready
    await slackFixtures.untilShown(approvalId, 'Approved')
    expect(await slackFixtures.gate.toolCall(callId)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
    expect(slackFixtures.gate.paid(tool)).toHaveLength(1)
    const about = [...slack.messages.values()].filter((one) => JSON.stringify(one).includes(approvalId))
    expect(about).toHaveLength(1)
  },
)
