/** How providers refuse a tool whose schema they do not take: each in its own words, by its place or by its name. */
import type { ErrorAnswer } from './strict-provider.ts'
import type { Wire } from './wire-frames.ts'

type Body = Record<string, any>

/** The tools of a request in order, as this wire format sends them. */
export function sentTools(wire: Wire, { tools = [] }: Body): { name: string; description?: string }[] {
  if (wire === 'google') return tools.flatMap((tool: Body) => tool['functionDeclarations'] ?? [])
  return wire === 'compatible' ? tools.map((tool: Body) => tool['function']) : tools
}

export const sentNames = (wire: Wire, body: Body) => sentTools(wire, body).map(({ name }) => name)

type Words = (tool: { name: string; place: number }) => Omit<ErrorAnswer, 'status'>

/** The words of real providers. OpenAI says both, its relays often only one; a name beside Anthropic's wire is a relay's. */
const words: Record<'name' | 'place', Record<Wire, Words>> = {
  name: {
    openai: ({ name, place }) => ({
      message: `Invalid schema for function '${name}': In context=('properties', 'value'), schema must have a 'type' key.`,
      code: 'invalid_function_parameters',
      param: `tools[${place}].parameters`,
    }),
    anthropic: ({ name }) => ({
      message: `The tool "${name}" has an input_schema that is not supported by this model.`,
    }),
    google: ({ name }) => ({
      message: `Unable to submit request because \`${name}\` functionDeclaration \`parameters.value\` schema didn't specify the schema type field. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling`,
      code: 'INVALID_ARGUMENT',
    }),
    compatible: ({ name }) => ({
      message: `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: null'.`,
    }),
  },
  place: {
    openai: ({ place }) => ({
      message: `Invalid 'tools[${place}].parameters': schema must have a 'type' key.`,
      code: 'invalid_function_parameters',
    }),
    anthropic: ({ place }) => ({
      message: `tools.${place}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).`,
    }),
    google: ({ place }) => ({
      message: `* GenerateContentRequest.tools[0].function_declarations[${place}].parameters.properties: should be non-empty for OBJECT type\n`,
      code: 'INVALID_ARGUMENT',
    }),
    compatible: ({ place }) => ({
      message: `[{'type': 'missing', 'loc': ('body', 'tools', ${place}, 'function', 'parameters', 'type'), 'msg': 'Field required'}]`,
      code: 'BadRequestError',
    }),
  },
}

/** A rule for `StrictProvider.refuse`: the first of these tools that is sent is refused, as each provider does. */
export function refusing(by: 'name' | 'place', names: readonly string[]) {
  return (wire: Wire, body: Body): ErrorAnswer | null => {
    const sent = sentNames(wire, body)
    const place = sent.findIndex((name) => names.includes(name))
    return place < 0 ? null : { status: 400, ...words[by][wire]({ name: sent[place]!, place }) }
  }
}
