/** Leaves a marker in everything that a person can leave, through the APIs of the product. */
import { expect } from 'vitest'
import type { TokenIssuer } from '../../support/token-issuer.ts'
import type { Receiver } from '../../support/webhook-receiver.ts'
import type { Retained } from './deployment.ts'

export interface Places {
  people: TokenIssuer
  receiver: Receiver
  /** A tool behind a gate that takes `n`. */
  gatedTool: { id: string }
  /** Agents with a client tool: one without a gate, and one whose gate stops every call. */
  agentId: string
  gatedAgentId: string
  /** One whose model refuses, and one with structured answers. */
  refusedAgentId: string
  objectAgentId: string
}

export interface Left {
  /** A key, and a person with a token. */
  requesterIds: string[]
  /** A run with questions, files, a callback and a tool of its own. */
  runId: string
  fileIds: string[]
}

/** `askedBy`: the key that asks what the person votes on; by default that of the traces. */
export async function leaveTraces(
  r: Retained,
  places: Places,
  mark: string,
  askedBy?: string,
): Promise<Left> {
  const { h } = r
  const { gatedTool, agentId, receiver } = places
  const { apiKey, secret: key } = await h.mutate(
    'createApiKey',
    { name: 'leaves', role: 'ADMIN' },
    'apiKey { id } secret',
  )
  const mutate = async (name: string, input: object, fields: string, by = key) => {
    const made = await h.mutate(name, input, fields, by)
    if (made['code']) throw new Error(`${name}: ${JSON.stringify(made)}`)
    return made
  }
  // An endpoint answers with the marker, and refuses the first event until that is written: both a delivery and receipts
  // hold it. A process that loses its lease sends an event again, and an endpoint of earlier traces may still get one.
  const endpoint = `/endpoint/${apiKey.id}`
  let refused: string | null = null
  let isWritten = false
  receiver.respond = ({ path, id }, response) => {
    if (path === endpoint) refused ??= id
    const refuses = path === endpoint && id === refused && !isWritten
    response.writeHead(path.startsWith('/callback') ? 410 : refuses ? 500 : 200).end(mark)
  }
  const { webhook } = await h.mutate('createWebhook', { url: `${receiver.url}${endpoint}` }, 'webhook { id }')

  const fileIds: string[] = []
  const upload = async (): Promise<string> => {
    const input = { filename: `${mark}.txt`, contentType: `application/vnd.${mark}` }
    const { file, uploadUrl } = await mutate('presignUpload', input, 'file { id } uploadUrl')
    await fetch(uploadUrl, { method: 'PUT', body: mark, headers: { 'content-type': input.contentType } })
    fileIds.push(file.id)
    return file.id
  }
  const [attached, deleted] = [await upload(), await upload()]
  await upload()
  await mutate('deleteFile', { fileId: deleted }, 'file { id }')

  await fetch(`${h.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': mark },
    body: JSON.stringify({ key }),
  })
  await mutate(
    'createThread',
    { agentId, externalId: mark, messages: [{ role: 'USER', content: mark }] },
    'thread { id }',
  )

  const start = async (input: object, states: string[]): Promise<string> => {
    const { generation } = await mutate('startGeneration', { agentId, ...input }, 'generation { id }')
    await h.until(generation.id, states)
    return generation.id
  }
  const decide = async (how: object, by = key) => {
    const { data } = await h.gql(
      '{ approvals(filter: { statuses: [PENDING] }, first: 1) { nodes { id toolName } } }',
    )
    const [{ id: approvalId, toolName }] = data['approvals'].nodes
    const edited = toolName === ownTool.name ? { arguments: { [mark]: 'edited' } } : {}
    await mutate('claimApproval', { approvalId }, 'approval { id }', by)
    await mutate(
      'decideApproval',
      { approvalId, verdict: 'APPROVE', ...edited, ...how },
      'approval { id }',
      by,
    )
  }
  const text = { type: 'string', description: mark }
  const ownTool = {
    name: `${mark}_own`,
    description: mark,
    inputSchema: { type: 'object', properties: { [mark]: { ...text, writeOnly: true }, b: text } },
  }
  const reasons = { reason: mark, note: mark }
  const run = await start(
    {
      agentId: places.gatedAgentId,
      prompt: [
        `call ${ownTool.name} {"${mark}":"${mark}","b":"${mark}"}`,
        'then',
        `call look {"word":"${mark}"}`,
        `call look {"word":"${mark}`,
        'then',
        `say ${mark}`,
      ].join('\n'),
      toolChoice: { tool: ownTool.name },
      attachments: [{ fileId: attached }],
      externalThreadId: `${mark} chat`,
      instructions: mark,
      clientTools: [ownTool],
      callback: { url: `${receiver.url}/callback/${mark}` },
    },
    ['AWAITING_APPROVAL'],
  )
  await decide(reasons)
  await r.deployment.fixtures.answer(run, mark)
  await h.until(run, ['AWAITING_APPROVAL'])
  await decide(reasons)
  await h.until(run, ['COMPLETED'])
  await start({ agentId: places.objectAgentId, prompt: `json {"a":"${mark}"}` }, ['COMPLETED'])
  await start({ agentId: places.refusedAgentId, prompt: mark }, ['FAILED'])
  const waiting = await start({ prompt: `call ask {"word":"${mark}"}` }, ['REQUIRES_ACTION'])
  await mutate('cancelGeneration', { generationId: waiting, reason: mark }, 'generation { id }')
  await h.until(waiting, ['CANCELLED'])

  const call = { toolId: gatedTool.id, arguments: { n: mark }, attachments: [{ fileId: attached }] }
  await mutate('callTool', call, 'toolCall { id }')
  await decide(reasons)

  // A person votes on what somebody has asked.
  const token = await places.people.token({ sub: `${mark} subject`, name: `${mark} person` })
  const { viewer } = (await h.gql('{ viewer { id } }', {}, token)).data
  await mutate(
    'callTool',
    { toolId: gatedTool.id, arguments: { n: 'other' } },
    'toolCall { id }',
    askedBy ?? key,
  )
  await decide({}, token)
  await upload()
  const isRead = `id = '${webhook.id}' and at >= (select max(position) from events where type = 'FILE_UPLOADED')`
  await expect.poll(() => r.count('webhook_cursors', isRead)).toBe(1)
  const delivery = `webhook_id = '${webhook.id}'`
  await expect.poll(() => r.count('webhook_deliveries', delivery)).toBe(1)
  isWritten = true
  const [row] = await r.rows<{ id: string }>(`select id from webhook_deliveries where ${delivery}`)
  await mutate('redeliverWebhook', { deliveryId: row!.id }, '__typename')
  await expect.poll(() => r.count('webhook_deliveries', `${delivery} and status = 'DELIVERED'`)).toBe(1)
  await mutate('updateWebhook', { webhookId: webhook.id, enabled: false }, 'webhook { id }')
  return { requesterIds: [apiKey.id, viewer.id], runId: run, fileIds }
}
