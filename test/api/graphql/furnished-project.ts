/**
 * A project with one object of each type: a key, tools, an agent, a generation that waits for its client, an approval,
 * a grant, a call with status UNKNOWN, a pending gate change, a file, a provider, a secret, a session.
 */
import { sql } from 'drizzle-orm'
import { newId } from '../../../src/core/ids.ts'
import { sealPart } from '../../../src/domain/followers/slack/integration.ts'
import { emptyCatalog } from '../../../src/domain/upstream/catalog/catalog.ts'
import { query } from '../../../src/store/db/database.ts'
import type { Harness } from '../../support/harness.ts'
import { leaveBehind } from '../../support/left-behind.ts'

export interface FurnishedProject {
  id: string
  /** The secret of an admin's key of the project. */
  key: string
  /**
   * The id of one thing of every kind, by prefix. `tool_` is the http tool, `call_` waits for its client, `apr_` is
   * pending, `direct` is a direct call that has run, and `unknown` is one whose outcome nobody knows.
   */
  ids: Record<string, string>
  /** A text that is part of every name and text of the project. */
  marker: string
}

/** Creates it with the operator's key; `upstream` is the URL of its http tool. */
export async function furnish(h: Harness, marker: string, upstream: string): Promise<FurnishedProject> {
  const { project } = await h.mutate('createProject', { name: `${marker} project` }, 'project { id }')
  const owner = await h.mutate(
    'createApiKey',
    { projectId: project.id, name: `${marker} key`, role: 'ADMIN' },
    'apiKey { id } secret',
  )
  const key = owner['secret'] as string
  const schema = { type: 'object', properties: { a: { type: 'string', description: marker } } }
  const mutate = (name: string, input: object, fields: string) => h.mutate(name, input, fields, key)
  await mutate('setSecret', { name: `${marker}_SECRET`, value: `${marker} value` }, 'secret { id }')
  await mutate(
    'setProvider',
    { name: `${marker}_provider`, kind: 'OPENAI', defaultModel: 'm' },
    'provider { id }',
  )
  const http = await mutate(
    'createTool',
    {
      name: `${marker}_http`,
      config: { http: { url: `${upstream}/x`, method: 'GET', inputSchema: schema } },
    },
    'tool { id }',
  )
  const client = await mutate(
    'createTool',
    { name: `${marker}_client`, config: { client: { inputSchema: schema } } },
    'tool { id }',
  )
  const question = { toolId: client['tool'].id, arguments: { a: marker }, idempotencyKey: marker }
  const taken = await mutate('askPermission', question, 'toolCall { id }')
  const mcp = await mutate(
    'createTool',
    { name: `${marker}_mcp`, config: { mcp: { url: `${upstream}/mcp` } } },
    'tool { id }',
  )
  const own = await mutate(
    'createTool',
    { name: `${marker}_own`, config: { mcp: { url: `${upstream}/mcp`, login: 'PER_PERSON' } } },
    'tool { id }',
  )
  // No timer changes it, so that the contents of the project stay the same.
  await query(
    h.app.services.db,
    sql`update upstreams set wake_at = null, epoch = epoch + 1, catalog = ${JSON.stringify(catalog)}, catalog_hash = ${catalog.hash}
      where id in ${[mcp['tool'].id, own['tool'].id]}`,
  )
  const toolIds = [http['tool'].id, client['tool'].id]
  const helper = await mutate('createAgent', { name: `${marker}_helper` }, 'agent { id }')
  const { agent } = await mutate(
    'createAgent',
    { name: `${marker} agent`, toolIds, agentIds: [helper['agent'].id], instructions: marker },
    'agent { id }',
  )
  const started = await mutate(
    'startGeneration',
    {
      agentId: agent.id,
      prompt: `call ${marker}_client {"a":"${marker}"}\ncall ${marker}_helper {"message":"say ${marker}"}`,
      externalThreadId: `${marker} chat`,
      clientTools: [{ name: `${marker}_own`, description: marker, inputSchema: schema }],
    },
    'generation { id threadId }',
  )
  const { id: generationId, threadId } = started['generation']
  const waiting = await h.until(generationId, ['REQUIRES_ACTION'], 'steps { id } toolCalls { id }')
  const spare = await mutate('createApiKey', { name: `${marker} spare`, role: 'VIEWER' }, 'apiKey { id }')
  const proposed = await mutate(
    'proposeGateChange',
    { targetId: helper['agent'].id, removeGate: true, note: marker },
    'gateChange { id }',
  )
  const listed = await h.gql(
    `{ secrets { nodes { id } } providers { nodes { id } } auditEntries { nodes { id } } }`,
    {},
    key,
  )
  const first = (name: string): string => listed.data[name].nodes[0].id
  return {
    id: project.id,
    key,
    marker,
    ids: {
      ...(await furnishGate(h, marker, upstream, mutate)),
      file_: await furnishFile(marker, mutate),
      ...(await furnishWebhook(h, project.id, marker, upstream, mutate)),
      view_: await furnishView(marker, mutate),
      trg_: await furnishTrigger(agent.id, marker, mutate),
      ...(await furnishRetention(h, project.id, marker)),
      slk_: await furnishSlack(h, project.id, marker),
      pse_: await furnishPause(h, project.id, mcp['tool'].id, marker),
      proj_: project.id,
      key_: spare['apiKey'].id,
      gch_: proposed['gateChange'].id,
      tool_: http['tool'].id,
      mcp: mcp['tool'].id,
      own: own['tool'].id,
      client: client['tool'].id,
      taken: taken['toolCall'].id,
      rtl_: await runToolOf(h, project.id),
      agt_: agent.id,
      thr_: threadId,
      gen_: generationId,
      step_: waiting['steps'][0].id,
      call_: waiting['toolCalls'][0].id,
      sec_: first('secrets'),
      prov_: first('providers'),
      aud_: first('auditEntries'),
      usr_: await furnishPerson(h, project.id, marker),
      ses_: await furnishSession(h, marker, key),
    },
  }
}

/** A legal hold that was lifted, a removal that has ended, and what is left of a removed generation. */
async function furnishRetention(h: Harness, projectId: string, marker: string) {
  const { db } = h.app.services
  const [hold, removal] = [newId('legalHold'), newId('removal')]
  await query(
    db,
    sql`insert into legal_holds (id, project_id, target, reason, put_by, lifted_at, lifted_by)
      values (${hold}, ${projectId}, ${marker}, ${marker}, 'system', now(), 'system')`,
  )
  await query(
    db,
    sql`insert into data_removals (id, project_id, requester, requested_by, reason, finished_at)
      values (${removal}, ${projectId}, ${marker}, 'system', ${marker}, now())`,
  )
  await query(
    db,
    sql`insert into removed_generations (id, project_id, agent_id, requested_by, status, step_count, call_count,
        created_at, finished_at)
      values (${newId('generation')}, ${projectId}, ${marker}, ${marker}, 'COMPLETED', 1, 0, now(), now())`,
  )
  return { hold_: hold, rem_: removal }
}

/** A hook to which nothing is sent. */
async function furnishView(marker: string, mutate: Mutate): Promise<string> {
  const input = { name: marker, address: `/runs?q=${marker}`, shared: true }
  return (await mutate('saveView', input, 'view { id }'))['view'].id
}

async function furnishTrigger(agentId: string, marker: string, mutate: Mutate): Promise<string> {
  const input = { agentId, name: marker, prompt: `say ${marker}` }
  return (await mutate('createTrigger', input, 'trigger { id }'))['trigger'].id
}

/** A pause of a tool that nothing calls. */
async function furnishPause(h: Harness, projectId: string, toolId: string, marker: string): Promise<string> {
  const id = newId('pause')
  await query(
    h.app.services.db,
    sql`insert into pauses (id, project_id, target, target_name, reason, paused_by)
      values (${id}, ${projectId}, ${toolId}, ${marker}, ${marker}, 'system')`,
  )
  return id
}

/** The client tool of its run: no query lists it, so its id is read from the table. */
async function runToolOf(h: Harness, projectId: string): Promise<string> {
  const [row] = await query<{ id: string }>(
    h.app.services.db,
    sql`select tool_id as id from tool_versions
      where project_id = ${projectId} and tool_id like 'rtl\\_%'`,
  )
  return row!.id
}

type Mutate = (name: string, input: object, fields: string) => Promise<Record<string, any>>

/** Objects of the gate: an active grant, a call with status UNKNOWN, and a pending approval. */
async function furnishGate(h: Harness, marker: string, upstream: string, mutate: Mutate) {
  const inputSchema = { type: 'object', properties: { a: { type: 'string' } } }
  const { tool } = await mutate(
    'createTool',
    {
      name: `${marker}_gated`,
      // No test takes so long: what waits stays as it is.
      gate: { autoApprove: false, timeoutSeconds: 86_400 },
      config: { http: { url: `${upstream}/gated`, inputSchema } },
    },
    'tool { id }',
  )
  const call = (a: string) =>
    mutate('callTool', { toolId: tool.id, arguments: { a } }, 'toolCall { id approval { id } grant { id } }')
  const asked = (await call(marker))['toolCall']
  const grant = { scope: 'EXACT', holder: 'CALLER', expiresInSeconds: 3600, maxUses: 5 }
  await mutate(
    'decideApproval',
    { approvalId: asked.approval.id, verdict: 'APPROVE', grant },
    'approval { id }',
  )
  // The grant lets it pass the gate.
  const passed = (await call(marker))['toolCall']
  await leaveBehind(h, passed.id)
  const pending = (await call(`${marker} waits`))['toolCall']
  return { direct: asked.id, unknown: passed.id, grt_: passed.grant.id, apr_: pending.approval.id }
}

/** A person whom an identity provider has authenticated. */
async function furnishPerson(h: Harness, projectId: string, marker: string): Promise<string> {
  const id = `usr_${Buffer.from(marker).toString('hex').padEnd(32, '0')}`
  await query(
    h.app.services.db,
    sql`insert into subjects (id, project_id, issuer, subject, name, role, expires_at)
      values (${id}, ${projectId}, 'https://issuer.example', ${marker}, ${`${marker} person`}, 'viewer', now())`,
  )
  return id
}

/** A session of the project's key. */
async function furnishSession(h: Harness, marker: string, key: string): Promise<string> {
  const response = await fetch(`${h.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': `${marker} browser` },
    body: JSON.stringify({ key }),
  })
  return ((await response.json()) as { session: { id: string } }).session.id
}

/** A file whose bytes are uploaded. */
async function furnishFile(marker: string, mutate: Mutate): Promise<string> {
  const input = { filename: `${marker}.txt`, contentType: 'text/plain' }
  const { file, uploadUrl } = await mutate('presignUpload', input, 'file { id } uploadUrl')
  await fetch(uploadUrl, { method: 'PUT', body: marker, headers: { 'content-type': 'text/plain' } })
  return file.id
}

/** A webhook for events that do not happen here, with a dead delivery and a replay that no worker claims. */
async function furnishWebhook(
  h: Harness,
  projectId: string,
  marker: string,
  upstream: string,
  mutate: Mutate,
) {
  const input = { url: `${upstream}/hook`, description: marker, types: ['WEBHOOK_CURSOR_EXPIRED'] }
  const { webhook } = await mutate('createWebhook', input, 'webhook { id }')
  const delivery = newId('webhookDelivery')
  await query(
    h.app.services.db,
    sql`insert into webhook_deliveries (id, project_id, webhook_id, cursor_id, event_id, type, status, tries, attempts,
        answers)
      select ${delivery}, ${projectId}, ${webhook.id}, ${webhook.id}, id, type, 'DEAD', 7, 7, '[]'
      from events
      where project_id = ${projectId}
      order by id
      limit 1`,
  )
  const replay = newId('webhookReplay')
  await query(
    h.app.services.db,
    sql`insert into webhook_cursors (id, project_id, webhook_id, status, at, until)
      values (${replay}, ${projectId}, ${webhook.id}, 'PAUSED', 0, 1)`,
  )
  return { whk_: webhook.id, whd_: delivery, whr_: replay }
}

/** A Slack integration that no worker claims. */
async function furnishSlack(h: Harness, projectId: string, marker: string): Promise<string> {
  const id = newId('slackIntegration')
  const sealed = (part: 'token' | 'signing') => sealPart(h.app.services.masterKey, id, part, 'none')
  await query(
    h.app.services.db,
    sql`insert into slack_integrations (id, project_id, team_id, team_name, bot_token, signing_secret, channel, status,
        at, created_by)
      values (${id}, ${projectId}, 'T1', ${marker}, ${sealed('token')}, ${sealed('signing')}, 'C1', 'DISABLED', 0,
        ${marker})`,
  )
  await query(
    h.app.services.db,
    sql`insert into slack_users (project_id, slack_user_id, principal_id, created_by)
      values (${projectId}, 'U0001', ${marker}, ${marker})`,
  )
  return id
}

/** What the upstream of the project offers. */
const catalog = {
  ...emptyCatalog,
  hash: 'furnished',
  tools: [
    {
      name: 'act',
      title: null,
      description: '',
      inputSchema: { type: 'object' },
      outputSchema: null,
      annotations: null,
      hash: 'act',
    },
  ],
}

/** Fields that inputs need in this project, in addition to those that the schema requires. */
export function extrasOf({ ids }: Pick<FurnishedProject, 'ids'>): Record<string, object> {
  return {
    CreateApiKeyInput: { role: 'VIEWER' },
    ProposeGateChangeInput: { targetId: ids['agt_'], removeGate: true },
    DecideGateChangeInput: { verdict: 'REJECT' },
    TestProviderInput: { name: 'builtin', model: 'rehearsal' },
    StartGenerationInput: { prompt: 'hello' },
    CallToolInput: { arguments: {} },
    AskPermissionInput: { toolId: ids['client'], arguments: {} },
    ReportToolCallInput: { toolCallId: ids['taken'] },
    PresignUploadInput: { filename: 'a.txt', contentType: 'text/plain' },
    ToolOutputInput: { output: 'o' },
    SetRateLimitInput: { scope: 'TOOL', targetId: ids['tool_'], perMinute: 100_000 },
    CancelToolCallInput: { toolCallId: ids['direct'] },
    ResolveUnknownCallInput: { toolCallId: ids['unknown'] },
    AcceptUpstreamChangeInput: { toolId: ids['mcp'], action: 'act' },
    RefreshUpstreamInput: { toolId: ids['mcp'] },
    ConnectUpstreamInput: { toolId: ids['mcp'] },
    DisconnectUpstreamInput: { toolId: ids['mcp'] },
    LogInToUpstreamInput: { toolId: ids['own'] },
    LogOutOfUpstreamInput: { toolId: ids['own'] },
    EndSessionsInput: { principalId: ids['key_'] },
    CreateWebhookInput: { url: 'http://127.0.0.1:9/hook' },
    ReplayWebhookInput: { after: '0' },
    SetWebhookRecipientsInput: { recipients: [] },
    LinkSlackUserInput: { slackUserId: 'U0123456789' },
    // A hold on all of the project would keep the data of every requester.
    PutLegalHoldInput: { requesterId: ids['usr_'] },
    SaveViewInput: { name: 'mine too', address: '/runs' },
    TestUpstreamInput: { url: 'http://127.0.0.1:9/mcp' },
    ImportServerInput: {
      server: {
        name: `com.example/n-${newId('tool')}`,
        description: 'Notes',
        version: '1.0.0',
        remotes: [{ type: 'streamable-http', url: 'http://127.0.0.1:9/mcp' }],
      },
    },
    RegistryEntryInput: { name: 'com.example/notes' },
    PauseInput: { projectId: ids['proj_'] },
  }
}
