/** Finding approvals: what their filter and their search find, for whom, in which order, and how many there are. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../../support/databases.ts'
import { openDeployment, type Deployment } from '../../support/deployment.ts'
import { objectSchema, type Fixtures } from '../../support/fixtures.ts'
import { gateFixtures } from '../../support/gate-fixtures.ts'
import { leaveBehind } from '../../support/left-behind.ts'
import type { Harness } from '../../support/harness.ts'

const order = objectSchema({
  to: { type: 'string' },
  note: { type: 'string' },
  amount: { type: 'number' },
  pin: { type: 'string', writeOnly: true },
})

/** Of a program that asks and reads, and may not decide. */
const asking = {
  statement: [
    {
      effect: 'Allow',
      action: ['tools:Call', 'toolCalls:*', 'approvals:List', 'approvals:Get'],
      resource: ['*'],
    },
  ],
}

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let h: Harness
  let fixtures: Fixtures
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    h = deployment.replicas[0]!
    fixtures = deployment.fixtures
  })
  afterAll(() => deployment?.close())

  let made = 0
  const toolOf = async (name: string, more: object = {}, key?: string) => {
    const config = { http: { url: `${fixtures.upstream.url}/${name}`, method: 'POST', inputSchema: order } }
    const input = { name, gate: { mode: 'ALWAYS' }, config, ...more }
    const created = await h.mutate('createTool', input, 'tool { id }', key)
    if (!created['tool']) throw new Error(JSON.stringify(created))
    return created['tool'].id as string
  }
  const ask = async (toolId: string, args: object, key?: string) => {
    const called = await h.mutate(
      'callTool',
      { toolId, arguments: args },
      'toolCall { id approval { id } }',
      key,
    )
    return { id: called['toolCall'].approval.id as string, callId: called['toolCall'].id as string }
  }
  const decide = async (approvalId: string, verdict: string, more: object = {}, key?: string) => {
    const decided = await h.mutate(
      'decideApproval',
      { approvalId, verdict, ...more },
      'approval { status }',
      key,
    )
    expect(decided['__typename'], JSON.stringify(decided)).toBe('ApprovalPayload')
  }
  const keyOf = async (input: object) =>
    (await h.mutate('createApiKey', input, 'secret apiKey { id }')) as {
      secret: string
      apiKey: { id: string }
    }
  const list = async (filter: object, more = '', key?: string) =>
    h.gql(
      `query($filter: ApprovalFilter) { approvals(filter: $filter, first: 100 ${more}) { nodes { id } } }`,
      { filter },
      key,
    )
  const ids = async (filter: object, more = '', key?: string): Promise<string[]> => {
    const { data, errors } = await list(filter, more, key)
    expect(errors).toBeUndefined()
    return data['approvals'].nodes.map(({ id }: { id: string }) => id)
  }
  const search = (text: string, key?: string) => ids({ search: text }, '', key)

  test('a word of letters beyond 16 bits is asked about, and found, however long it is', async () => {
    const toolId = await toolOf('adlam')
    for (const before of ['', 'a']) {
      const word = `${before}${'\u{1e922}'.repeat(40)}`
      const { id } = await ask(toolId, { note: word })
      expect(await search(word)).toEqual([id])
    }
  })

  test('a search finds words of the tool, its title, shown arguments and votes, and nothing that is masked', async () => {
    const toolId = await toolOf('refund_order', { title: 'Money back' })
    const other = await toolOf('close_ticket')
    const one = await ask(toolId, {
      to: 'ada@example.com',
      note: 'Ünïcode für Zürich, 退款 done',
      amount: 129.9,
      pin: 'hush4711',
    })
    await ask(other, { to: 'bob@example.org' })

    for (const text of [
      'refund',
      'REFUND order',
      'money back',
      'Ada@Example.com',
      'example.com ada',
      'zürich',
      'ZÜR',
      '退款',
      '129.9',
      'ord back ada',
      one.id,
      one.callId,
      ` ${one.id} `,
    ])
      expect([text, (await search(text)).includes(one.id)]).toEqual([text, text !== 'ord back ada'])
    for (const text of ['hush4711', 'hush', 'masked', 'efund', 'ref order', 'bob refund', 'amount'])
      expect([text, (await search(text)).includes(one.id)]).toEqual([text, false])

    const { secret } = await keyOf({ name: 'Grace Hopper', role: 'ADMIN' })
    await decide(one.id, 'REJECT', { reason: 'Duplicate of yesterday', note: 'see ledger' }, secret)
    for (const text of ['grace hop', 'duplicate refund', 'ledger'])
      expect([text, await search(text)]).toEqual([text, [one.id]])
  })

  test('an edit is found by its words and by those of before', async () => {
    const toolId = await toolOf('transfer_funds')
    const one = await ask(toolId, { to: 'alicia', pin: 'hush4712' })
    const edited = { to: 'roberta', pin: '[masked]' }
    await decide(one.id, 'APPROVE', { arguments: edited, reason: 'wrong person' })
    for (const text of ['alicia', 'roberta', 'transfer', 'wrong person'])
      expect([text, await search(text)]).toEqual([text, [one.id]])
    expect(await search('hush4712')).toEqual([])
  })

  test('what a tool hides after it was asked is not found any more', async () => {
    const toolId = await toolOf('hides_later')
    const one = await ask(toolId, { note: 'becomessecret' })
    expect(await search('becomessecret')).toEqual([one.id])
    const hiding = objectSchema({ note: { type: 'string', writeOnly: true } })
    const config = { http: { url: `${fixtures.upstream.url}/x`, method: 'POST', inputSchema: hiding } }
    expect(await h.mutate('updateTool', { id: toolId, config }, 'tool { id }')).toHaveProperty('tool')
    await decide(one.id, 'APPROVE')
    await gateFixtures(h, fixtures).untilCall(one.callId, ['AWAITING_APPROVAL'])
    expect(await search('becomessecret')).toEqual([])
    expect(await search('hides later')).toEqual([expect.any(String), one.id])
  })

  test('a run is found by the name that its agent had, and by its ids', async () => {
    const toolId = await toolOf('ship_parcel')
    const agentId = await fixtures.agent({ name: 'Lagerverwalter Süd-2', toolIds: [toolId] })
    const runId = await fixtures.start(agentId, 'call ship_parcel {"to":"Lund"}')
    const run = await h.until(runId, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
    const { id } = run['requiredAction'].approvals[0]
    for (const text of ['lagerverwalter süd 2', 'LAGERVERWALTER lund', agentId, runId, toolId])
      expect([text, await search(text)]).toEqual([text, [id]])
    expect(await ids({ agentId, statuses: ['PENDING', 'REJECTED'] })).toEqual([id])
    await h.mutate('updateAgent', { id: agentId, name: 'Renamed' }, 'agent { id }')
    expect(await search('lagerverwalter')).toEqual([id])
  })

  test('operators are plain words, and what has no word or too many is refused with its path', async () => {
    const toolId = await toolOf('plain_words')
    const one = await ask(toolId, { note: `it's "fish & chips" | !no :*` })
    for (const text of [
      "it's",
      'fish & chips',
      'fish | chips',
      '!fish',
      "fish:* 'chips'",
      'fish <-> chips',
      "\\' fish",
    ])
      expect([text, await search(text)]).toEqual([text, [one.id]])
    for (const text of ['', '   ', '& | !', ":*'", '…', '\u0000', '\ud800', '💥'])
      expect([text, (await list({ search: text })).errors?.[0]?.extensions]).toMatchObject([
        text,
        { code: 'INVALID' },
      ])
    expect((await list({ search: 'x'.repeat(201) })).errors?.[0]?.message).toMatch(/search.*200/)
    expect(await search('y '.repeat(100))).toEqual([])
    expect(await search(`${'z'.repeat(150)} ${'é'.repeat(49)}`)).toEqual([])
    // Word of any length, and arguments of any size.
    const long = 'w'.repeat(5000)
    const big = await ask(toolId, { note: long, to: `${'lorem '.repeat(20_000)}` })
    expect(await search(long.slice(0, 200))).toEqual([big.id])
    expect(await search('lorem')).toEqual([big.id])
  })

  test('rows of earlier releases are found by the name of the tool, by ids and by later votes', async () => {
    const toolId = await toolOf('legacy_Export-all')
    const one = await ask(toolId, { note: 'forgotten' })
    await deployment.rows(`update approvals set search = null where id = '${one.id}'`)
    for (const text of ['legacy', 'export LEGACY', 'legacy-exp', one.id, one.callId, toolId])
      expect([text, await search(text)]).toEqual([text, [one.id]])
    expect(await search('forgotten')).toEqual([])
    await decide(one.id, 'REJECT', { reason: 'obsolescent' })
    for (const text of ['obsolescent', 'legacy obsolescent'])
      expect([text, await search(text)]).toEqual([text, [one.id]])
  })

  test('filters by status, voter, verdict, requester and times, together with the search', async () => {
    const toolId = await toolOf(`filtered_${++made}`)
    const [asker, ann, ben] = [
      await keyOf({ name: 'asker', role: 'CALLER' }),
      await keyOf({ name: 'ann', role: 'ADMIN' }),
      await keyOf({ name: 'ben', role: 'ADMIN' }),
    ]
    const [first, second, third] = [
      await ask(toolId, { note: 'alpha' }, asker.secret),
      await ask(toolId, { note: 'beta' }),
      await ask(toolId, { note: 'gamma' }),
    ]
    await decide(third.id, 'APPROVE', {}, ann.secret)
    await decide(first.id, 'REJECT', { reason: 'no' }, ben.secret)

    expect(await ids({ toolId })).toEqual([third.id, second.id, first.id])
    expect(await ids({ toolId }, 'orderBy: SETTLED_AT')).toEqual([first.id, third.id])
    expect(await ids({ toolId, statuses: ['PENDING'] })).toEqual([second.id])
    expect(await ids({ toolId, statuses: ['REJECTED', 'PENDING'] })).toEqual([second.id, first.id])
    expect(await ids({ toolId, statuses: [] })).toEqual([])
    expect(await ids({ decidedBy: ann.apiKey.id })).toEqual([third.id])
    expect(await ids({ decidedBy: ann.apiKey.id, verdict: 'REJECT' })).toEqual([])
    expect(await ids({ toolId, verdict: 'REJECT' })).toEqual([first.id])
    expect(await ids({ requestedBy: asker.apiKey.id })).toEqual([first.id])
    expect(await ids({ toolId, search: 'gam', verdict: 'APPROVE' })).toEqual([third.id])
    expect(await ids({ toolId, search: 'gam', verdict: 'REJECT' })).toEqual([])
    const { data } = await h.gql(`query($id: ID!) { approval(id: $id) { createdAt settledAt } }`, {
      id: first.id,
    })
    const { createdAt, settledAt } = data['approval']
    expect(await ids({ toolId, settledAfter: settledAt })).toEqual([first.id])
    expect(await ids({ toolId, settledBefore: settledAt })).toEqual([third.id])
    expect(await ids({ toolId, createdBefore: createdAt })).toEqual([])
    expect(await ids({ toolId, createdAfter: '0000-01-01T00:00:00Z' })).toHaveLength(3)

    const strange = await ids({ decidedBy: `"]'); drop table approvals` })
    expect(strange).toEqual([])

    // Pages in the order of the outcomes, from both ends.
    const page = async (args: string) =>
      (
        await h.gql(
          `query($filter: ApprovalFilter) { approvals(filter: $filter, orderBy: SETTLED_AT, ${args})
            { nodes { id } pageInfo { endCursor startCursor hasNextPage } } }`,
          { filter: { toolId } },
        )
      ).data['approvals']
    const one = await page('first: 1')
    expect(one).toMatchObject({ nodes: [{ id: first.id }], pageInfo: { hasNextPage: true } })
    const two = await page(`first: 1, after: "${one.pageInfo.endCursor}"`)
    expect(two).toMatchObject({ nodes: [{ id: third.id }], pageInfo: { hasNextPage: false } })
    expect((await page(`last: 1, before: "${two.pageInfo.startCursor}"`)).nodes).toEqual([{ id: first.id }])
    expect((await page('last: 1')).nodes).toEqual([{ id: third.id }])
  })

  test('an unknown call is found by its tool, its question and its ids, and by nothing that is masked', async () => {
    const gate = gateFixtures(h, fixtures)
    const asked = await toolOf('wire_money')
    const plain = await toolOf('plain_wire', { gate: { mode: 'NEVER' } })
    const one = await ask(asked, { note: 'Lighthouse keeper', pin: 'hush4713' })
    await decide(one.id, 'APPROVE', { reason: 'checked in the ledger' })
    await gate.untilCall(one.callId, ['SUCCEEDED'])
    const input = { toolId: plain, arguments: { to: 'Oslo', note: 'unasked', pin: 'hush4714' } }
    const other = (await h.mutate('callTool', input, 'toolCall { id }'))['toolCall'].id as string
    await gate.untilCall(other, ['SUCCEEDED'])
    for (const id of [one.callId, other]) await leaveBehind(h, id)

    const listUnknown = (filter: object, key?: string) =>
      h.gql(
        `query($filter: ToolCallFilter) {
          toolCalls(filter: $filter) { nodes { id summary { text } approval { summary { text } } } }
        }`,
        { filter: { statuses: ['UNKNOWN'], ...filter } },
        key,
      )
    const unknown = async (filter: object, key?: string): Promise<string[]> => {
      const { data, errors } = await listUnknown(filter, key)
      expect(errors?.filter(({ path }) => path?.[3] !== 'approval') ?? []).toEqual([])
      return data['toolCalls'].nodes.map(({ id }: { id: string }) => id)
    }
    for (const text of ['lighthouse', 'KEEPER wire', 'ledger', 'wire mon', one.id, one.callId, asked])
      expect([text, await unknown({ search: text })]).toEqual([text, [one.callId]])
    for (const text of ['plain', other, plain]) expect(await unknown({ search: text })).toEqual([other])
    for (const text of ['wire', 'outcome_unknown'])
      expect(await unknown({ search: text })).toEqual([other, one.callId])
    for (const text of ['hush4713', 'hush4714', 'masked', 'ight', 'unasked'])
      expect([text, await unknown({ search: text })]).toEqual([text, []])
    expect(await unknown({ search: 'wire', toolId: asked })).toEqual([one.callId])
    expect(await unknown({ search: 'wire', createdBefore: '2020-01-01T00:00:00Z' })).toEqual([])
    expect((await listUnknown({ search: '& |' })).errors?.[0]?.extensions).toMatchObject({ code: 'INVALID' })
    const { nodes } = (await listUnknown({ search: 'wire' })).data['toolCalls']
    expect(nodes.map((call: any) => call.summary.text)).toEqual([
      'plain_wire: to Oslo, note unasked',
      'wire_money: note Lighthouse keeper',
    ])

    // What people said about a call is not found by who may list calls and not approvals.
    const allow = (...action: string[]) => ({
      statement: [{ effect: 'Allow', action: [...action, 'generations:ReachOthers'], resource: ['*'] }],
    })
    const { secret } = await keyOf({ name: 'calls only', policy: allow('toolCalls:*') })
    const short = async (text: string) => {
      const { data } = await h.gql(
        'query($s: String) { toolCalls(filter: { statuses: [UNKNOWN], search: $s }) { nodes { id } } }',
        { s: text },
        secret,
      )
      return data['toolCalls'].nodes.length
    }
    expect([await short('ledger'), await short('lighthouse'), await short('wire')]).toEqual([0, 0, 2])
    const foreign = await h.mutate('createProject', { name: `unknown ${kind}` }, 'project { id }')
    const stranger = await keyOf({ name: 'f', role: 'ADMIN', projectId: foreign['project'].id })
    expect(await unknown({ search: one.callId }, stranger.secret)).toEqual([])
  })

  test('a tally counts what a filter lists, by status, tool and agent', async () => {
    const [one, two] = [await toolOf('counted_one'), await toolOf('counted_two')]
    for (const note of ['tallied', 'tallied']) await decide((await ask(one, { note })).id, 'APPROVE')
    await decide((await ask(two, { note: 'tallied' })).id, 'REJECT')
    await ask(two, { note: 'tallied' })
    const numbers = 'pending approved rejected expired voided'
    const { data, errors } = await h.gql(
      `query($filter: ApprovalFilter) {
        byTool: approvalTally(filter: $filter, by: TOOL) { isComplete total { ${numbers} } groups { id toolName ${numbers} } }
        byAgent: approvalTally(filter: $filter, by: AGENT) { groups { id toolName agent { id } approved } }
        plain: approvalTally(filter: $filter) { groups { id } }
      }`,
      { filter: { search: 'tallied' } },
    )
    expect(errors).toBeUndefined()
    expect(data['byTool'].isComplete).toBe(true)
    expect(data['byTool'].total).toEqual({ pending: 1, approved: 2, rejected: 1, expired: 0, voided: 0 })
    expect(data['byTool'].groups).toHaveLength(2)
    expect(data['byTool'].groups).toContainEqual({
      id: one,
      toolName: 'counted_one',
      pending: 0,
      approved: 2,
      rejected: 0,
      expired: 0,
      voided: 0,
    })
    expect(data['byAgent'].groups).toEqual([{ id: null, toolName: null, agent: null, approved: 2 }])
    expect(data['plain'].groups).toEqual([])
  })

  test('nobody finds what they may not read: another project, and who may not decide only their own', async () => {
    const created = await h.mutate('createProject', { name: `other ${kind}` }, 'project { id }')
    const projectId = created['project'].id
    const foreign = await keyOf({ name: 'foreign', role: 'ADMIN', projectId })
    const [caller, second] = [
      await keyOf({ name: 'caller', policy: asking }),
      await keyOf({ name: 'second', policy: asking }),
    ]
    const toolId = await toolOf('isolated')
    const [own, theirs] = [
      await ask(toolId, { note: 'confidential' }, caller.secret),
      await ask(toolId, { note: 'confidential' }, second.secret),
    ]
    expect(await search('confidential')).toEqual([theirs.id, own.id])
    expect(await search('confidential', caller.secret)).toEqual([own.id])
    expect(await search(theirs.id, caller.secret)).toEqual([])
    for (const text of ['confidential', 'isolated', own.id, own.callId, toolId])
      expect(await search(text, foreign.secret)).toEqual([])
    expect(await ids({ requestedBy: caller.apiKey.id }, '', foreign.secret)).toEqual([])
    const tally = async (key: string, filter: object) =>
      (
        await h.gql(
          `query($filter: ApprovalFilter) { approvalTally(filter: $filter, by: TOOL) { total { pending } groups { id } } }`,
          { filter },
          key,
        )
      ).data['approvalTally']
    expect(await tally(foreign.secret, {})).toEqual({ total: { pending: 0 }, groups: [] })
    expect((await tally(caller.secret, { search: 'confidential' })).total).toEqual({ pending: 1 })
    const named = await list({ search: 'confidential' }, `projectId: "${projectId}"`)
    expect(named.data?.['approvals']?.nodes ?? []).toEqual([])
  })
})
