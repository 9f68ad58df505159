/** What `gatehouse connect` asks for: messages for the MCP server that it offers, and their answers back. */
import { z } from 'zod'
import { check, text } from '../../core/check.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { answerMessage, leave, nextMessages, noteChange } from '../../domain/upstream/index.ts'
import type { ApiCall, ApiReply, ApiRoute, AuthenticatedApi } from './authenticated-api.ts'

const instance = text(64, 1)
const asked = z.strictObject({ instance })
const answered = z.strictObject({
  instance,
  id: z.uuid(),
  /** Null: it was too large to send. */
  answer: z
    .custom<JsonObject>((value) => isJsonObject(value), 'must be an object with a "result" or an "error"')
    .nullable(),
})

/** One path for each operation, below the name of the connector. */
export const connectorsApi: AuthenticatedApi = {
  resource: '/connectors',
  routes: [
    route('next', asked, async (call, input) => {
      const messages = await nextMessages(call.request.ctx, input, call.request.disconnected)
      return { status: 200, body: { messages } }
    }),
    route('answer', answered, async ({ request }, input) => {
      await answerMessage(request.ctx, input)
      return { status: 204 }
    }),
    route('changed', asked, async ({ request }, input) => {
      await noteChange(request.ctx, input)
      return { status: 204 }
    }),
    route('leave', asked, async ({ request }, input) => {
      await leave(request.ctx, input)
      return { status: 204 }
    }),
  ],
  errorBody: ({ code, message }) => ({ error: { code, message } }),
}

function route<Shape extends z.ZodType<object>>(
  what: string,
  shape: Shape,
  run: (call: ApiCall, input: z.infer<Shape> & { name: string }) => Promise<ApiReply>,
): ApiRoute {
  return {
    method: 'POST',
    path: `/connectors/{name}/${what}`,
    async run(call) {
      const body = check(shape, (await call.request.body()) ?? {}, [])
      const reply = await run(call, { ...body, name: call.params['name']! })
      // Kept open, connections to a replica that hangs would each cost a request its whole time.
      return { ...reply, headers: { connection: 'close' } }
    },
  }
}
