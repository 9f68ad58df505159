/** Presses of buttons and submitted modals, as Slack signs and sends them. */
import { createHmac, randomUUID } from 'node:crypto'
import { sameText, sha256Hex } from '../../../core/signing.ts'
import { shortText } from '../../../core/text.ts'
import { isJsonObject, tryParseJson, type JsonObject } from '../../../core/json.ts'
import { actingPrincipal, asAppError, spendOnce, type Ctx, type Services } from '../../access/index.ts'
import { giveVerdict, loadApprovals, type Approval } from '../../approvals/index.ts'
import { sentenceOf, verdictOf, type Choice } from '../choices.ts'
import { callSlack } from './api.ts'
import { approveAction, openAction, readValue, rejectAction, respondAction } from './blocks.ts'
import { openPart, rowById, rowOf, type IntegrationRow } from './integration.ts'
import { notePressed } from './messages.ts'
import { modalOf, objectOf, submissionOf, textBlock, type SpokenVerdict } from './modals.ts'
import { noteTestPress, testIntegrationOf } from './trial.ts'
import { userOf } from './users.ts'

/** How far the time stamp of a request may be from the clock of this server, in seconds. */
const toleranceSeconds = 300

/** Whether Slack has signed this raw body with the secret, at most five minutes ago. Constant time for the signature. */
export function isSigned(
  secret: string,
  { timestamp, signature, body }: { timestamp: string; signature: string; body: string },
  nowMs: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) return false
  return sameText(signature, signatureOf(secret, timestamp, body))
}

/** The header X-Slack-Signature of a request. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`
}

/** A request to the URL for interactions, as it came. */
export interface SlackRequest {
  timestamp: string
  signature: string
  /** The raw body. */
  body: string
}

/** `denied`: not signed by Slack for the integration that it is about, or sent before. `done`: the body to answer. */
export type SlackReply = { kind: 'denied' } | { kind: 'done'; body: JsonObject | null }

const denied: SlackReply = { kind: 'denied' }
const done: SlackReply = { kind: 'done', body: null }

/**
 * Serves one interaction. The approval that it names says whose signing secret counts; until the signature was
 * verified over the raw body nothing else of it does, and every fault is answered alike. A request counts once, on all
 * replicas together. The press is a vote of the principal to which an operator has linked the Slack user, with the
 * rights of this moment, about the digest that the message showed, and goes the way of any other vote. What it changes
 * is shown by the worker; why nothing was changed is told to the one who pressed, in the channel when `isLate` says that
 * Slack was answered already. Throws what is no answer to a person.
 */
export async function serveInteraction(
  services: Services,
  request: SlackRequest,
  isLate: () => boolean,
): Promise<SlackReply> {
  const { db } = services
  const payload = payloadOf(request.body)
  const tested = payload ? testIntegrationOf(payload) : null
  if (payload && tested !== null) {
    const row = await rowById(db, tested)
    if (!row || !(await isGenuine(services, row, request))) return denied
    await noteTestPress(services, row, payload)
    return done
  }
  const pressed = payload ? pressOf(payload) : null
  if (!payload || !pressed) return denied
  const [approval] = await loadApprovals(db, [pressed.approvalId])
  const row = approval ? await rowOf(db, approval.projectId) : undefined
  if (!approval || !row || !(await isGenuine(services, row, request))) return denied
  const { message_ts: ts, channel_id: channel } = objectOf(payload['container'])
  if (typeof ts === 'string' && typeof channel === 'string') {
    const place = { channel: shortText(channel, 100), ts: shortText(ts, 100) }
    await notePressed(db, row, approval.id, place)
  }
  return answer({ services, row, approval, press: pressed, payload, isLate })
}

/** Whether Slack has signed the request for this integration, and it was not served before. */
async function isGenuine(
  { db, masterKey, clock }: Services,
  row: IntegrationRow,
  request: SlackRequest,
): Promise<boolean> {
  const secret = openPart(masterKey, row.id, 'signing', row.signingSecret)
  if (!isSigned(secret, request, clock.now())) return false
  const key = sha256Hex(`${request.timestamp} ${request.signature}`)
  const once = { projectId: row.projectId, principal: { id: row.id }, operation: 'slack:interaction', key }
  return spendOnce(db, once, 3 * toleranceSeconds * 1000)
}

interface Press {
  approvalId: string
  digest: string
  /** The verdict; `open`: the link to the dashboard, of which Slack tells as well. */
  what: 'open' | { ask: SpokenVerdict } | { decide: Choice; isModal: boolean }
}

const plainApproval: Choice = { what: 'APPROVE', text: '', read: () => null }

const presses: Partial<Record<string, Press['what']>> = {
  [approveAction]: { decide: plainApproval, isModal: false },
  [rejectAction]: { ask: 'REJECT' },
  [respondAction]: { ask: 'RESPOND' },
  [openAction]: 'open',
}

function payloadOf(body: string): JsonObject | null {
  const payload = tryParseJson(new URLSearchParams(body).get('payload') ?? '')
  return isJsonObject(payload) ? payload : null
}

/** What was pressed or submitted, when it is of ours. */
function pressOf(payload: JsonObject): Press | null {
  if (payload['type'] === 'block_actions') {
    const action = Array.isArray(payload['actions']) ? objectOf(payload['actions'][0]) : {}
    const value = readValue(action['value'])
    const what = presses[String(action['action_id'])]
    return value && what ? { ...value, what } : null
  }
  const submitted = submissionOf(payload)
  if (!submitted) return null
  const { choice, ...value } = submitted
  return { ...value, what: { decide: choice, isModal: true } }
}

/** A press that Slack has signed, with what it is about. */
interface Interaction {
  services: Services
  row: IntegrationRow
  approval: Approval
  press: Press
  payload: JsonObject
  isLate(): boolean
}

async function answer(interaction: Interaction): Promise<SlackReply> {
  const { services, row, approval, press, payload } = interaction
  const { what } = press
  if (what === 'open') return done
  const voter = await voterOf(services, row, payload)
  if (typeof voter === 'string') return tell(interaction, voter)
  const refusal =
    'ask' in what ? await openModal(interaction, what.ask) : await decide(voter, approval, press, what.decide)
  return refusal === null ? done : tell(interaction, refusal)
}

/** Opens the modal for a verdict with words; returns why it was not opened, else null. */
async function openModal(
  { services, row, approval, press, payload }: Interaction,
  what: SpokenVerdict,
): Promise<string | null> {
  if (approval.status !== 'PENDING') return 'This question was settled already.'
  if (what === 'RESPOND' && !approval.requirement.responses)
    return 'The gates that stop this call do not allow an answer.'
  const token = openPart(services.masterKey, row.id, 'token', row.botToken)
  // The words are about what was shown: an edit meanwhile is found when they are submitted.
  const view = modalOf(what, { ...approval, digest: press.digest })
  const opened = await callSlack(services, token, 'views.open', {
    trigger_id: String(payload['trigger_id'] ?? ''),
    view,
  })
  return opened.ok ? null : 'Slack could not open the form. Press again.'
}

/** The context of the one who pressed, or why nobody's vote it is. */
async function voterOf(services: Services, row: IntegrationRow, payload: JsonObject): Promise<Ctx | string> {
  const { projectId, teamId } = row
  const user = objectOf(payload['user'])
  const userId = String(user['id'] ?? '')
  const team = objectOf(payload['team'])['id']
  // In a shared channel there are people of other workspaces, whose ids mean nothing here.
  if (team !== teamId || (user['team_id'] !== undefined && user['team_id'] !== teamId))
    return 'Only people of the workspace of this integration can decide here.'
  if (row.status === 'DISABLED') return 'The Slack integration of this project is disabled.'
  const linked = await userOf(services.db, projectId, userId)
  if (!linked)
    return `Your Slack account (${userId}) is not linked to anybody in Gatehouse, so your press does not count. Ask an operator, or decide in the dashboard.`
  const principal = await actingPrincipal(services.db, projectId, linked.principalId, services.clock.now())
  if (!principal)
    return 'The account that your Slack account is linked to may not act any more. People must have signed in lately.'
  return { ...services, principal, requestId: randomUUID(), remoteAddress: null, via: 'SLACK' }
}

/** Gives the vote; returns why it did not count, else null. */
async function decide(
  ctx: Ctx,
  approval: Approval,
  { approvalId, digest }: Press,
  choice: Choice,
): Promise<string | null> {
  try {
    await giveVerdict(ctx, { approvalId, expectedDigest: digest, ...verdictOf(approval, choice) })
    return null
  } catch (error) {
    const known = asAppError(error)
    if (!known) throw error
    return sentenceOf(known)
  }
}

/** Says a sentence to the one who pressed, and to nobody else: in the modal, or as an ephemeral message. */
async function tell(
  { services, row, press: { what }, payload, isLate }: Interaction,
  text: string,
): Promise<SlackReply> {
  if (typeof what === 'object' && 'decide' in what && what.isModal && !isLate())
    return {
      kind: 'done',
      body: { response_action: 'errors', errors: { [textBlock]: text.slice(0, 1000) } },
    }
  const user = String(objectOf(payload['user'])['id'] ?? '')
  const token = openPart(services.masterKey, row.id, 'token', row.botToken)
  const message = { channel: row.channel, user, text: escaped(text) }
  const said = await callSlack(services, token, 'chat.postEphemeral', message)
  if (!said.ok)
    services.log.warn({ id: row.id, error: said.error }, 'an answer to a press in Slack could not be sent')
  return done
}

/** Text that Slack shows as it is. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
