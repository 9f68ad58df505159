/** Prefixed ids: GraphQL, MCP, webhooks and logs use the same string for an object. */
import { randomFillSync } from 'node:crypto'

/** The id prefix of each kind of object. No prefix is a prefix of another. */
export const idPrefixes = {
  project: 'proj',
  apiKey: 'key',
  tool: 'tool',
  /** A client tool that was given with a run. */
  runTool: 'rtl',
  agent: 'agt',
  thread: 'thr',
  generation: 'gen',
  step: 'step',
  toolCall: 'call',
  approval: 'apr',
  grant: 'grt',
  gateChange: 'gch',
  pause: 'pse',
  file: 'file',
  provider: 'prov',
  secret: 'sec',
  webhook: 'whk',
  webhookReplay: 'whr',
  webhookDelivery: 'whd',
  slackIntegration: 'slk',
  trigger: 'trg',
  removal: 'rem',
  legalHold: 'hold',
  savedView: 'view',
  auditEntry: 'aud',
  session: 'ses',
  /** A person or program of an identity provider. Its ids are derived, never made by `newId`. */
  person: 'usr',
} as const

export type IdKind = keyof typeof idPrefixes

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'
const bodyLength = 24
const timeLength = 9
const randomLength = bodyLength - timeLength

/** Random bytes of the next ids: to ask for those of one takes longer than all else about it. */
const random = Buffer.alloc(randomLength * 256)
let used = random.length

/**
 * A new id: prefix, nine base-36 digits of the time in milliseconds and 15 random ones (77 bits).
 * The time part keeps rows of the same time together in an index; nothing may rely on it for order.
 */
export function newId(kind: IdKind): string {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  let id = `${idPrefixes[kind]}_${Date.now().toString(36).padStart(timeLength, '0')}`
  for (const end = used + randomLength; used < end; used++) id += alphabet[random[used]! % alphabet.length]
  return id
}

const shape = new RegExp(`^(${Object.values(idPrefixes).join('|')})_[0-9a-z_]{1,40}$`)
const kindByPrefix = new Map<string, IdKind>(
  Object.entries(idPrefixes).map(([kind, prefix]) => [prefix, kind as IdKind]),
)

/** The kind that the prefix of an id names, or null when the text does not have the form of an id. */
export function kindOfId(id: string): IdKind | null {
  const match = shape.exec(id)
  return match ? (kindByPrefix.get(match[1]!) ?? null) : null
}
