/** Prefixed ids: GraphQL, MCP, webhooks and logs use the same string for an object. */
import { randomBytes } from 'node:crypto'

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
  auditEntry: 'aud',
  session: 'ses',
  /** A person or program of an identity provider. Its ids are derived, never made by `newId`. */
  person: 'usr',
} as const

export type IdKind = keyof typeof idPrefixes

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'
const bodyLength = 24
const timeLength = 9

/**
 * A new id: prefix, nine base-36 digits of the time in milliseconds and 15 random ones (77 bits).
 * The time part keeps rows of the same time together in an index; nothing may rely on it for order.
 */
export function newId(kind: IdKind): string {
  const time = Date.now().toString(36).padStart(timeLength, '0')
  const bytes = randomBytes(bodyLength - timeLength)
  let random = ''
  for (const byte of bytes) random += alphabet[byte % 36]
  return `${idPrefixes[kind]}_${time}${random}`
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
