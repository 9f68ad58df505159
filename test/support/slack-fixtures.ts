/** Helpers for tests of Slack: an integration with a linked approver, and questions in its channel. */
import type { Harness } from './harness.ts'
import { gateFixtures, type GateFixtures } from './gate-fixtures.ts'
import { botToken, channel, signingSecret, type SlackServer } from './slack-server.ts'
import type { Fixtures } from './fixtures.ts'

type Shown = Record<string, any>

export const user = 'U0ALICE'

export interface SlackFixtures {
  gate: GateFixtures
  /** The key to which `user` is linked. */
  alice: { id: string; secret: string }
  /** Stops a call at a gate; resolves with its approval and the message about it. */
  question(
    gate?: object,
    more?: object,
  ): Promise<{ approvalId: string; callId: string; tool: string; toolId: string; message: Shown }>
  /** The message of an approval as it is now. */
  message(approvalId: string): Shown | undefined
  /** Resolves when the message of the approval has this headline. */
  untilShown(approvalId: string, headline: string): Promise<Shown>
}

/** The link in a message names its approval. */
const isAbout = (approvalId: string) => (message: Shown) => JSON.stringify(message).includes(approvalId)

export const headlineOf = (message: Shown): string => message['blocks'][0].text.text

export async function openSlackFixtures(
  h: Harness,
  fixtures: Fixtures,
  slack: SlackServer,
  gate = gateFixtures(h, fixtures),
): Promise<SlackFixtures> {
  const alice = await gate.key({ role: 'APPROVER' })
  const set = { botToken, signingSecret, channel }
  const made = await h.mutate('setSlackIntegration', set, 'integration { id status teamId }')
  if (!made['integration']) throw new Error(JSON.stringify(made))
  const linked = await h.mutate(
    'linkSlackUser',
    { slackUserId: user, principalId: alice.id },
    'user { principalId }',
  )
  if (!linked['user']) throw new Error(JSON.stringify(linked))
  const find = (approvalId: string) => [...slack.messages.values()].find(isAbout(approvalId))
  return {
    gate,
    alice,
    async question(policy = { autoApprove: false }, more = {}) {
      const tool = await gate.gated(policy, more)
      const call = await gate.call(tool.id, { amount: 5, pin: 'secret-pin' })
      const approvalId = call['approval'].id as string
      await slack.until(() => find(approvalId) !== undefined)
      return { approvalId, callId: call['id'], tool: tool.name, toolId: tool.id, message: find(approvalId)! }
    },
    message: find,
    async untilShown(approvalId, headline) {
      const is = () => {
        const message = find(approvalId)
        return message !== undefined && headlineOf(message) === headline
      }
      await slack.until(is)
      return find(approvalId)!
    },
  }
}
