/**
 * Verdicts by Slack and by link, over connections that are cut: after each part of the request, and after each part of the
 * answer. The person does the same again; the call runs once, with one vote.
 */
import { connect } from 'node:net'
import { afterAll, expect, test, vi } from 'vitest'
import { signatureOf } from '../../src/domain/followers/slack/interactions.ts'
import { makeFixtures } from '../support/fixtures.ts'
import type { GateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { openLinkFixtures, sendForm } from '../support/link-fixtures.ts'
import { headlineOf, openSlackFixtures, user } from '../support/slack-fixtures.ts'
import { channel, interact, openSlackServer, pressOf, signingSecret } from '../support/slack-server.ts'

const closers: (() => unknown)[] = []

const slack = await openSlackServer()
closers.push(() => slack.close())
const links = await openHarness()
closers.push(() => links.stop())
const byLink = await openLinkFixtures(links)
closers.push(() => byLink.close())
const presses = await openHarness({ slackApiUrl: slack.url })
closers.push(() => presses.stop())
const fixtures = await makeFixtures(presses)
closers.push(() => fixtures.close())
const bySlack = await openSlackFixtures(presses, fixtures, slack)
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

/** Where a connection is cut: after this part of the request, or after so many bytes of the answer. */
type Cut = { sent: number } | { received: number }

const cuts: Cut[] = [
  ...[0.02, 0.5, 0.9, 0.999].map((sent) => ({ sent })),
  ...[0, 1, 100, 400, 1500].map((received) => ({ received })),
]

/** Sends a form and cuts the connection there; resolves when it is closed. */
function sendCut(url: string, body: string, headers: Record<string, string>, cut: Cut): Promise<void> {
  const { hostname, port, host, pathname } = new URL(url)
  const head = {
    host,
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  const bytes = Buffer.from(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  const socket = connect(Number(port), hostname)
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  socket.on('error', () => {})
  const part = 'sent' in cut ? bytes.subarray(0, Math.floor(bytes.length * cut.sent)) : bytes
  socket.write(part, () => {
    if ('sent' in cut || cut.received === 0) socket.destroy()
  })
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
    if ('received' in cut && received >= cut.received) socket.destroy()
  })
  // An answer that is shorter than the cut has come whole.
  if ('received' in cut)
    void vi.waitUntil(() => received > 0 || socket.destroyed, { timeout: 60_000 }).then(() => socket.end())
  return closed
}

async function ranOnce(gate: GateFixtures, approvalId: string, callId: string, tool: string) {
  const { votes, status } = await gate.approval(approvalId)
  const { attempt } = await gate.toolCall(callId)
  expect([status, votes.length, attempt, gate.paid(tool).length]).toEqual(['APPROVED', 1, 1, 1])
}

test.each(cuts)('the form of a link, cut at %o', async (cut) => {
  const { approvalId, callId, tool, links: sent } = await byLink.question()
  const { url, code } = sent[0]!
  const fields = { code, verdict: 'APPROVE' }
  await sendCut(url, new URLSearchParams(fields).toString(), { 'sec-fetch-site': 'same-origin' }, cut)
  const again = await sendForm(url, fields)
  expect(again.text).toMatch(/<h1>Approved<\/h1>|already|decided/i)
  await byLink.gate.untilCall(callId, ['SUCCEEDED'])
  await ranOnce(byLink.gate, approvalId, callId, tool)
})

test.each(cuts)('a press in Slack, cut at %o', async (cut) => {
  const { approvalId, callId, tool, message } = await bySlack.question()
  const press = pressOf(message, 'approve', user)
  const body = new URLSearchParams({ payload: JSON.stringify(press) }).toString()
  const timestamp = String(Math.floor(Date.now() / 1000))
  await sendCut(
    `${presses.url}/slack/interactions`,
    body,
    {
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': signatureOf(signingSecret, timestamp, body),
    },
    cut,
  )
  expect((await interact(presses.url, pressOf(message, 'approve', user))).status).toBe(200)
  await bySlack.gate.untilCall(callId, ['SUCCEEDED'])
  await ranOnce(bySlack.gate, approvalId, callId, tool)
  await bySlack.untilShown(approvalId, 'Approved')
})

test.each([
  ['chat.postMessage', 'before it is done'],
  ['chat.postMessage', 'before its answer arrives'],
  ['chat.update', 'before it is done'],
  ['chat.update', 'before its answer arrives'],
] as const)(
  '%s, cut %s: the question is shown, and its outcome where it was pressed',
  async (method, when) => {
    let times = 0
    slack.interfere = (called, args, response) => {
      if (called !== method || times++ > 0) return false
      if (when === 'before its answer arrives') slack.messages.set(args['ts'] ?? `${Date.now()}.000100`, args)
      response.destroy()
      return true
    }
    try {
      const { approvalId, callId, tool, message } = await bySlack.question()
      const [ts] = [...slack.messages].find(([, one]) => one === message)!
      const container = { type: 'message', message_ts: ts, channel_id: channel }
      expect((await interact(presses.url, pressOf(message, 'approve', user, { container }))).status).toBe(200)
      await bySlack.gate.untilCall(callId, ['SUCCEEDED'])
      await ranOnce(bySlack.gate, approvalId, callId, tool)
      await vi.waitUntil(() => headlineOf(slack.messages.get(ts)!) === 'Approved', { timeout: 60_000 })
      expect(times).toBeGreaterThan(0)
    } finally {
      slack.interfere = null
    }
  },
)
