/** A2A judged by its official client: cards, text, streams, calls, questions, cancelling, coming back and refusals. */
import type { ServerResponse } from 'node:http'
import type { StreamResponse } from '@a2a-js/sdk'
import { describe, expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures } from '../../../support/fixtures.ts'
import { startLoopback } from '../../../support/loopback.ts'
import {
  collect,
  data,
  file,
  foldStream,
  message,
  ofTask,
  openClient,
  questionsOf,
  send,
  stateOf,
  text,
  textsOf,
} from './clients.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const plain = await fixtures.agent({ name: 'plain' })
await fixtures.agent({ name: 'gated', gate: { mode: 'ALWAYS' } })
const client = await openClient(h.url, 'plain', adminKey)
const gated = await openClient(h.url, 'gated', adminKey)

const pay = 'call act {"word": "a"}\nthen\nsay ok'
const asks = 'call ask {"word": "a"}\nthen\nsay found'
const ofList = { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined }
const pushOff = { name: 'PushNotificationNotSupportedError' }

describe('the card', () => {
  test('says where the agent is, and what of it the key may know', async () => {
    const card = await (
      await fetch(`${h.url}/a2a/plain/.well-known/agent-card.json`, {
        headers: { authorization: `Bearer ${adminKey}` },
      })
    ).json()
    expect(card).toMatchObject({
      name: 'plain',
      version: '1',
      supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
        url: `${h.url}/a2a/${plain}`,
        protocolBinding,
        protocolVersion: '1.0',
      })),
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    })
    expect(card.skills.map(({ name }: { name: string }) => name).toSorted()).toEqual([
      'act',
      'ask',
      'look',
      'tell',
    ])
  })

  test('names no tools to a key that may only start runs', async () => {
    const policy = { statement: [{ effect: 'Allow', action: ['generations:Start'], resource: ['*'] }] }
    const made = await h.mutate('createApiKey', { name: 'starter', policy }, 'secret')
    const skills = (
      await (
        await fetch(`${h.url}/a2a/${plain}/.well-known/agent-card.json`, {
          headers: { authorization: `Bearer ${made['secret']}` },
        })
      ).json()
    ).skills
    expect(skills).toMatchObject([{ id: plain, name: 'plain' }])
  })
})

describe('a task', () => {
  test('is answered with text, read again, and goes on in its context', async () => {
    const done = await send(client, message('say hello there'))
    expect(stateOf(done)).toBe('COMPLETED')
    expect(textsOf(done)).toEqual({ 'text-1': 'hello there' })
    expect(done.history).toMatchObject([{ parts: [{ content: { value: 'say hello there' } }] }])
    expect(await client.getTask(ofTask(done.id))).toEqual(done)
    expect((await client.getTask({ ...ofTask(done.id), historyLength: 0 })).history).toEqual([])
    const next = await send(client, message('say again', { contextId: done.contextId }))
    expect(next).toMatchObject({ contextId: done.contextId })
    expect(next.id).not.toBe(done.id)
    await expect(send(client, message('say x', { taskId: done.id }))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
      message: expect.stringContaining('has ended'),
    })
  })

  test('is streamed: text in pieces, then the state', async () => {
    const words = 'one two three four five six seven eight'
    const said = (beforeMs: number) =>
      collect(client.sendMessageStream(message(`slow ${beforeMs}ms before\nslow 50ms\nsay ${words}`)))
    let events = await said(500)
    // A busy machine may look for the text after its first word: then all of it comes with the commit.
    if (foldStream(events).appended === 0) events = await said(10_000)
    const seen = foldStream(events)
    expect(seen.texts).toEqual({ 'text-1': words })
    expect(seen.appended).toBeGreaterThan(0)
    expect(seen.states.at(-1)).toBe('COMPLETED')
    expect(events[0]!.payload?.$case).toBe('task')
    expect(textsOf(await client.getTask(ofTask(seen.id)))).toEqual(seen.texts)
  })

  test('uses tools of the server by itself', async () => {
    const before = fixtures.upstream.seen.length
    const done = await send(client, message('call look {"word": "a"}\nthen\nsay ok'))
    expect(textsOf(done)).toEqual({ 'text-2': 'ok' })
    expect(fixtures.upstream.seen.length - before).toBe(1)
  })

  test('has data as input, and an object as its result', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    await fixtures.agent({ name: 'objects', outputSchema })
    const objects = await openClient(h.url, 'objects', adminKey)
    const said = (beforeMs: number) =>
      collect(objects.sendMessageStream(message(`slow ${beforeMs}ms before\nsay {"n": 1}`)))
    const updates = (events: StreamResponse[]) =>
      events.flatMap(({ payload }) => (payload?.$case === 'artifactUpdate' ? payload.value.artifact! : []))
    let stream = await said(500)
    // A busy machine may look for the task when it has ended: then the task itself holds the result.
    if (stream.length === 1) stream = await said(10_000)
    expect(updates(stream).map(({ artifactId }) => artifactId)).toContain('result')
    const done = await objects.getTask(ofTask(foldStream(stream).id))
    expect(done.artifacts.at(-1)).toMatchObject({ parts: [{ content: { $case: 'data', value: { n: 1 } } }] })
    const asked = await send(client, message([text('say x'), data({ order: 17 })]))
    expect(asked.history[0]).toMatchObject({ parts: [{ content: { value: 'say x\n{"order":17}' } }] })
  })

  test('begins at once when it need not be waited for, and is cancelled', async () => {
    const begun = await send(client, message('slow 5s before\nsay never', {}, { returnImmediately: true }))
    expect(['SUBMITTED', 'WORKING']).toContain(stateOf(begun))
    const ended = await client.cancelTask({ tenant: '', id: begun.id, metadata: undefined })
    expect(stateOf(ended)).toBe('CANCELED')
    const again = client.cancelTask({ tenant: '', id: begun.id, metadata: undefined })
    await expect(again).rejects.toMatchObject({ name: 'TaskNotCancelableError' })
  })

  test('that fails says why', async () => {
    const failed = await send(client, message('fail 400'))
    expect(stateOf(failed)).toBe('FAILED')
    expect(questionsOf(failed)).toEqual([{ code: 'MODEL_BAD_REQUEST' }])
  })

  test('that is cut off says so', async () => {
    await fixtures.agent({ name: 'short', maxSteps: 1, finalAnswerOnLimit: false })
    const short = await openClient(h.url, 'short', adminKey)
    const ended = await send(short, message('call look {"word": "a"}\nthen\nsay ok'))
    expect(stateOf(ended)).toBe('COMPLETED')
    expect(questionsOf(ended)).toEqual([{ code: 'MAX_STEPS' }])
  })

  test('has files that were uploaded here, and no others', async () => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const presigned = await fetch(`${h.url}/api/v1/files/presign-upload`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ filename: 'a.txt', content_type: 'text/plain' }),
    })
    const { file_id: id, upload_url: url } = (await presigned.json()) as Record<string, string>
    await fetch(url!, { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: 'hello' })
    const done = await send(client, message([text('say read'), file(id!)]))
    expect(done.history[0]!.parts[1]).toMatchObject({ content: { value: id }, filename: 'a.txt' })
    const other = message([text('say x'), file('https://example.com/a.txt')])
    await expect(send(client, other)).rejects.toMatchObject({ name: 'ContentTypeNotSupportedError' })
  })
})

describe('a task that asks', () => {
  test('for the output of a client tool goes on with it, also streamed; a repeat changes nothing', async () => {
    const stream = foldStream(await collect(client.sendMessageStream(message(asks))))
    expect(stream.states.at(-1)).toBe('INPUT_REQUIRED')
    const waiting = await client.getTask(ofTask(stream.id))
    const [question] = questionsOf(waiting)
    expect(question).toMatchObject({ asks: 'TOOL_OUTPUT', name: 'ask', arguments: { word: 'a' } })
    const output = (words: string) => [data({ toolCallId: question!['toolCallId'], output: words })]
    const to = { taskId: waiting.id, contextId: waiting.contextId, messageId: 'answer-1' }
    const done = foldStream(await collect(client.sendMessageStream(message(output('kitchen'), to))))
    expect(done).toMatchObject({ id: waiting.id, texts: { 'text-2': 'found' } })
    expect(done.states.at(-1)).toBe('COMPLETED')
    expect(stateOf(await send(client, message(output('kitchen'), to)))).toBe('COMPLETED')
    await expect(send(client, message(output('attic'), to))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    })
  })

  test('takes an output that is an error, and nothing but answers', async () => {
    const waiting = await send(client, message(asks))
    const [question] = questionsOf(waiting)
    const taskId = waiting.id
    await expect(send(client, message('kitchen', { taskId }))).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
    })
    const answer = { toolCallId: question!['toolCallId'], output: 'no such room', isError: true }
    await expect(send(client, message([data(answer), text('!')], { taskId }))).rejects.toThrow(/only/)
    expect(stateOf(await send(client, message([data(answer)], { taskId })))).toBe('COMPLETED')
    const { data: read } = await h.gql(`{ generation(id: "${taskId}") { toolCalls { isError } } }`)
    expect(read['generation'].toolCalls).toEqual([{ isError: true }])
  })

  test.each(['APPROVE', 'REJECT', 'EDIT'])('for a verdict: %s', async (kind) => {
    const before = fixtures.upstream.seen.length
    const waiting = await send(gated, message(pay))
    expect(stateOf(waiting)).toBe('INPUT_REQUIRED')
    const [question] = questionsOf(waiting)
    expect(question).toMatchObject({ asks: 'VERDICT', name: 'act', arguments: { word: 'a' } })
    const answer = data({
      approvalId: question!['approvalId'],
      verdict: kind === 'REJECT' ? 'REJECT' : 'APPROVE',
      reason: 'because',
      ...(kind === 'EDIT' ? { arguments: { word: 'b' } } : {}),
    })
    const request = message([answer], { taskId: waiting.id })
    const done = await send(gated, request)
    expect(stateOf(done)).toBe('COMPLETED')
    expect(await send(gated, request), 'a repeat finds the same').toEqual(done)
    const sent = fixtures.upstream.seen.slice(before).map(({ body }) => String(body))
    expect(sent).toEqual(kind === 'REJECT' ? [] : [`{"word":"${kind === 'EDIT' ? 'b' : 'a'}"}`])
    const other = data({
      approvalId: question!['approvalId'],
      verdict: kind === 'REJECT' ? 'APPROVE' : 'REJECT',
    })
    await expect(send(gated, message([other], { taskId: waiting.id }))).rejects.toMatchObject({
      data: [{ reason: 'APPROVAL_ALREADY_DECIDED', domain: 'gatehouse' }],
    })
  })

  test('for a verdict and an output at once wants both', async () => {
    const config = { http: { url: `${fixtures.upstream.url}/pay`, inputSchema: { type: 'object' } } }
    const tool = { name: 'pay', config, gate: { mode: 'ALWAYS' } }
    const made = await h.mutate('createTool', tool, 'tool { id }')
    await fixtures.agent({ name: 'both', toolIds: [fixtures.tools.ask, made['tool'].id] })
    const both = await openClient(h.url, 'both', adminKey)
    const waiting = await send(both, message('call pay {}\ncall ask {"word": "a"}\nthen\nsay ok'))
    const questions = questionsOf(waiting)
    expect(questions.map(({ asks: what }) => what).toSorted()).toEqual(['TOOL_OUTPUT', 'VERDICT'])
    const answers = questions.map(({ approvalId, toolCallId }) =>
      data(approvalId ? { approvalId, verdict: 'APPROVE' } : { toolCallId, output: { room: 'kitchen' } }),
    )
    for (const one of answers)
      await expect(send(both, message([one], { taskId: waiting.id }))).rejects.toThrow(/has no answer for/)
    expect(questionsOf(await both.getTask(ofTask(waiting.id)))).toEqual(questions)
    expect(stateOf(await send(both, message(answers, { taskId: waiting.id })))).toBe('COMPLETED')
  })

  test('is asked while another call still runs, also in a stream', async () => {
    let hold: (response: ServerResponse) => void
    const held = new Promise<ServerResponse>((resolve) => (hold = resolve))
    const slow = await startLoopback((_request, response) => hold(response))
    const config = { http: { url: `${slow.url}/slow`, method: 'POST', inputSchema: { type: 'object' } } }
    const made = await h.mutate('createTool', { name: 'slow', config }, 'tool { id }')
    await fixtures.agent({ name: 'busy', toolIds: [fixtures.tools.ask, made['tool'].id] })
    try {
      const busy = await openClient(h.url, 'busy', adminKey)
      const words = 'call slow {}\ncall ask {"word": "a"}\nthen\nsay found'
      const seen = foldStream(await collect(busy.sendMessageStream(message(words))))
      expect(seen.states.at(-1)).toBe('INPUT_REQUIRED')
      const waiting = await busy.getTask(ofTask(seen.id))
      // It is sent on its own way, and may arrive after the question.
      const sent = await held
      expect(stateOf(waiting)).toBe('INPUT_REQUIRED')
      const inState = async (status: number) =>
        (await busy.listTasks({ ...ofList, status })).tasks.map(({ id }) => id)
      expect([await inState(6), await inState(2)]).toEqual([[seen.id], []])
      const answer = data({ toolCallId: questionsOf(waiting)[0]!['toolCallId'], output: 'kitchen' })
      const done = send(busy, message([answer], { taskId: seen.id }))
      sent.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      expect(stateOf(await done)).toBe('COMPLETED')
    } finally {
      await slow.close()
    }
  })

  test('of which somebody else has given a part takes the rest', async () => {
    const waiting = await send(
      client,
      message('call ask {"word": "a"}\ncall tell {"word": "b"}\nthen\nsay ok'),
    )
    const [first] = questionsOf(waiting)
    const outputs = [{ toolCallId: first!['toolCallId'], output: { said: 'elsewhere' } }]
    const events: StreamResponse[] = []
    const followed = (async () => {
      for await (const event of client.resubscribeTask({ tenant: '', id: waiting.id })) events.push(event)
    })()
    await expect.poll(() => events).toHaveLength(1)
    await h.mutate('submitToolOutputs', { generationId: waiting.id, outputs }, '__typename')
    const left = questionsOf(await client.getTask(ofTask(waiting.id)))
    expect(left).toHaveLength(1)
    expect(foldStream(events).states).toEqual(['INPUT_REQUIRED'])
    const answer = data({ toolCallId: left[0]!['toolCallId'], output: 'here' })
    expect(stateOf(await send(client, message([answer], { taskId: waiting.id })))).toBe('COMPLETED')
    await followed
    expect(foldStream(events).states).toEqual(['INPUT_REQUIRED', 'WORKING', 'COMPLETED'])
  })

  test('two people asks the second one after the first, whose vote may be repeated', async () => {
    await fixtures.agent({ name: 'two', gate: { mode: 'ALWAYS', quorum: 2 } })
    const { secret } = await h.mutate('createApiKey', { name: 'second', role: 'ADMIN' }, 'secret')
    const [one, two] = await Promise.all([adminKey, secret].map((key) => openClient(h.url, 'two', key)))
    const waiting = await send(one!, message(pay))
    const answer = data({ approvalId: questionsOf(waiting)[0]!['approvalId'], verdict: 'APPROVE' })
    const vote = message([answer], { taskId: waiting.id }, { returnImmediately: true })
    for (let i = 0; i < 2; i++) expect(stateOf(await send(one!, vote))).toBe('WORKING')
    expect(stateOf(await two!.getTask(ofTask(waiting.id)))).toBe('INPUT_REQUIRED')
    expect(stateOf(await send(two!, message([answer], { taskId: waiting.id })))).toBe('COMPLETED')
  })

  test('two clients who answer at once cause one execution', async () => {
    const before = fixtures.upstream.seen.length
    const waiting = await send(gated, message(pay))
    const [question] = questionsOf(waiting)
    const answer = data({ approvalId: question!['approvalId'], verdict: 'APPROVE' })
    const both = await Promise.all([1, 2].map(() => send(gated, message([answer], { taskId: waiting.id }))))
    expect(both.map(stateOf)).toEqual(['COMPLETED', 'COMPLETED'])
    expect(fixtures.upstream.seen.length - before).toBe(1)
  })

  test('other people asks nothing of this key: it works until they decided', async () => {
    const made = await h.mutate(
      'createApiKey',
      { name: 'program', role: 'DEVELOPER', votes: false },
      'secret',
    )
    const program = await openClient(h.url, 'gated', made['secret'])
    const begun = await send(program, message(pay, {}, { returnImmediately: true }))
    const events = program.resubscribeTask({ tenant: '', id: begun.id })
    const { value: first } = await events.next()
    await h.until(begun.id, ['AWAITING_APPROVAL'])
    expect(stateOf(await program.getTask(ofTask(begun.id)))).toBe('WORKING')
    const [question] = questionsOf(await gated.getTask(ofTask(begun.id)))
    const answer = data({ approvalId: question!['approvalId'], verdict: 'APPROVE' })
    await expect(send(program, message([answer], { taskId: begun.id }))).rejects.toThrow()
    await send(gated, message([answer], { taskId: begun.id }))
    const seen = foldStream([first!, ...(await collect(events))])
    expect(seen.states).not.toContain('INPUT_REQUIRED')
    expect(seen.states.at(-1)).toBe('COMPLETED')
  })
})

describe('who comes back', () => {
  test('gets the task as it is and the rest of its text', async () => {
    const words = Array.from({ length: 40 }, (_, i) => `word${i}`).join(' ')
    // Slow enough for a busy machine to come back before its end.
    const request = message(`slow 150ms\nsay ${words}`)
    let id = ''
    for await (const { payload } of client.sendMessageStream(request)) {
      if (payload?.$case === 'task') id = payload.value.id
      if (payload?.$case === 'artifactUpdate') break
    }
    const rest = foldStream(await collect(client.resubscribeTask({ tenant: '', id })))
    expect(rest.texts).toEqual({ 'text-1': words })
    expect(rest.states.at(-1)).toBe('COMPLETED')
    const again = foldStream(await collect(client.sendMessageStream(request)))
    expect(again, 'the same message finds the same task').toMatchObject({ id, texts: rest.texts })
    const late = collect(client.resubscribeTask({ tenant: '', id }))
    await expect(late).rejects.toMatchObject({ name: 'UnsupportedOperationError' })
  })

  test('sees who else answers what the task asks', async () => {
    const waiting = await send(client, message(asks))
    const events = client.resubscribeTask({ tenant: '', id: waiting.id })
    const first = await events.next()
    expect(first.value).toMatchObject({ payload: { $case: 'task' } })
    await fixtures.answer(waiting.id)
    const seen = foldStream([first.value!, ...(await collect(events))])
    expect(seen.states).toEqual(['INPUT_REQUIRED', 'WORKING', 'COMPLETED'])
    expect(seen.texts).toEqual({ 'text-2': 'found' })
  })

  test('with the same message id finds the same task, and another message is refused', async () => {
    const request = message('say once')
    const [one, two] = await Promise.all([send(client, request), send(client, request)])
    expect(two).toEqual(one)
    const { messageId } = request.message!
    await expect(send(client, message('say twice', { messageId }))).rejects.toMatchObject({
      envelopeCode: -32602,
      data: [{ reason: 'IDEMPOTENCY_CONFLICT' }],
    })
  })
})

describe('lists', () => {
  const page = (more: object = {}) => ({ ...ofList, ...more })
  test('are pages of the tasks of this agent, of a context, or in a state', async () => {
    await fixtures.agent({ name: 'listed' })
    const listed = await openClient(h.url, 'listed', adminKey)
    const made = []
    for (const words of ['a', 'b', 'c']) made.push(await send(listed, message(`say ${words}`)))
    const waiting = await send(listed, message(asks))
    const first = await listed.listTasks(page({ pageSize: 3, includeArtifacts: true }))
    expect(first).toMatchObject({ pageSize: 3, totalSize: 4 })
    expect(first.tasks.map(({ id }) => id)).toEqual([waiting.id, made[2]!.id, made[1]!.id])
    expect(textsOf(first.tasks[1]!)).toEqual({ 'text-1': 'c' })
    const second = await listed.listTasks(page({ pageSize: 3, pageToken: first.nextPageToken }))
    expect(second.tasks).toMatchObject([{ id: made[0]!.id, artifacts: [] }])
    expect(second.nextPageToken).toBe('')
    const inState = async (status: number) =>
      (await listed.listTasks(page({ status }))).tasks.map(({ id }) => id)
    expect(await inState(6)).toEqual([waiting.id])
    expect(await inState(2)).toEqual([])
    expect(await inState(3)).toHaveLength(3)
    expect(await inState(7)).toEqual([])
    const { tasks } = await listed.listTasks(page({ contextId: made[1]!.contextId, historyLength: 0 }))
    expect(tasks).toMatchObject([{ id: made[1]!.id, history: [] }])
    await expect(listed.listTasks(page({ pageToken: 'nonsense' }))).rejects.toMatchObject({
      envelopeCode: -32602,
    })
  })
})

describe('refused', () => {
  test('is what belongs to others, or does not exist', async () => {
    const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
    const { secret } = await h.mutate(
      'createApiKey',
      { name: 'o', role: 'ADMIN', projectId: project.id },
      'secret',
    )
    const waiting = await send(client, message(asks))
    await expect(openClient(h.url, plain, secret)).rejects.toThrow(/404/)
    await expect(openClient(h.url, 'plain', 'gh_wrong')).rejects.toThrow(/401/)
    const theirs = await openClient(h.url, 'plain', adminKey, (input, init) => {
      const headers = new Headers(init?.headers)
      if (init?.method === 'POST') headers.set('authorization', `Bearer ${secret}`)
      return fetch(input, { ...init, headers })
    })
    const missing = { name: 'TaskNotFoundError' }
    const [question] = questionsOf(waiting)
    const answer = data({ toolCallId: question!['toolCallId'], output: 'x' })
    for (const [who, id] of [
      [theirs, waiting.id],
      [gated, waiting.id],
      [client, `gen_${'a'.repeat(24)}`],
      [client, 'nonsense'],
    ] as const) {
      await expect(who.getTask(ofTask(id))).rejects.toMatchObject(missing)
      await expect(collect(who.resubscribeTask({ tenant: '', id }))).rejects.toMatchObject(missing)
      await expect(who.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toMatchObject(missing)
      await expect(send(who, message([answer], { taskId: id }))).rejects.toMatchObject(missing)
    }
    await expect(
      send(client, message('say x', { contextId: `thr_${'a'.repeat(24)}` })),
    ).rejects.toMatchObject({ envelopeCode: -32602, message: expect.stringContaining('contextId') })
    await expect(
      send(client, message([answer], { taskId: waiting.id, contextId: 'thr_other' })),
    ).rejects.toThrow(/another context/)
    expect(stateOf(await client.getTask(ofTask(waiting.id)))).toBe('INPUT_REQUIRED')
  })

  test('is what is not served, with the errors of the protocol', async () => {
    const config = { tenant: '', id: 'x', taskId: 'x', url: 'http://x', token: '', authentication: undefined }
    await expect(async () => client.createTaskPushNotificationConfig(config)).rejects.toMatchObject(pushOff)
    await expect(
      send(client, message('say x', {}, { taskPushNotificationConfig: config })),
    ).rejects.toMatchObject(pushOff)
    await expect(
      send(client, message('say x', {}, { acceptedOutputModes: ['image/png'] })),
    ).rejects.toMatchObject({ name: 'ContentTypeNotSupportedError' })
    const accepted = message('say x', {}, { acceptedOutputModes: ['image/png', 'text/plain'] })
    expect(stateOf(await send(client, accepted))).toBe('COMPLETED')
  })
})
