/**
 * The kinds of tools. One entry says what is given, stored and shown of a kind; with the line in run.ts that runs its calls, a kind
 * is complete.
 */
import { z } from 'zod'
import { text } from '../../core/check.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import type { Masking } from '../../core/field-list.ts'
import { choice, oneOf, part, scalar } from '../../core/shapes.ts'
import { httpInput, httpMethod, httpOf } from './kinds/http-config.ts'
import { mcpInput, mcpOf } from './kinds/mcp-config.ts'

/** A JSON Schema as an input. */
export const schemaInput = () =>
  scalar(
    'JSONSchema',
    z.custom<JsonObject>((value) => isJsonObject(value), 'must be a JSON Schema object'),
  )
const inputSchema = schemaInput().describe('The JSON Schema of the arguments, preset parameters included.')
const headers = scalar('JSONObject', z.custom<Record<string, string>>())

/** `Stored` is null for a kind that stores nothing but the schema of its arguments. */
interface KindEntry<Input extends z.ZodType, Stored extends object | null> {
  /** The meaning of the kind, as a value of ToolKind. */
  about: string
  input: Input
  store(given: z.output<Input>): Stored
  /** Whether a tool of this kind has several actions, each with a schema of its own; else it has one, with the schema that is given. */
  hasActions: boolean
  /**
   * The stored value as a caller sees it; `masking` is null for one with the right to change the tool. Null where nothing is
   * stored.
   */
  seen: ((stored: NonNullable<Stored>, masking: Masking | null) => NonNullable<Stored>) | null
  /** The object type of GraphQL: its name, its description, and the stored fields that it shows as they are seen. */
  object: { name: string; about: string; fields: z.ZodRawShape }
}

const kind = <Input extends z.ZodType, Stored extends object | null>(entry: KindEntry<Input, Stored>) => entry

export const toolKinds = {
  http: kind({
    about: 'Gatehouse calls an HTTP endpoint.',
    input: httpInput(inputSchema).describe('A tool that calls an HTTP endpoint.'),
    store: httpOf,
    hasActions: false,
    seen: (http, masking) => ({
      ...http,
      headers: (masking?.values(http.headers) ?? http.headers) as typeof http.headers,
    }),
    object: {
      name: 'HttpTool',
      about: 'A tool that calls an HTTP endpoint.',
      fields: {
        url: z
          .string()
          .describe(
            'The URL with {placeholders} for arguments. At its end {?a,b}, or {&a,b} behind a query, are arguments that the ' +
              'query has when they are given.',
          ),
        method: httpMethod.describe('The HTTP method of the request.'),
        headers: headers.describe(
          'Static headers by name, with {{secret:NAME}} not replaced. Values are masked for an API key without tools:Update.',
        ),
      },
    },
  }),
  client: kind({
    about: 'The client application runs the tool: a generation pauses until its output is submitted.',
    input: part('ClientToolConfigInput', 'The config of a client tool, which the client application runs.', {
      inputSchema,
    }).describe('A tool that the client application runs.'),
    store: () => null,
    hasActions: false,
    seen: null,
    object: {
      name: 'ClientTool',
      about: 'A tool that the client application runs: a generation pauses until its output is submitted.',
      fields: {},
    },
  }),
  mcp: kind({
    about: 'Gatehouse calls an upstream MCP server: each tool of the server is an action.',
    input: mcpInput.describe('A tool that serves the tools of an upstream MCP server.'),
    store: mcpOf,
    hasActions: true,
    seen: (mcp, masking) =>
      masking ? { ...mcp, headers: masking.values(mcp.headers) as typeof mcp.headers, auth: null } : mcp,
    object: {
      name: 'McpTool',
      about:
        'An upstream MCP server as a tool: each tool of the server is an action, which models see as {name}_{mcpToolName}.',
      fields: {
        url: z.string().describe('The URL of the server, with {{secret:NAME}} not replaced.'),
        headers: headers.describe(
          'Static headers by name, with {{secret:NAME}} not replaced. Values are masked for an API key without tools:Update.',
        ),
        allow: z
          .array(z.string())
          .nullable()
          .describe('Names of the tools of the server that are served; null: all.'),
        deny: z.array(z.string()).describe('Names of the tools of the server that are never served.'),
        trustHints: z
          .boolean()
          .describe(
            'Whether readOnlyHint and idempotentHint of the server decide if a call is repeated after a crash.',
          ),
      },
    },
  }),
  platform: kind({
    about: 'Gatehouse runs its own operations: each is an action.',
    input: part(
      'PlatformToolConfigInput',
      'The config of a platform tool: operations of Gatehouse, run with the permissions of the caller.',
      {
        actions: z
          .array(text(100, 1))
          .min(1)
          .max(200)
          .describe('Names of platform actions, 1 to 200; the query platformActions lists them.'),
      },
    ).describe('A tool that runs operations of Gatehouse.'),
    store: ({ actions }) => ({ actions: [...new Set(actions)] }),
    hasActions: true,
    seen: (stored) => stored,
    object: {
      name: 'PlatformTool',
      about: 'A tool that runs operations of Gatehouse in process, with the permissions of the caller.',
      fields: {},
    },
  }),
}

type Kinds = typeof toolKinds
export type ToolKind = keyof Kinds
type Entry = KindEntry<z.ZodType, object | null>
const entries = Object.entries(toolKinds) as unknown as [ToolKind, Entry][]
const record = <Value>(of: (entry: Entry) => Value) =>
  Object.fromEntries(entries.map(([name, entry]) => [name, of(entry)])) as Record<ToolKind, Value>

export const toolKind = choice(
  'ToolKind',
  'The kind of a tool, which decides where calls run.',
  record(({ about }) => about),
)

export const toolConfig = oneOf(
  'ToolConfigInput',
  'The config of a tool: exactly one kind.',
  'give exactly one kind of config',
  record(({ input }) => input) as { [Name in ToolKind]: Kinds[Name]['input'] },
)

type StoredConfig<Name extends ToolKind> = ReturnType<Kinds[Name]['store']>
/** What is stored of each kind, under its name; null for a tool of another kind. */
export type ToolConfigs = {
  [Name in ToolKind as StoredConfig<Name> extends null ? never : Name]: StoredConfig<Name> | null
}
export const noConfigs = Object.fromEntries(
  entries.filter(([, { seen }]) => seen).map(([name]) => [name, null]),
) as ToolConfigs

/** What is stored of a config. Tools with several actions have a schema for each of them, and none of their own. */
export function storeConfig(
  given: z.output<typeof toolConfig>,
): { kind: ToolKind; inputSchema: JsonObject } & ToolConfigs {
  const [name, entry] = entries.find(([one]) => given[one])!
  const own = given[name] as { inputSchema?: JsonObject }
  const stored = entry.store(own)
  return {
    kind: name,
    inputSchema: own.inputSchema ?? { type: 'object' },
    ...noConfigs,
    ...(stored && { [name]: stored }),
  }
}

/** Whether a tool of this kind has several actions, each with a schema of its own. */
export const hasActions = (name: ToolKind): boolean => toolKinds[name].hasActions

/** What a caller sees of the stored configs. */
export const seenConfigs = (stored: ToolConfigs, masking: Masking | null): ToolConfigs => ({
  ...stored,
  ...Object.fromEntries(
    entries.flatMap(([name, { seen }]) => {
      const own = (stored as Partial<Record<ToolKind, object | null>>)[name]
      return own && seen ? [[name, seen(own, masking)]] : []
    }),
  ),
})
