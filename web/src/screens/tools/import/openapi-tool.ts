/** The tool of one operation of an OpenAPI document. Pure. */
import { isObject } from '../../../../../src/core/exact-json.ts'
import type { Schema } from '../../../parts/schema-form-resolve.ts'
import type { CreateInput } from '../documents.ts'
import { reference } from './credentials.ts'
import { headersOf, type Parameter } from './openapi-headers.ts'
import { textOf, type Api, type Operation } from './openapi.ts'
import { inlinerOf, Unusable, type Inliner } from './openapi-schema.ts'
import { t } from '../../../texts/texts.tsx'

export interface Choices {
  /** Where the operations are, without a slash at the end. */
  base: string
  /** The name of the secret that requests are signed in with; empty: none. */
  secret: string
  /** Whether a person decides about each call. */
  asksFirst: boolean
}

export interface ToolOfOperation {
  input: Omit<CreateInput, 'projectId'>
  /** What the tool leaves out, a sentence each. */
  notes: string[]
}

/** Operations that change something, whose tools begin with a gate. */
export const changesThings = ({ method }: Pick<Operation, 'method'>): boolean =>
  method !== 'GET' && method !== 'HEAD'

/** The tool of an operation, or why there is none. */
export function toolOfOperation(
  api: Api,
  operation: Operation,
  choices: Choices,
): ToolOfOperation | { why: string } {
  try {
    return made(api, operation, choices)
  } catch (error) {
    if (error instanceof Unusable) return { why: error.message }
    throw error
  }
}

function made(api: Api, operation: Operation, { base, secret, asksFirst }: Choices): ToolOfOperation {
  const inliner = inlinerOf(api.root)
  const notes: string[] = []
  const parameters = parametersOf(operation, inliner)
  const body = bodyOf(operation, inliner, notes)
  const { url, used, optional } = urlOf(operation, parameters, base, body !== null, notes)
  const login = secret === '' ? null : api.login
  const headers = headersOf(parameters, api.login, notes)
  const { name, summary, description, method } = operation
  return {
    input: {
      name,
      ...(summary ? { title: summary.slice(0, 200) } : {}),
      description: (description || summary || `${method} ${operation.path}`).slice(0, 8000),
      annotations: {
        readOnlyHint: !changesThings(operation),
        ...(method === 'DELETE' ? { destructiveHint: true } : {}),
      },
      ...(asksFirst ? { gate: { mode: 'ALWAYS' } } : {}),
      config: {
        http: {
          method,
          url: withOptional(
            login?.in === 'query'
              ? withQuery(url, `${encodeURIComponent(login.name)}=${reference(secret)}`)
              : url,
            optional,
          ),
          headers: {
            ...headers,
            ...(login?.in === 'header' ? { [login.name]: `${login.prefix}${reference(secret)}` } : {}),
          },
          inputSchema: schemaOf(used, body, notes),
        },
      },
    },
    notes,
  }
}

function parametersOf({ raw, shared }: Operation, inliner: Inliner): Parameter[] {
  const own = Array.isArray(raw['parameters']) ? (raw['parameters'] as unknown[]) : []
  const found = new Map<string, Parameter>()
  for (const given of [...shared, ...own]) {
    const one = inliner.resolve(given)
    if (!isObject(one) || typeof one['name'] !== 'string' || one['name'] === '') continue
    const { name } = one
    const place = textOf(one['in'])
    const content = isObject(one['content']) ? Object.values(one['content'])[0] : null
    const schema = inliner.schema(one['schema'] ?? (isObject(content) ? content['schema'] : {}))
    const description = textOf(one['description'])
    found.set(`${place} ${name}`, {
      name,
      place,
      isRequired: one['required'] === true || place === 'path',
      schema: description === '' ? schema : { description, ...schema },
    })
  }
  return [...found.values()]
}

interface Body {
  schema: Schema
  isRequired: boolean
}

function bodyOf({ raw, method }: Operation, inliner: Inliner, notes: string[]): Body | null {
  const body = inliner.resolve(raw['requestBody'])
  if (!isObject(body)) return null
  if (method === 'GET' || method === 'HEAD' || method === 'DELETE') {
    notes.push(t('Its body is left out: a tool sends none with {method}.', { method }))
    return null
  }
  const content = isObject(body['content']) ? body['content'] : {}
  const json = Object.keys(content).find((type) => /^application\/(?:[\w.-]+\+)?json\b|^\*\/\*/i.test(type))
  if (json === undefined)
    throw new Unusable(
      t('Its body is {type}; a tool sends JSON.', {
        type: Object.keys(content)[0]?.slice(0, 60) ?? t('of no known type'),
      }),
    )
  const media = content[json]
  const schema = inliner.schema(isObject(media) ? media['schema'] : {})
  const { type } = schema
  const isThing = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
  if (!isThing || 'items' in schema)
    throw new Unusable(t('Its body is no object, so that it has no arguments by name.'))
  return { schema: flat(schema), isRequired: body['required'] === true }
}

/** An object whose parts are objects too as one, where that says the same. */
function flat(schema: Schema): Schema {
  const { allOf, ...own } = schema
  if (!Array.isArray(allOf)) return schema
  const parts = [own, ...allOf.map((part) => (isObject(part) ? flat(part) : { not: {} }))]
  const plain = new Set(['type', 'properties', 'required', 'title', 'description'])
  if (!parts.every((part) => Object.keys(part).every((name) => plain.has(name)))) return schema
  const names = parts.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : []))
  if (new Set(names).size < names.length) return schema
  return {
    ...own,
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Schema,
    required: [
      ...new Set(parts.flatMap(({ required }) => (Array.isArray(required) ? (required as unknown[]) : []))),
    ],
  }
}

/** The URL with its placeholders, and the parameters that become arguments. */
function urlOf(
  operation: Operation,
  parameters: readonly Parameter[],
  base: string,
  hasBody: boolean,
  notes: string[],
) {
  const { path, method } = operation
  const inPath = [...new Set([...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1]!))]
  const used = inPath.map(
    (name): Parameter =>
      parameters.find((one) => one.name === name && one.place === 'path') ?? {
        name,
        place: 'path',
        isRequired: true,
        schema: { type: 'string' },
      },
  )
  const sendsBody = hasBody || method === 'POST' || method === 'PUT' || method === 'PATCH'
  const query: string[] = []
  const optional: string[] = []
  for (const one of parameters) {
    if (one.place === 'query') {
      if (used.some(({ name }) => name === one.name))
        notes.push(t('The parameter {name} is in path and query; only the path gets it.', { name: one.name }))
      else if (!sendsBody) used.push(one)
      else if (one.isRequired && /^[^{}]+$/.test(one.name)) {
        query.push(`${encodeURIComponent(one.name)}={${one.name}}`)
        used.push(one)
      } else if (/^[^{},?&]+$/.test(one.name)) {
        optional.push(one.name)
        used.push(one)
      } else
        notes.push(
          t('The query parameter {name} is not imported: a URL cannot have its name.', { name: one.name }),
        )
    }
  }
  const address = `${operation.server ?? base}${path}`
  return { url: query.length === 0 ? address : withQuery(address, query.join('&')), used, optional }
}

/** The URL with arguments that its query has when they are given. */
const withOptional = (url: string, names: readonly string[]) =>
  names.length === 0 ? url : `${url}{${url.includes('?') ? '&' : '?'}${names.join(',')}}`

const withQuery = (url: string, query: string) => `${url}${url.includes('?') ? '&' : '?'}${query}`

/** One schema of parameters and body. */
function schemaOf(used: readonly Parameter[], body: Body | null, notes: string[]): Schema {
  const own = Object.fromEntries(used.map(({ name, schema }) => [name, schema]))
  const needed = used.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  if (!body) return { type: 'object', properties: own, required: needed }
  const { properties, required, type: _type, ...others } = body.schema
  const inBody = isObject(properties) ? properties : {}
  const twice = Object.keys(inBody).filter((name) => Object.hasOwn(own, name))
  for (const name of twice)
    notes.push(t('The argument {name} is in URL and body; only the URL gets it.', { name }))
  const wanted = body.isRequired && Array.isArray(required) ? (required as string[]) : []
  return {
    type: 'object',
    properties: { ...inBody, ...own },
    required: [...new Set([...needed, ...wanted])],
    ...others,
  }
}
