/** Helpers for tests of the gate: gated tools, pending approvals, decisions, and deadlines. */
import { sql } from 'drizzle-orm'
import { query } from '../../src/store/db/database.ts'
import { forFile } from './for-file.ts'
import { openHarness, type Harness } from './harness.ts'
import { makeFixtures, objectSchema, type Fixtures } from './fixtures.ts'

type Shown = Record<string, any>

export interface GateFixtures {
  /** A POST tool behind this gate, `pay_1` and so on: `amount` (required), `to`, and `pin`, which is masked. */
  gated(gate: object | null, more?: object): Promise<{ id: string; name: string }>
  /** A client tool behind this gate, with the same arguments. */
  gatedClient(gate: object | null, more?: object): Promise<{ id: string; name: string }>
  /** The bodies sent to the tool, oldest first. */
  paid(name: string): { key: string; body: Shown }[]
  /** Starts a run whose model calls the tool with these arguments, then writes "done". */
  ask(tool: { id: string; name: string }, args?: object, more?: object): Promise<string>
  /** The pending approvals of a generation, once it waits for them. */
  pending(generationId: string): Promise<Shown[]>
  approval(id: string): Promise<Shown>
  decide(approvalId: string, verdict: 'APPROVE' | 'REJECT', more?: object, key?: string): Promise<Shown>
  call(toolId: string, args?: object, more?: object, key?: string): Promise<Shown>
  toolCall(id: string): Promise<Shown>
  /** Resolves with the direct call once it has one of these statuses. */
  untilCall(id: string, states: string[]): Promise<Shown>
  /** The secret and id of a new key. */
  key(input: object): Promise<{ secret: string; id: string }>
  /** Moves the deadline, or the escalation, to the present. */
  bringForward(approvalId: string, what: 'expiry' | 'escalation'): Promise<void>
  /** Events of these types from the beginning of the project's feed, until there are enough. */
  feed(types: string[], fields: string, enough: (events: Shown[]) => boolean): Promise<Shown[]>
}

export const approvalFields = `id status toolName toolVersion arguments originalArguments digest voidReason
  requirement { timeoutSeconds quorum excludeRequester approvers escalateAfterSeconds }
  votes { verdict by byName at from reason note } decision { verdict by byName at from reason note }
  toolCall { id status attempts { outcome idempotencyKey } } requestedBy expiresAt escalatedAt settledAt createdAt`

export const callFields = `id name status isError errorCode arguments editedArguments attempt toolVersion
  structuredContent content attempts { attempt idempotencyKey outcome errorCode startedAt endedAt }
  approval { id status voidReason arguments } grant { id } deadlineAt resolution resolvedBy resolvedAt`

const payment = objectSchema(
  { amount: { type: 'number' }, to: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
  ['amount'],
)

/** A server with fixtures for gates, for all tests of a file. */
export async function useGateFixtures(): Promise<{ h: Harness; fixtures: Fixtures; gate: GateFixtures }> {
  const h = await forFile(openHarness())
  const fixtures = await forFile(makeFixtures(h))
  return { h, fixtures, gate: gateFixtures(h, fixtures) }
}

/** Uses a harness and its fixtures. */
export function gateFixtures(h: Harness, fixtures: Fixtures): GateFixtures {
  let made = 0
  const create = async (input: Shown) => {
    const { tool, ...refused } = await h.mutate('createTool', input, 'tool { id }')
    if (!tool) throw new Error(JSON.stringify(refused))
    return { id: tool.id as string, name: input['name'] as string }
  }
  const read = async (what: string, id: string, fields: string): Promise<Shown> => {
    const { data } = await h.gql(`query($id: ID!) { ${what}(id: $id) { ${fields} } }`, { id })
    return data[what]
  }
  const gates: GateFixtures = {
    gated: (gate, more = {}) => {
      const name = `pay_${++made}`
      const config = { http: { url: `${fixtures.upstream.url}/${name}`, inputSchema: payment } }
      return create({ name, gate, config, ...more })
    },
    gatedClient: (gate, more = {}) =>
      create({ name: `ask_${++made}`, gate, config: { client: { inputSchema: payment } }, ...more }),
    paid: (name) =>
      fixtures.upstream.seen
        .filter((seen) => seen.url === `/${name}`)
        .map((seen) => ({ key: String(seen.headers['idempotency-key']), body: JSON.parse(seen.body) })),
    ask: async (tool, args = { amount: 5 }, more = {}) =>
      fixtures.start(
        await fixtures.agent({ toolIds: [tool.id], ...more }),
        `call ${tool.name} ${JSON.stringify(args)}\nthen\nsay done`,
      ),
    pending: async (id) =>
      (
        await h.until(
          id,
          ['AWAITING_APPROVAL', 'REQUIRES_ACTION'],
          `requiredAction { approvals { ${approvalFields} } }`,
        )
      )['requiredAction'].approvals,
    approval: (id) => read('approval', id, approvalFields),
    decide: (approvalId, verdict, more = {}, key) =>
      h.mutate('decideApproval', { approvalId, verdict, ...more }, `approval { ${approvalFields} }`, key),
    call: async (toolId, args = { amount: 5 }, more = {}, key) => {
      const answer = await h.mutate(
        'callTool',
        { toolId, arguments: args, ...more },
        `toolCall { ${callFields} }`,
        key,
      )
      return answer['toolCall'] ?? answer
    },
    toolCall: (id) => read('toolCall', id, callFields),
    async untilCall(id, states) {
      let found: Shown = {}
      // Each event about the call may have changed its status.
      const types = ['TOOL_CALL_STARTED', 'TOOL_CALL_SETTLED', 'APPROVAL_REQUESTED', 'APPROVAL_VOIDED']
      const look = async () => states.includes((found = await gates.toolCall(id))['status'])
      if (await look()) return found
      await new Promise<void>((resolve, reject) => {
        let looking = Promise.resolve()
        const stop = h.client().subscribe(
          { query: `subscription { projectEvents(after: "0", types: [${types.join()}]) { cursor } }` },
          {
            next: () =>
              (looking = looking.then(async () => {
                if (!states.includes(found['status']) && (await look())) resolve(stop())
              })),
            error: (error) => reject(new Error(JSON.stringify(error))),
            complete: () => resolve(),
          },
        )
      })
      return found
    },
    key: async (input) => {
      const { apiKey, secret, ...refused } = await h.mutate(
        'createApiKey',
        { name: `key ${++made}`, ...input },
        'apiKey { id } secret',
      )
      if (!secret) throw new Error(JSON.stringify(refused))
      return { secret, id: apiKey.id }
    },
    async bringForward(approvalId, what) {
      const over = what === 'expiry' ? sql`, expires_at = now()` : sql``
      await query(
        h.app.services.db,
        sql`update approvals set wake_at = now() ${over} where id = ${approvalId} and status = 'PENDING'`,
      )
    },
    feed: (types, fields, enough) =>
      h.collect(
        `subscription { projectEvents(after: "0", types: [${types.join()}]) { type cursor ${fields} } }`,
        {},
        enough,
      ),
  }
  return gates
}
