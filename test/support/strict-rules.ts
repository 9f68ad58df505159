/** What real providers refuse with a 400: the rules of the four wire formats, checked on every request. */
import type { Wire } from './wire-frames.ts'

type Body = Record<string, any>

/** Seals issued in earlier responses, which must come back from the same model. */
export interface Issued {
  seals: Set<string>
  /** The seal before a call, and its issuer (`wire/model`), by call id. */
  byCall: Map<string, { seal: string; from: string }>
}

/** Why a real provider would refuse the request, or null. */
export function faultOf(wire: Wire, body: Body, issued: Issued): string | null {
  const found: string[] = []
  const refuse = (fault: string | false | null | undefined) => {
    if (fault) found.push(fault)
  }
  rules[wire](body, issued, refuse)
  return found[0] ?? null
}

type Refuse = (fault: string | false | null | undefined) => void

const rules: Record<Wire, (body: Body, issued: Issued, refuse: Refuse) => void> = {
  openai: responsesRules,
  anthropic: messagesRules,
  google: geminiRules,
  compatible: chatRules,
}

const toolName = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

function toolRules(tools: { name: string; schema: any; strict?: unknown }[], refuse: Refuse): void {
  const names = new Set<string>()
  for (const { name, schema } of tools) {
    refuse(!toolName.test(name) && `tools: the name ${name} is not allowed`)
    refuse(names.has(name) && `tools: the name ${name} is there twice`)
    names.add(name)
    partRules(name, schema, refuse)
    refuse(schema?.type !== 'object' && `tools.${name}: the schema must have type "object"`)
    for (const word of ['anyOf', 'oneOf', 'allOf', 'enum', 'not', '$ref'])
      refuse(schema?.[word] !== undefined && `tools.${name}: no ${word} at the top of a schema`)
  }
}

/** What providers refuse at any depth of a tool's schema. */
function partRules(name: string, schema: any, refuse: Refuse): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const property of Object.keys(schema.properties ?? {}))
    refuse(
      !/^[a-zA-Z0-9_.-]{1,64}$/.test(property) && `tools.${name}: the property ${property} is not allowed`,
    )
  refuse(schema.type === 'array' && !schema.items && `tools.${name}: array schema missing items`)
  refuse(Array.isArray(schema.items) && `tools.${name}: items is a list`)
  refuse(schema.prefixItems !== undefined && `tools.${name}: prefixItems is not supported`)
  refuse(/\\p\{|\(\?[=!<]/.test(String(schema.pattern)) && `tools.${name}: the pattern is not regular`)
  const { properties = {}, $defs = {}, definitions = {}, items, anyOf = [], oneOf = [], allOf = [] } = schema
  const parts = [properties, $defs, definitions].flatMap((map) => Object.values(map))
  for (const part of [...parts, items, ...anyOf, ...oneOf, ...allOf]) partRules(name, part, refuse)
}

/** Calls and results in one flat list: each call has its result, in order, before anything else. */
function pairingRules(items: { call?: string; result?: string; other?: boolean }[], refuse: Refuse): void {
  const seen = new Set<string>()
  let open: string[] = []
  for (const item of items) {
    if (item.call !== undefined) {
      refuse(seen.has(item.call) && `the call id ${item.call} is there twice`)
      seen.add(item.call)
      open.push(item.call)
    } else if (item.result !== undefined) {
      refuse(open[0] !== item.result && `the result ${item.result} does not answer the next open call`)
      open.shift()
    } else refuse(open.length > 0 && `the call ${open[0]} has no result`)
  }
  refuse(open.length > 0 && `the call ${open[0]} has no result`)
}

function objectText(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

function responsesRules(body: Body, issued: Issued, refuse: Refuse): void {
  const items: Body[] = body['input'] ?? []
  const reasons = /^(gpt-5|o\d)/.test(body['model'])
  refuse(body['stream'] !== true && 'stream: expected true')
  refuse(body['store'] !== false && 'store: history would live at the provider')
  const asksForSeal = (body['include'] ?? []).includes('reasoning.encrypted_content')
  refuse(asksForSeal && !reasons && 'Encrypted content is not supported with this model.')
  refuse(reasons && !asksForSeal && 'include: the reasoning would be lost')
  toolRules(
    (body['tools'] ?? []).map((tool: Body) => ({ name: tool['name'], schema: tool['parameters'] })),
    refuse,
  )
  for (const tool of body['tools'] ?? [])
    refuse(tool.strict !== false && `tools.${tool.name}: strict is not off`)
  pairingRules(
    items
      .filter((item) => item['type'] !== 'reasoning')
      .map((item) =>
        item['type'] === 'function_call'
          ? { call: item['call_id'] }
          : item['type'] === 'function_call_output'
            ? { result: item['call_id'] }
            : { other: true },
      ),
    refuse,
  )
  const seals = new Set(items.map((item) => item['encrypted_content']))
  items.forEach((item, i) => {
    refuse(item['type'] === 'item_reference' && `Item with id '${item['id']}' not found.`)
    if (item['type'] === 'function_call') {
      refuse(!objectText(item['arguments']) && `input[${i}].arguments is no JSON object`)
      const before = issued.byCall.get(item['call_id'])
      const own = before?.from === `openai/${body['model']}`
      refuse(own && !seals.has(before.seal) && `the reasoning before ${item['call_id']} is missing`)
    }
    if (item['type'] !== 'reasoning') return
    refuse(!item['encrypted_content'] && `Item with id '${item['id']}' not found. Items are not persisted.`)
    refuse(!issued.seals.has(item['encrypted_content']) && 'The encrypted content could not be verified.')
    const next = items[i + 1]
    const follows =
      next?.['type'] === 'function_call' || next?.['role'] === 'assistant' || next?.['type'] === 'reasoning'
    refuse(
      !follows &&
        `Item '${item['id']}' of type 'reasoning' was provided without its required following item.`,
    )
  })
}

function messagesRules(body: Body, issued: Issued, refuse: Refuse): void {
  const messages: Body[] = body['messages'] ?? []
  refuse(typeof body['max_tokens'] !== 'number' && 'max_tokens: Field required')
  toolRules(
    (body['tools'] ?? []).map((tool: Body) => ({ name: tool['name'], schema: tool['input_schema'] })),
    refuse,
  )
  const ids = new Set<string>()
  messages.forEach((message, i) => {
    const blocks: Body[] = Array.isArray(message['content']) ? message['content'] : []
    refuse(i > 0 && messages[i - 1]!['role'] === message['role'] && 'messages: roles must alternate')
    const uses = blocks.filter((block) => block['type'] === 'tool_use')
    for (const block of blocks) {
      refuse(
        block['type'] === 'text' &&
          block['text'].trim() === '' &&
          'messages: text content blocks must be non-empty',
      )
      const seal = block['type'] === 'thinking' ? block['signature'] : block['data']
      const thought = block['type'] === 'thinking' || block['type'] === 'redacted_thinking'
      refuse(thought && !issued.seals.has(seal) && 'messages: Invalid `signature` in `thinking` block')
      const media = block['type'] === 'image' ? block['source']?.media_type : 'image/png'
      refuse(!/^image\/(png|jpeg|gif|webp)$/.test(media) && `messages: media type ${media} is not allowed`)
    }
    for (const use of uses) {
      refuse(
        !/^[a-zA-Z0-9_-]+$/.test(use['id']) && `messages: the id ${use['id']} does not match the pattern`,
      )
      refuse(ids.has(use['id']) && 'messages: `tool_use` ids must be unique')
      ids.add(use['id'])
      refuse(typeof use['input'] !== 'object' && 'messages: tool_use.input must be an object')
      refuse(!body['tools']?.length && 'tools: must be defined when messages hold tool_use')
      const given = issued.byCall.get(use['id'])
      const seal = given?.from === `anthropic/${body['model']}` ? given.seal : null
      refuse(
        seal &&
          !blocks.some((block) => block['signature'] === seal || block['data'] === seal) &&
          'messages: a thinking block is missing',
      )
    }
    const next: Body[] = messages[i + 1]?.['content'] ?? []
    const answered = next
      .filter((block) => block['type'] === 'tool_result')
      .map((block) => block['tool_use_id'])
    const wanted = uses.map((use) => use['id'])
    refuse(
      wanted.join() !== (uses.length ? answered.slice(0, wanted.length).join() : '') &&
        'messages: `tool_use` ids were found without `tool_result` blocks immediately after',
    )
    refuse(
      uses.length > 0 &&
        answered.length !== uses.length &&
        'messages: unexpected `tool_use_id` found in `tool_result` blocks',
    )
    const previous: Body[] = messages[i - 1]?.['content'] ?? []
    const orphan =
      blocks.some((block) => block['type'] === 'tool_result') &&
      !previous.some?.((block) => block['type'] === 'tool_use')
    refuse(orphan && 'messages: a tool_result without its tool_use')
  })
}

/** The fields of Gemini's `Schema`. */
const geminiFields = new Set(
  (
    'type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength ' +
    'maxLength pattern example anyOf propertyOrdering default items minimum maximum'
  ).split(' '),
)

function geminiSchemaRules(name: string, schema: any, refuse: Refuse): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const field of Object.keys(schema))
    refuse(!geminiFields.has(field) && `Unknown name "${field}" at '${name}.parameters': Cannot find field.`)
  refuse(Array.isArray(schema.type) && `${name}.parameters.type: Proto field is not repeating`)
  for (const property of schema.required ?? [])
    refuse(schema.properties?.[property] === undefined && `${name}: required: property is not defined`)
  for (const value of schema.enum ?? [])
    refuse(typeof value !== 'string' && `Invalid value at '${name}.parameters.enum' (TYPE_STRING), ${value}`)
  const { properties = {}, items, anyOf = [] } = schema
  for (const part of [...Object.values(properties), items, ...anyOf]) geminiSchemaRules(name, part, refuse)
}

function geminiRules(body: Body, issued: Issued, refuse: Refuse): void {
  const contents: Body[] = body['contents'] ?? []
  const declared = (body['tools'] ?? []).flatMap((tool: Body) => tool['functionDeclarations'] ?? [])
  for (const tool of declared) {
    refuse(!toolName.test(tool.name) && `the name ${tool.name} is not allowed`)
    partRules(tool.name, tool.parameters ?? tool.parametersJsonSchema, refuse)
    geminiSchemaRules(tool.name, tool.parameters, refuse)
  }
  const strict = String(body['$model'] ?? '').startsWith('gemini-3')
  contents.forEach((content, i) => {
    const calls = content['parts'].filter((part: Body) => part['functionCall'])
    const answers = content['parts'].filter((part: Body) => part['functionResponse'])
    const next = (contents[i + 1]?.['parts'] ?? []).filter((part: Body) => part['functionResponse'])
    refuse(content['parts'].length === 0 && 'contents.parts must not be empty')
    const names = (parts: Body[], key: string) =>
      parts.map((part) => `${part[key].name}/${part[key].id ?? ''}`).join()
    refuse(
      calls.length > 0 &&
        names(calls, 'functionCall') !== names(next, 'functionResponse') &&
        'the number of function response parts must equal the number of function call parts of the function call turn',
    )
    const before = (contents[i - 1]?.['parts'] ?? []).some((part: Body) => part['functionCall'])
    refuse(
      answers.length > 0 &&
        !before &&
        'a function response turn must come immediately after a function call turn',
    )
    const signature = calls[0]?.thoughtSignature
    const known = issued.seals.has(signature) || signature === 'skip_thought_signature_validator'
    refuse(
      strict &&
        calls.length > 0 &&
        !signature &&
        'Function call is missing a thought_signature in functionCall parts.',
    )
    refuse(signature !== undefined && !known && 'Corrupted thought signature.')
  })
}

function chatRules(body: Body, _issued: Issued, refuse: Refuse): void {
  const messages: Body[] = body['messages'] ?? []
  toolRules(
    (body['tools'] ?? []).map((tool: Body) => ({
      name: tool['function'].name,
      schema: tool['function'].parameters,
    })),
    refuse,
  )
  pairingRules(
    messages.flatMap((message): { call?: string; result?: string; other?: boolean }[] => {
      if (message['role'] === 'tool') return [{ result: message['tool_call_id'] }]
      const calls: Body[] = message['tool_calls'] ?? []
      return [{ other: true }, ...calls.map((call) => ({ call: call['id'] as string }))]
    }),
    refuse,
  )
  for (const message of messages) {
    for (const call of message['tool_calls'] ?? [])
      refuse(!objectText(call.function.arguments) && 'tool_calls: the arguments are no JSON object')
    if (message['role'] !== 'tool') continue
    refuse(typeof message['content'] !== 'string' && 'tool: content must be a string')
    refuse(/[A-Za-z0-9+/]{200}/.test(message['content']) && 'tool: base64 in a tool result')
  }
  refuse(
    body['parallel_tool_calls'] !== undefined &&
      !body['tools'] &&
      'parallel_tool_calls is only allowed with tools',
  )
}
