/** The fields of a tool: each declared once, with all that follows for who gives, keeps, approves and sees it. */
import { hashJson, type JsonObject, writeJson, type Json } from '../../core/json.ts'
import { bareSchema } from '../../core/schema-walk.ts'
import { exactVersion, looseningHints, serverName } from '../upstream/index.ts'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { jsonObject, text, whole } from '../../core/check.ts'
import { bundle, field, requiredField, type StoredOf } from '../../core/field-list.ts'
import { choice, optional, part } from '../../core/shapes.ts'
import { gateInput } from '../gates/index.ts'
import { hasActions, noConfigs, schemaInput, seenConfigs, storeConfig, toolConfig } from './tool-kinds.ts'

/** What an upstream or the installation says about an action of a tool. */
export interface ActionFacts {
  name: string
  inputSchema: JsonObject
  outputSchema?: JsonObject | null
  annotations?: object | null
}

/** By action: an action and the catalog that it comes from never change. */
const hashes = new WeakMap<ActionFacts, string>()

/** A hash of what is judged in an action: its name, its schemas without annotations, and the hints that loosen a rule. */
export function judgedActionHash(action: ActionFacts): string {
  const hash = hashes.get(action) ?? hashJson(judgedParts(action))
  hashes.set(action, hash)
  return hash
}

function judgedParts({ name, inputSchema, outputSchema, annotations }: ActionFacts): JsonObject {
  return {
    name,
    inputSchema: bareSchema(inputSchema),
    outputSchema: outputSchema ? bareSchema(outputSchema) : null,
    annotations: hintsOf((annotations ?? {}) as JsonObject),
  }
}

/** The hints among annotations that loosen a rule. */
function hintsOf(annotations: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(looseningHints).flatMap((hint) =>
      annotations[hint] === undefined ? [] : [[hint, annotations[hint]!]],
    ),
  )
}

const maxLength = 64
const pattern = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/

/** Whether a text is a valid tool name, which every model provider accepts. */
export function isToolName(name: string): boolean {
  return pattern.test(name)
}

/**
 * The name that a model sees: its parts joined with `_`, so that `["github", "create_issue"]` is `github_create_issue`.
 * Always valid, and always the same for the same parts. A name that would be too long or contain characters that models
 * refuse is repaired and ends in eight hex digits of a hash of the parts, so that two tools get two names. Callers keep
 * a map from names to callables; a name is never split.
 */
export function runtimeName(parts: readonly string[]): string {
  const joined = parts.join('_')
  if (isToolName(joined)) return joined
  const hash = createHash('sha256').update(writeJson(parts)).digest('hex').slice(0, 8)
  const legal = joined.replace(/[^a-zA-Z0-9_-]/g, '_').replace(/^(?![a-zA-Z_])/, '_')
  return `${legal.slice(0, maxLength - hash.length - 1)}_${hash}`
}

/** The names that occur more than once, each once, in order of their first repetition. */
export function collisions(names: Iterable<string>): string[] {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) repeated.add(name)
    seen.add(name)
  }
  return [...repeated]
}

const presetLimits = [64 * 1024, 20] as const
const taskMode = choice(
  'TaskMode',
  'Whether calls over MCP become tasks (extension io.modelcontextprotocol/tasks).',
  {
    NEVER: 'Calls never become tasks: the client waits for the result.',
    OPTIONAL: 'Calls become tasks when the client supports tasks and the result takes long.',
    REQUIRED: 'Calls always become tasks: clients without support for tasks may not call the tool.',
  },
)
export const inputPhase = choice(
  'InputPhase',
  'When the client receives input requests (elicitation) of an upstream server.',
  {
    BEFORE_TASK:
      'The client receives early input requests in the tools/call request, before the task is created.',
    IN_TASK: 'The client receives input requests inside the task.',
  },
)

/** How calls over MCP become tasks (extension io.modelcontextprotocol/tasks). */
export const taskPolicy = part('TaskPolicy', 'How calls of a tool over MCP become tasks.', {
  mode: taskMode.describe('Whether calls become tasks.'),
  inputPhase: inputPhase.describe('When the client receives input requests of an upstream server.'),
})
export type TaskPolicy = z.output<typeof taskPolicy>
export const taskDefaults: TaskPolicy = { mode: 'OPTIONAL', inputPhase: 'BEFORE_TASK' }
const task = part('TaskPolicyInput', 'How calls of a tool over MCP become tasks.', {
  mode: optional(taskMode.describe('Whether calls become tasks.'), taskDefaults.mode),
  inputPhase: optional(
    inputPhase.describe('When the client receives input requests of an upstream server.'),
    taskDefaults.inputPhase,
  ),
})

/** Hints for clients (MCP ToolAnnotations). The operator's also decide `idempotent` when it is not set. */
export const annotations = part(
  'ToolAnnotationsInput',
  'Hints about the behaviour of a tool, as in MCP; left out or null: no hint.',
  {
    title: text(200).nullish().describe('The display name of the tool, as in MCP.'),
    readOnlyHint: z.boolean().nullish().describe('Whether the tool only reads and changes nothing.'),
    destructiveHint: z.boolean().nullish().describe('Whether the tool may perform destructive updates.'),
    idempotentHint: z
      .boolean()
      .nullish()
      .describe('Whether repeating a call with the same arguments has no further effect.'),
    openWorldHint: z
      .boolean()
      .nullish()
      .describe('Whether the tool interacts with an open world of external entities.'),
  },
)
export type ToolAnnotations = WithoutNulls<z.output<typeof annotations>>

/** The version of a server in an MCP registry from which a tool was imported. */
export const registryEntry = part(
  'RegistryEntry',
  'The entry of an MCP registry that a tool was imported from.',
  {
    name: serverName.describe('The name of the server in the registry, such as io.github.user/weather.'),
    version: exactVersion.describe('The exact version that was imported.'),
  },
)
const entryInput = part('RegistryEntryInput', 'An entry of an MCP registry.', registryEntry.shape)

export const toolFields = {
  name: requiredField(
    text(64, 1)
      .refine(isToolName, 'must match ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$')
      .describe('The name of the tool, unique in the project; it matches ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$.'),
    {
      shown:
        'The name of the tool, unique in the project. Models see it, or {name}_{action} for a tool with actions.',
      loosens: false,
      seen: true,
    },
  ),
  title: field(text(200).describe('The display name of the tool.'), {
    otherwise: 'none',
    or: null,
    judged: false,
    shown: 'The display name of the tool; null when it has none.',
    loosens: false,
    seen: true,
  }),
  description: field(text(8000).describe('The description that the model reads to choose the tool.'), {
    otherwise: 'none',
    or: null,
    judged: false,
    shown: 'The description that the model reads to choose the tool; null when it has none.',
    loosens: false,
    seen: true,
  }),
  presetParameters: field(
    jsonObject(...presetLimits).describe(
      'Fixed arguments by top-level name: hidden from models and clients, and not to be overridden.',
    ),
    {
      otherwise: 'none',
      or: {},
      shown: null,
      loosens: true,
      seen: (own, masking) => masking?.values(own) ?? own,
    },
  ),
  outputSchema: field(
    schemaInput().describe(
      'The JSON Schema of a structured result; a result that does not match becomes an error.',
    ),
    {
      otherwise: 'none',
      or: null,
      judged: (own) => own && bareSchema(own),
      shown: 'The JSON Schema of a structured result; null: none.',
      loosens: false,
      seen: true,
    },
  ),
  annotations: field(annotations.describe('Hints about the behaviour of the tool, as in MCP.'), {
    otherwise: 'none',
    or: {},
    shown: null,
    keep: (given): ToolAnnotations => withoutNulls(given),
    judged: (own) => hintsOf(own as JsonObject),
    loosens: true,
    seen: true,
  }),
  timeoutMs: field(whole(1, 600_000).describe('Maximum time of one call in milliseconds, 1 to 600,000.'), {
    otherwise: 'that of the installation',
    or: null,
    judged: false,
    shown: 'Maximum time of one call in milliseconds; null: that of the installation.',
    loosens: false,
    seen: true,
  }),
  idempotent: field(z.boolean().describe('Whether a call may be repeated after a crash.'), {
    otherwise: 'by method and annotations',
    or: null,
    shown: 'Whether a call may be repeated after a crash; null: by HTTP method and annotations.',
    loosens: false,
    seen: true,
  }),
  gate: field(gateInput.describe('The policy that stops calls for approval.'), {
    otherwise: 'every call with destructiveHint, else no call',
    or: null,
    shown: null,
    loosens: true,
    seen: true,
  }),
  agentsOnly: field(
    z
      .boolean()
      .describe(
        'Whether only agents may call the tool: callTool is refused, so that the gate of an agent applies.',
      ),
    {
      otherwise: 'false',
      or: false,
      loosens: true,
      shown:
        'Whether only agents may call the tool: callTool is refused, so that the gate of an agent applies.',
      seen: true,
    },
  ),
  task: field(task.describe('How calls over MCP become tasks.'), {
    otherwise: `mode ${taskDefaults.mode}`,
    or: null,
    shown: null,
    keep: (given): TaskPolicy => ({ ...taskDefaults, ...withoutNulls(given) }),
    loosens: false,
    seen: true,
  }),
  registryEntry: field(
    entryInput.describe('The entry of an MCP registry that describes the server; importServer sets it.'),
    {
      otherwise: 'none',
      or: null,
      judged: false,
      shown: null,
      loosens: false,
      seen: true,
    },
  ),
  config: bundle(toolConfig.describe('The kind of the tool with its settings.'), {
    keep: storeConfig,
    judged: ({ inputSchema, ...own }) =>
      ({ ...own, inputSchema: bareSchema(inputSchema) }) as unknown as Json,
    shown: null,
    or: { kind: undefined, inputSchema: undefined, ...noConfigs },
    loosens: true,
    seen: ({ kind, inputSchema, ...own }, masking) => ({
      inputSchema: hasActions(kind) ? null : (masking?.schema(inputSchema) ?? inputSchema),
      ...seenConfigs(own, masking),
    }),
  }),
}

type WithoutNulls<Value> = { [Name in keyof Value]?: NonNullable<Value[Name]> }

function withoutNulls<Value extends object>(value: Value): WithoutNulls<Value> {
  return Object.fromEntries(
    Object.entries(value).filter(([, v]) => v !== null && v !== undefined),
  ) as WithoutNulls<Value>
}

/** Everything about a tool that affects its calls. Each change makes a new version. */
export interface ToolDefinition extends StoredOf<typeof toolFields> {}
