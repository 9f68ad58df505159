/**
 * Platform actions: every field of the schema that has an action mark, as a tool. The schema is the only list of them.
 */
import {
  execute,
  getNamedType,
  isInputObjectType,
  isUnionType,
  parse,
  type DocumentNode,
  type GraphQLField,
  type GraphQLSchema,
} from 'graphql'
import { errorResult, type ToolResult } from '../../../core/content.ts'
import { invalid, notFound } from '../../../core/errors.ts'
import { issuesIn, ownSchema } from '../../../core/json-schema.ts'
import {
  hashJson,
  isJsonObject,
  type Json,
  type JsonObject,
  readJson,
  writeJson,
} from '../../../core/json.ts'
import { asAppError, type PlatformAction, type PlatformActions } from '../../../domain/access/index.ts'
import type { Models } from '../../../domain/models/index.ts'
import type { ActionMark } from '../builder/action-mark.ts'
import { schemaOfResult } from '../builder/action-result.ts'
import { schemaOfInputs } from '../builder/action-schema.ts'
import { makeContext } from '../builder/context.ts'
import { schemaOf } from '../types/schema.ts'

interface SchemaAction extends PlatformAction {
  field: string
  document: DocumentNode
  /** Whether the arguments are the fields of one `input`, as those of every mutation are. */
  wrapsInput: boolean
}

/** The platform actions in the order of the schema. `models` is called each time an action runs. */
export function makeActions(models: () => Models): PlatformActions {
  const schema = schemaOf()
  const actions = actionsIn(schema)
  const byName = new Map(actions.map((one) => [one.name, one]))
  return {
    list: () => actions,
    find: (name) => byName.get(name) ?? null,
    async run(ctx, name, args) {
      const action = byName.get(name)
      if (!action) throw notFound('action', name)
      const issues = issuesIn(action.inputSchema, ctx.principal.projectId, args)
      if (issues.length > 0)
        throw invalid(issues.map((issue) => ({ ...issue, path: ['arguments', ...issue.path] })))
      const result = await execute({
        schema,
        document: action.document,
        variableValues: action.wrapsInput ? { input: args } : args,
        contextValue: makeContext(ctx, models(), ctx.requestId),
      })
      const [error] = result.errors ?? []
      if (error) return failureOf(error.originalError ?? error)
      return resultOf((result.data as JsonObject)[action.field]!)
    },
  }
}

/** The fields of a schema that are actions. */
export function actionsIn(schema: GraphQLSchema): SchemaAction[] {
  return [
    ...Object.values(schema.getQueryType()?.getFields() ?? {}).flatMap((field) => actionOf('query', field)),
    ...Object.values(schema.getMutationType()!.getFields()).flatMap((field) => actionOf('mutation', field)),
  ]
}

function actionOf(kind: 'query' | 'mutation', field: GraphQLField<unknown, unknown>): SchemaAction[] {
  const mark = field.extensions['action'] as ActionMark | undefined
  if (!mark) return []
  const wrapsInput = kind === 'mutation'
  const input = field.args[0]?.type
  const inner = input ? getNamedType(input) : undefined
  const inputs = wrapsInput && isInputObjectType(inner) ? Object.values(inner.getFields()) : field.args
  const definition = {
    name: field.name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    description: field.description ?? field.name,
    inputSchema: ownSchema(schemaOfInputs(inputs)),
    annotations:
      kind === 'query' ? { readOnlyHint: true } : { destructiveHint: field.name.startsWith('delete') },
  }
  const document = parse(documentOf(kind, field, mark.selection))
  return [
    {
      ...definition,
      outputSchema: schemaOfResult(field, document),
      hash: hashJson(definition),
      loosening: mark.loosening,
      field: field.name,
      document,
      wrapsInput,
    },
  ]
}

function documentOf(kind: string, field: GraphQLField<unknown, unknown>, selection: string): string {
  const declared = field.args.map((arg) => `$${arg.name}: ${String(arg.type)}`).join(', ')
  const passed = field.args.map((arg) => `${arg.name}: $${arg.name}`).join(', ')
  const brackets = (text: string) => (text ? `(${text})` : '')
  const type = getNamedType(field.type)
  const payload = isUnionType(type) && type.getTypes().find((member) => member.name.endsWith('Payload'))
  const of = payload
    ? `{ __typename ... on ${payload.name} ${selection} ... on Error { message code }
        ... on ValidationError { issues { path message } } }`
    : selection
  return `${kind} ${brackets(declared)} { ${field.name}${brackets(passed)} ${of} }`
}

/** The payload as a tool result. A refusal is a result with isError, so that the caller's model can react to it. */
function resultOf(output: Json): ToolResult {
  const plain = readJson(writeJson(output)) as Json
  if (!isJsonObject(plain)) return { content: [{ type: 'text', text: writeJson(plain) }], isError: false }
  const { __typename: type, ...value } = plain
  if (typeof type === 'string' && type.endsWith('Error')) {
    const { code, message, ...more } = value
    return errorResult(String(code).toLowerCase(), String(message), more)
  }
  return {
    content: [{ type: 'text', text: writeJson(value) }],
    structuredContent: value,
    isError: false,
  }
}

function failureOf(error: unknown): ToolResult {
  const known = asAppError(error)
  if (!known) throw error
  // What it wrote may have been committed: no result.
  if (known.code === 'UNAVAILABLE') throw known
  const { action } = known.details
  return errorResult(known.code.toLowerCase(), known.message, action ? { action } : {})
}
