/** Client tools run where the client is: once for each call in a process, whatever happens to connections and whoever else answers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NotFoundError, type SubmissionStatus } from '../../client/index.ts'
import { startCuttable } from '../support/cuttable.ts'
import { databaseKinds } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { objectSchema } from '../support/fixtures.ts'
import { clientOf } from './clients.ts'
import { randomSchedule } from '../support/random.ts'

const random = randomSchedule()

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let agentId: string
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    agentId = await deployment.fixtures.agent()
  })
  afterAll(() => deployment.close())

  const first = () => deployment.replicas[0]!
  const last = () => deployment.replicas.at(-1)!
  const start = (prompt: string, more: object = {}) => deployment.fixtures.start(agentId, prompt, more)
  const asks = (count: number) =>
    Array.from({ length: count }, (_, i) => `call ask {"word":"w${i}"}`).join('\n')
  const callsOf = async (id: string) => {
    const { data } = await first().gql(
      'query($id: ID!) { generation(id: $id) { toolCalls { name status isError content } } }',
      { id },
    )
    return data['generation'].toolCalls as { name: string; status: string; isError: boolean; content: any }[]
  }

  test('tools run as the run asks for them, and the generation comes back with its end', async () => {
    const client = clientOf(last())
    const seen: string[] = []
    const id = await start(
      'call ask {"word":"a"}\ncall tell {"word":"b"}\nthen\ncall ask {"word":"c"}\nthen\nsay done',
    )
    const generation = await client.runClientTools(id, {
      ask: ({ word }, { name, toolCallId, generationId }) => {
        expect(toolCallId).toMatch(/^call_/)
        expect(generationId).toBe(id)
        seen.push(`${name} ${word}`)
        return { word }
      },
      tell: ({ word }) => `told ${word}`,
    })
    expect(generation).toMatchObject({
      id,
      status: 'COMPLETED',
      stopReason: 'END_TURN',
      output: { text: 'done' },
    })
    expect(seen).toEqual(['ask a', 'ask c'])
    const calls = await callsOf(id)
    expect(calls.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])
    expect(calls[1]!.content[0].text).toBe('told b')
    client.close()
  })

  test('what a tool throws, what its check refuses, and what is no JSON become outputs with an error', async () => {
    const client = clientOf(first())
    const id = await start(`${asks(4)}\ncall tell {"word":"b"}\nthen\nsay done`)
    await client.runClientTools(id, {
      ask: ({ word }) => {
        if (word === 'w0') throw new Error('no such word')
        if (word === 'w1') return { big: 1n }
        if (word === 'w2') return 'x'.repeat(1_200_000)
        return undefined
      },
      tell: {
        parse: () => {
          throw new Error('word must be short')
        },
        run: () => 'never',
      },
    })
    const calls = await callsOf(id)
    expect(calls.map(({ isError, content }) => [isError, content[0].text])).toEqual([
      [true, 'no such word'],
      [true, 'The tool returned a value that is not JSON.'],
      [true, 'The output is larger than 1,000,000 characters.'],
      [false, 'null'],
      [true, 'Invalid arguments: word must be short'],
    ])
    client.close()
  })

  test('an output that the server does not take is replaced by an error that says why', async () => {
    const { tool } = await first().mutate(
      'createTool',
      {
        name: 'strict',
        config: { client: { inputSchema: objectSchema({}) } },
        outputSchema: objectSchema({ n: { type: 'number' } }, ['n']),
      },
      'tool { id }',
    )
    const strict = await deployment.fixtures.agent({ toolIds: [tool.id, deployment.fixtures.tools.ask] })
    const client = clientOf(first())
    const id = await deployment.fixtures.start(
      strict,
      'call strict {}\ncall ask {"word":"x"}\nthen\nsay done',
    )
    const generation = await client.runClientTools(id, {
      strict: () => ({ n: 'many' }),
      // Fewer characters than a request may have, and more bytes.
      ask: () => 'é'.repeat(800_000),
    })
    expect(generation.status).toBe('COMPLETED')
    for (const { isError, content } of await callsOf(id)) {
      expect(isError).toBe(true)
      expect(content[0].text).toMatch(/^The output of the tool was refused: /)
    }
    client.close()
  })

  test('names that are not given are left for others, or refused where the option says so', async () => {
    const client = clientOf(first())
    const id = await start('call ask {"word":"a"}\ncall tell {"word":"b"}\nthen\nsay done')
    const submitted: string[] = []
    const [generation] = await Promise.all([
      client.runClientTools(id, { ask: () => 'here' }, { onSubmitted: ({ name }) => submitted.push(name) }),
      client.runClientTools(id, { tell: () => 'there' }, { onSubmitted: ({ name }) => submitted.push(name) }),
    ])
    expect(generation.status).toBe('COMPLETED')
    expect(submitted.toSorted()).toEqual(['ask', 'tell'])
    // A name of every object is no tool either.
    const refused = await start('call ask {"word":"a"}\ncall tell {"word":"b"}\nthen\nsay done')
    const tools = Object.create({ ask: () => 'inherited' }) as Record<string, () => string>
    await client.runClientTools(refused, { ...tools, tell: () => 'there' }, { unknownTools: 'refuse' })
    const calls = await callsOf(refused)
    expect(calls.map(({ content }) => content[0].text)).toEqual(['This client has no tool ask.', 'there'])
    client.close()
  })

  test('no more tools run at once than may', async () => {
    const client = clientOf(first())
    const id = await start(`${asks(9)}\nthen\nsay done`)
    let [running, most] = [0, 0]
    const ask = async () => {
      most = Math.max(most, ++running)
      await first().gql('{ viewer { id } }')
      running--
    }
    await client.runClientTools(id, { ask }, { concurrency: 3 })
    expect(most).toBe(3)
    client.close()
  })

  test('two followers in one process run each call once, and both end well', async () => {
    const [one, other] = [clientOf(first()), clientOf(last())]
    const id = await start(`${asks(5)}\nthen\n${asks(3)}\nthen\nsay done`)
    const runs: string[] = []
    const ask = (_args: object, { toolCallId }: { toolCallId: string }) => runs.push(toolCallId)
    const ends = await Promise.all([one, other].map((client) => client.runClientTools(id, { ask })))
    expect(ends.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED'])
    expect(runs.length).toBe(8)
    expect(new Set(runs).size).toBe(8)
    one.close()
    other.close()
  })

  test('another program that answers first is no error of the run', async () => {
    const client = clientOf(first())
    const id = await start('call ask {"word":"a"}\nthen\nsay done')
    const statuses: SubmissionStatus[] = []
    const ask = async () => {
      await deployment.fixtures.answer(id, 'from elsewhere')
      return 'too late'
    }
    const generation = await client.runClientTools(
      id,
      { ask },
      { onSubmitted: (_call, status) => statuses.push(status) },
    )
    expect(generation.status).toBe('COMPLETED')
    expect((await callsOf(id))[0]!.content[0].text).toBe('from elsewhere')
    // The generation may be over before the refusal is heard.
    expect(statuses.filter((status) => status !== 'REFUSED')).toEqual([])
    client.close()
  })

  test('answers that are lost on the way are given again, identically, and no tool runs twice', async () => {
    const runs: string[] = []
    const statuses: SubmissionStatus[] = []
    let lost = 0
    // The repeats are heard before the generation is over.
    const id = await start(`${asks(4)}\nthen\n${asks(4)}\nthen\nslow 2s before\nsay done`)
    const losing: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (!String(init?.body).includes('submitToolOutputs') || ++lost % 2 === 0) return response
      throw new TypeError('the answer was lost')
    }
    const client = clientOf(first(), undefined, { fetch: losing })
    const ask = (_args: object, { toolCallId }: { toolCallId: string }) => runs.push(toolCallId)
    const generation = await client.runClientTools(
      id,
      { ask },
      { onSubmitted: (_call, status) => statuses.push(status) },
    )
    expect(generation.status).toBe('COMPLETED')
    expect(runs.length).toBe(8)
    expect(new Set(runs).size).toBe(8)
    expect((await callsOf(id)).every(({ status }) => status === 'SUCCEEDED')).toBe(true)
    expect(statuses).toContain('UNCHANGED')
    expect(statuses).not.toContain('REFUSED')
    client.close()
  })

  test('a run ends well while its connections are cut at random places', async () => {
    const proxy = await startCuttable(last().url)
    const client = clientOf(proxy)
    const id = await start(Array.from({ length: 8 }, () => asks(2)).join('\nthen\n') + '\nthen\nsay done')
    const runs: string[] = []
    const ask = (_args: object, { toolCallId }: { toolCallId: string }) => {
      setTimeout(() => proxy.cut(), random() * 40)
      return runs.push(toolCallId)
    }
    const generation = await client.runClientTools(id, { ask })
    expect(generation.status).toBe('COMPLETED')
    expect(runs.length).toBe(16)
    expect(new Set(runs).size).toBe(16)
    client.close()
    await proxy.close()
  })

  test('a signal stops tools and work; the call is not run again in this process', async () => {
    const client = clientOf(first())
    const id = await start('call ask {"word":"a"}\nthen\nsay done')
    const stop = new AbortController()
    let runs = 0
    let heard: unknown = null
    const ask = (_args: object, { signal }: { signal: AbortSignal }) =>
      new Promise<never>(() => {
        runs++
        signal.addEventListener('abort', () => (heard = signal.reason))
        stop.abort(new Error('shutting down'))
      })
    await expect(client.runClientTools(id, { ask }, { signal: stop.signal })).rejects.toThrow('shutting down')
    expect(heard).toBe(stop.signal.reason)
    expect((await first().until(id, ['REQUIRES_ACTION']))['status']).toBe('REQUIRES_ACTION')
    const generation = await client.runClientTools(id, { ask })
    expect(generation.status).toBe('COMPLETED')
    expect(runs).toBe(1)
    expect((await callsOf(id))[0]!.content[0].text).toMatch(
      /interrupted .* whether it took effect is not known/,
    )
    client.close()
  })

  test('a tool that takes too long is given up with an error, before the deadline of the server', async () => {
    const client = clientOf(first())
    const id = await start('call ask {"word":"a"}\ncall tell {"word":"b"}\nthen\nsay done', {
      clientTimeoutMs: 60_000,
    })
    const deadlines: number[] = []
    const forever = (_args: object, { deadline }: { deadline: Date | null }) => {
      deadlines.push(deadline!.getTime() - Date.now())
      return new Promise<never>(() => {})
    }
    const generation = await client.runClientTools(id, { ask: forever, tell: forever }, { timeoutMs: 50 })
    expect(generation.status).toBe('COMPLETED')
    for (const ms of deadlines) expect(ms).toBeGreaterThan(30_000)
    expect(
      (await callsOf(id)).every(({ isError, content }) => isError && /in time/.test(content[0].text)),
    ).toBe(true)
    client.close()
  })

  test('a run that is cancelled tells its tools and comes back', async () => {
    const client = clientOf(first())
    const id = await start('call ask {"word":"a"}\nthen\nsay done')
    let aborted = false
    const ask = async (_args: object, { signal }: { signal: AbortSignal }) => {
      signal.addEventListener('abort', () => (aborted = true))
      await client.cancelGeneration(id, 'not needed')
      return new Promise<never>(() => {})
    }
    expect((await client.runClientTools(id, { ask })).status).toBe('CANCELLED')
    expect(aborted).toBe(true)
    client.close()
  })

  test('a generation that does not exist is refused at once', async () => {
    const client = clientOf(first())
    await expect(client.runClientTools('gen_01234567890123456789012345', {})).rejects.toBeInstanceOf(
      NotFoundError,
    )
    client.close()
  })
})
