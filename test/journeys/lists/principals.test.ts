/** Principals have names for those who may see them, whoever they are and whatever became of them. */
import { expect, test } from 'vitest'
import { adminKey } from '../../support/harness.ts'
import { openDeployment } from '../../support/deployment.ts'
import { statementsDuring } from '../../support/statements.ts'
import { forFile } from '../../support/for-file.ts'

const person = `usr_${'0a'.repeat(16)}`

const deployment = await forFile(openDeployment('PGlite'))
const admin = await keyOf({ name: 'desk', role: 'ADMIN' })
const { viewer } = (await deployment.replicas[0]!.gql('{ viewer { id project { id } } }')).data
const operatorId: string = viewer.id
await deployment.rows(`insert into subjects (id, project_id, issuer, subject, name, role, expires_at)
    values ('${person}', '${viewer.project.id}', 'https://issuer.example', 'ann', 'Ann', 'admin', now())`)

async function keyOf(input: object): Promise<{ id: string; secret: string }> {
  const made = await deployment.replicas[0]!.mutate('createApiKey', input, 'apiKey { id } secret')
  return { id: made['apiKey'].id, secret: made['secret'] }
}

async function ask(query: string, key = adminKey): Promise<any> {
  const { data, errors } = await deployment.replicas[0]!.gql(query, {}, key)
  if (errors) throw Object.assign(new Error(JSON.stringify(errors)), errors[0]!.extensions)
  return data
}

const who = '{ id name kind }'

test('beside every id of a principal there is an object with its kind and name', async () => {
  const h = deployment.replicas[0]!
  const { toolId, agentId } = await deployment.payer({ mode: 'ALWAYS' })
  const id = await deployment.fixtures.start(agentId, 'call pay {"n":"1"}')
  await h.until(id, ['AWAITING_APPROVAL'])
  await deployment.rows(`update generations set requested_by = '${person}' where id = '${id}'`)
  const found = await ask(`{ generation(id: "${id}") { requestedBy requester ${who}
    requiredAction { approvals { id requester ${who} } } } apiKeys { nodes { id creator ${who} } } }`)
  const operator = { id: operatorId, name: expect.any(String), kind: 'API_KEY' }
  const ann = { id: person, name: 'Ann', kind: 'PERSON' }
  expect(found.generation).toMatchObject({ requestedBy: person, requester: ann })
  const [approval] = found.generation.requiredAction.approvals
  expect(approval.requester).toEqual(operator)
  expect(found.apiKeys.nodes.find((key: any) => key.id === admin.id).creator).toEqual(operator)
  expect(found.apiKeys.nodes.find((key: any) => key.id === operatorId).creator).toBeNull()
  const grant = { scope: 'TOOL', holder: 'CALLER', expiresInSeconds: 3600, maxUses: 2 }
  const decided = await h.mutate(
    'decideApproval',
    { approvalId: approval.id, verdict: 'APPROVE', grant },
    `approval { votes { by voter ${who} } decision { voter ${who} } }`,
    admin.secret,
  )
  const desk = { id: admin.id, name: 'desk', kind: 'API_KEY' }
  expect(decided['approval'].votes).toEqual([{ by: admin.id, voter: desk }])
  expect(decided['approval'].decision).toEqual({ voter: desk })
  const { grants } = await ask(`{ grants { nodes { id requester ${who} granter ${who} revoker ${who} } } }`)
  expect(grants.nodes).toMatchObject([{ requester: operator, granter: desk, revoker: null }])
  const revoked = await h.mutate('revokeGrant', { grantId: grants.nodes[0].id }, `grant { revoker ${who} }`)
  expect(revoked['grant'].revoker).toEqual(operator)
  const audit = await ask(`{ auditEntries(filter: { resource: "tool/${toolId}", action: "tools:Create" }) {
    nodes { principalId principal ${who} } } }`)
  expect(audit.auditEntries.nodes).toEqual([{ principalId: operatorId, principal: operator }])
  const events = await ask(`{ projectEvents(filter: { types: [APPROVAL_DECIDED] }) { nodes {
    ... on ApprovalDecidedEvent { decidedBy decider ${who} } } } }`)
  expect(events.projectEvents.nodes).toEqual([{ decidedBy: admin.id, decider: desk }])
  const signedIn = await fetch(`${h.url}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: h.url },
    body: JSON.stringify({ key: admin.secret }),
  })
  expect(signedIn.status).toBe(201)
  const { sessions } = await ask(`{ sessions { nodes { principalId principal ${who} } } }`)
  expect(sessions.nodes).toEqual([{ principalId: admin.id, principal: desk }])
})

test('the server itself is a principal without a name', async () => {
  const { id } = (await ask('{ viewer { project { id } } }')).viewer.project
  await deployment.rows(`insert into audit_entries (id, project_id, principal_id, action, resource, outcome, details)
    values ('aud_system', '${id}', 'system', 'tools:Call', 'tool/x', 'EXECUTED', '{}')`)
  const { auditEntries } = await ask(
    `{ auditEntries(filter: { principalId: "system" }) { nodes { principal ${who} } } }`,
  )
  expect(auditEntries.nodes[0].principal).toEqual({ id: 'system', name: null, kind: 'SYSTEM' })
})

test('a person is a node, and the id of a key is its key', async () => {
  const query = `{ nodes(ids: ["${person}", "${admin.id}", "usr_${'1'.repeat(32)}"]) { __typename id ... on Principal { name kind } } }`
  expect((await ask(query)).nodes).toEqual([
    { __typename: 'Principal', id: person, name: 'Ann', kind: 'PERSON' },
    { __typename: 'ApiKey', id: admin.id },
    null,
  ])
})

test('names of another project, and of keys that the caller may not read, are left out; ids are not', async () => {
  const h = deployment.replicas[0]!
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const theirs = await keyOf({ name: 'theirs', role: 'ADMIN', projectId: project.id })
  // The operator acts in the other project with a key of its own.
  const creators = `{ apiKeys { nodes { name creator ${who} } } }`
  const foreign = (await ask(creators, theirs.secret)).apiKeys.nodes
  expect(foreign).toEqual([{ name: 'theirs', creator: { id: operatorId, name: null, kind: 'API_KEY' } }])
  await expect(ask(`{ node(id: "${person}") { id } }`, theirs.secret)).resolves.toEqual({ node: null })
  const action = ['agents:Get', 'generations:*']
  const policy = { statement: [{ effect: 'Allow', action, resource: ['*'] }] }
  const caller = await keyOf({ name: 'robot', policy })
  const agentId = await deployment.fixtures.agent()
  const mine = await h.mutate(
    'startGeneration',
    { agentId, prompt: 'say a' },
    'generation { id }',
    caller.secret,
  )
  const requesters = `{ generations { nodes { id requester ${who} } } }`
  const { nodes } = (await ask(requesters, caller.secret)).generations
  for (const { id, requester } of nodes)
    expect(requester.name).toBe(id === mine['generation'].id ? 'robot' : null)
  expect(nodes.length).toBeGreaterThan(1)
  await expect(ask(`{ node(id: "${person}") { id } }`, caller.secret)).rejects.toMatchObject({
    code: 'FORBIDDEN',
    action: 'keys:Get',
  })
})

test('all principals of a page are read by one statement', async () => {
  const seen = await statementsDuring(deployment.replicas[0]!.app.services.db, async () => {
    const { auditEntries } = await ask(
      `{ auditEntries(first: 100) { nodes { principal ${who} } } generations { nodes { requester ${who} } } }`,
    )
    expect(auditEntries.nodes.length).toBeGreaterThan(5)
  })
  expect(seen.filter((text) => /from subjects where id in/.test(text))).toHaveLength(1)
})
