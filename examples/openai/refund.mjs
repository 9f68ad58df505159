/**
 * OpenAI's own SDK speaks to an agent with another base URL: the refund stops at the gate, its question is an
 * mcp_approval_request, and the answer runs it. Needs a running server (npm start) and GATEHOUSE_KEY as it was printed.
 */
import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: `${process.env.GATEHOUSE_URL ?? 'http://127.0.0.1:4000'}/v1`,
  apiKey: process.env.GATEHOUSE_KEY,
})
// The client repeats a request whose response was lost: with a key of its own it starts one run.
client.idempotencyHeader = 'Idempotency-Key'

const asked = await client.responses.create({
  model: 'demo',
  input: `call send_refund {"order_id":"A-17","amount":250}
then
say The money is on its way.`,
})
const question = asked.output.find(({ type }) => type === 'mcp_approval_request')

// In a real application a person decides: here the program that asked does, so that the example comes to an end.
console.log(`${question.name} ${question.arguments} waits for a person: approving`)
const done = await client.responses.create({
  model: 'demo',
  previous_response_id: asked.id,
  input: [
    {
      type: 'mcp_approval_response',
      approval_request_id: question.id,
      approve: true,
      reason: 'checked with the customer',
    },
  ],
})
const refund = done.output.find(({ type }) => type === 'mcp_call')
console.log(`${refund.name}: ${refund.output}`)
console.log(`${done.status}: ${done.output_text}`)
