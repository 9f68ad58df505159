/**
 * Another agent asks ours for a refund over A2A: it reads the card, sends a message, is asked for a verdict, gives it, and
 * reads the text as it is written. Needs a running server (npm start) and GATEHOUSE_KEY as it was printed.
 */
import { randomUUID } from 'node:crypto'
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client'

const url = process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:4000'
const withKey = (input, init) => {
  const headers = new Headers(init?.headers)
  headers.set('authorization', `Bearer ${process.env.GATEHOUSE_KEY}`)
  return fetch(input, { ...init, headers })
}
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl: withKey })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl: withKey }),
  }),
)
const client = await factory.createFromUrl(`${url}/a2a/demo/`)

/** Sends one part, prints the text as it comes, and returns the task's id and its last status. */
async function send(content, taskId = '') {
  const parts = [{ content, filename: '', mediaType: '' }]
  const said = { messageId: randomUUID(), taskId, contextId: '', role: 1, parts }
  let [id, status] = [taskId, null]
  for await (const { payload } of client.sendMessageStream({
    tenant: '',
    message: { ...said, extensions: [], referenceTaskIds: [] },
  })) {
    if (payload?.$case === 'task') ({ id, status } = payload.value)
    if (payload?.$case === 'statusUpdate') status = payload.value.status
    if (payload?.$case === 'artifactUpdate')
      process.stdout.write(payload.value.artifact.parts.map((part) => part.content.value).join(''))
  }
  return { id, status }
}

const prompt = `call send_refund {"order_id":"A-17","amount":250}
then
say The money is on its way.`
const { id, status } = await send({ $case: 'text', value: prompt })
const question = status.message.parts.map((part) => part.content.value).find((one) => one.approvalId)

// In a real application a person decides: here the program that asked does, so that the example comes to an end.
console.log(`${question.name} ${JSON.stringify(question.arguments)} waits for a person: approving`)
const { approvalId } = question
await send(
  { $case: 'data', value: { approvalId, verdict: 'APPROVE', reason: 'checked with the customer' } },
  id,
)

const { artifacts } = await client.getTask({ tenant: '', id })
console.log(`\n${id}: ${artifacts.at(-1).parts[0].content.value}`)
