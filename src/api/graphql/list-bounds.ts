/** What each list of the schema can hold at most, what it costs for that, and that it never gives more. */
import {
  defaultFieldResolver,
  getNamedType,
  getNullableType,
  isInterfaceType,
  isLeafType,
  isListType,
  isObjectType,
  type GraphQLField,
  type GraphQLSchema,
} from 'graphql'
import type { AnswerMeter } from './answer-size.ts'

/**
 * The most entries of every list that is no connection. Most are bounded where they are written; the others are cut here.
 * A list that is missing is a fault when the schema is built.
 */
export const listMaxima: Record<string, number> = {
  'Agent.activeToolIds': 128,
  'Agent.agentIds': 50,
  'Agent.agents': 50,
  'Agent.collidingNames': 100,
  'Agent.stepRules': 50,
  'Agent.stopConditions': 50,
  'Agent.toolIds': 1000,
  'Agent.tools': 1000,
  'Approval.votes': 10,
  'DecideApprovalsPayload.approvals': 50,
  'GatePolicy.approvers': 5,
  'GatePreview.newlyPassingCalls': 20,
  'GatePreview.newlyStoppedCalls': 20,
  'GateRequirement.approvers': 10,
  'Generation.steps': 101,
  'Generation.toolCalls': 500,
  'GenerationEventPage.nodes': 100,
  'McpTool.actions': 1000,
  'McpTool.allow': 1000,
  'McpTool.deny': 1000,
  'McpTool.gates': 1000,
  'McpRelay.prompts': 100,
  'McpRelay.resources': 100,
  'PlatformTool.actions': 200,
  'Query.nodes': 100,
  'Query.platformActions': 200,
  'Query.rateLimits': 1000,
  'RequiredAction.approvals': 200,
  'RequiredAction.toolCalls': 200,
  'RequiresActionEvent.toolCalls': 200,
  'Secret.allowedHosts': 50,
  'Step.toolCalls': 100,
  'StepRule.activeToolIds': 128,
  'SubmitToolOutputsPayload.outcomes': 100,
  'TestUpstreamPayload.tools': 1000,
  'ToolCall.attachments': 20,
  'ToolCall.attempts': 10,
  'ToolCall.editedArguments': 1000,
  'Upstream.notes': 50,
  'Upstream.tools': 1000,
  'UpstreamAuth.allowedScopes': 100,
  'UpstreamAuth.scopes': 100,
  'UpstreamChangedEvent.added': 1000,
  'UpstreamChangedEvent.changed': 1000,
  'UpstreamChangedEvent.removed': 1000,
  'ValidationError.issues': 100,
  'ValidationIssue.path': 100,
}

/** What a field of JSON costs: as much as several that hold a word. Its true size is counted in the answer. */
export const jsonCost = 5
/** Entries of a list of plain values that cost as much as a field. */
const plainPerField = 20
/** What an entry takes in an answer beside its fields, in bytes. */
const entryBytes = 32

const json = new Set(['JSON', 'JSONObject', 'JSONSchema'])

/** Gives lists and JSON their cost, cuts lists at their maximum, and says it in their descriptions. Changes the schema. */
export function boundLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (type.name.startsWith('__') || !(isObjectType(type) || isInterfaceType(type))) continue
    for (const field of Object.values(type.getFields()) as Field[]) {
      if (isListType(getNullableType(field.type))) bound(type.name, field)
      else if (json.has(getNamedType(field.type).name)) weigh(field, jsonCost)
    }
  }
  return schema
}

type Field = GraphQLField<unknown, { answer: AnswerMeter }>

function weigh(field: Field, complexity: unknown): void {
  field.extensions = { ...field.extensions, complexity }
}

function bound(typeName: string, field: Field): void {
  // The field that leads to a connection counts and bounds its entries.
  if (typeName.endsWith('Connection')) return
  const name = `${typeName}.${field.name}`
  const max = listMaxima[name]
  if (max === undefined) throw new Error(`The list ${name} has no maximum in list-bounds.ts.`)
  const stated = field.extensions['complexity']
  const counted = typeof stated === 'function' || name === 'GenerationEventPage.nodes'
  if (!counted) {
    const plain = isLeafType(getNamedType(field.type))
    weigh(field, { field: plain ? 1 + Math.ceil(max / plainPerField) : 1, multiplier: max })
  }
  if (!/\bat most\b/i.test(field.description ?? '')) field.description += ` At most ${max}.`
  const resolve = field.resolve ?? (defaultFieldResolver as NonNullable<Field['resolve']>)
  const cut = (value: unknown, { answer }: { answer: AnswerMeter }): unknown => {
    if (!Array.isArray(value)) return value
    answer.take(Math.min(value.length, max) * entryBytes)
    return value.length > max ? value.slice(0, max) : value
  }
  field.resolve = (source, args, context, info) => {
    const value: unknown = resolve(source, args, context, info)
    return value instanceof Promise ? value.then((settled) => cut(settled, context)) : cut(value, context)
  }
}
