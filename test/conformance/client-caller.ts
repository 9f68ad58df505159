/** Somebody behind our upstream client who tries everything that the upstream offers, and answers all that it asks. */
import { newId } from '../../src/core/ids.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import type { Services } from '../../src/domain/access/index.ts'
import {
  callUpstream,
  getPrompt,
  loadUpstreams,
  readResource,
  type Relay,
  type UpstreamTool,
} from '../../src/domain/upstream/index.ts'

export interface Place {
  id: string
  projectId: string
}

interface Wanted {
  name: string
  arguments: JsonObject
}

const timeoutMs = 20_000
const mostRounds = 5
const clientCapabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} }

/** Calls the tools that are wanted, or else all, and reads the rest of the catalog; answers the codes of what failed. */
export async function useEverything(services: Services, place: Place, wanted: Wanted[]): Promise<string[]> {
  const { catalog } = (await loadUpstreams(services.db, [place.id])).get(place.id)!
  const everyTool = () =>
    catalog.tools.map((tool) => ({ name: tool.name, arguments: argumentsFor(tool, catalog.tools) }))
  const codes: string[] = []
  for (const call of wanted.length > 0 ? wanted : everyTool()) {
    const code = await callTool(services, place, call)
    if (code) codes.push(code)
  }
  const reading = { ...place, timeoutMs, relay: { clientCapabilities } }
  for (const { uri } of catalog.resources) await readResource(services, { ...reading, uri })
  for (const { name } of catalog.prompts) await getPrompt(services, { ...reading, name, arguments: {} })
  return codes
}

/** One call in as many rounds as the upstream wants; the code of its failure, or null. */
async function callTool(services: Services, place: Place, call: Wanted): Promise<string | null> {
  const ask: Relay['ask'] = async ({ method, params }) => answerTo(method, params)
  let relay: Relay = { clientCapabilities, ask }
  for (let round = 1; round <= mostRounds; round++) {
    const answer = await callUpstream(services, {
      ...place,
      tool: call.name,
      arguments: call.arguments,
      callId: newId('toolCall'),
      timeoutMs,
      relay,
    })
    if ('result' in answer) return codeOf(answer.result.structuredContent)
    const { inputRequests, requestState } = answer.inputRequired
    const answered = Object.entries(inputRequests).map(([key, request]) => {
      const { method, params } = request as { method: string; params: JsonObject }
      return [key, answerTo(method, params)]
    })
    const inputResponses = Object.fromEntries(answered) as JsonObject
    relay = { clientCapabilities, ask, inputResponses, ...(requestState === null ? {} : { requestState }) }
  }
  return 'too_many_rounds'
}

function codeOf(structured: Json | undefined): string | null {
  const error = isJsonObject(structured) ? structured['error'] : null
  return isJsonObject(error) && typeof error['code'] === 'string' ? error['code'] : null
}

function answerTo(method: string, params: JsonObject): JsonObject {
  if (method === 'roots/list') return { roots: [] }
  if (method === 'sampling/createMessage')
    return { role: 'assistant', content: { type: 'text', text: 'Yes.' }, model: 'none' }
  const schema = params['requestedSchema']
  return { action: 'accept', content: isJsonObject(schema) ? sampleOf(schema) : {} }
}

/** A tool that wants to see a schema gets the one of the tool beside it, as it stands in our catalog. */
function argumentsFor({ name, inputSchema }: UpstreamTool, tools: UpstreamTool[]): JsonObject {
  const made = sampleOf(inputSchema) as JsonObject
  const other = tools.find((tool) => tool.name !== name)
  return name.endsWith('schema_echo') && other ? { ...made, schema: other.inputSchema } : made
}

/** Something that the schema allows; its default where it has one. */
function sampleOf(schema: Json | undefined): Json {
  if (!isJsonObject(schema)) return 'sample'
  const { type, default: byDefault, enum: choices, properties } = schema
  if (byDefault !== undefined) return byDefault
  if (Array.isArray(choices)) return choices[0]!
  if (type === 'number' || type === 'integer') return 5
  if (type === 'boolean') return true
  if (type === 'array') return []
  if (type !== 'object') return 'sample'
  const inside = isJsonObject(properties) ? Object.entries(properties) : []
  return Object.fromEntries(inside.map(([key, value]) => [key, sampleOf(value)]))
}
