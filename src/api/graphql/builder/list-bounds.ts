/** The maximum length of each list of the schema: it sets the cost of the field, and longer lists are cut. */
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
 * The maximum number of entries of every list that is not a connection. Most are bounded when they are stored; the
 * others are cut here. Building the schema throws for a list that is missing.
 */
export const listMaxima: Record<string, number> = {
  'Agent.activeToolIds': 128,
  'Agent.agentIds': 50,
  'Agent.agents': 50,
  'Agent.collidingNames': 100,
  'Agent.leftOut': 40,
  'Agent.stepRules': 50,
  'Agent.stopConditions': 50,
  'Agent.toolIds': 1000,
  'Agent.tools': 1000,
  'AgentSettings.activeToolIds': 128,
  'AgentSettings.agentIds': 50,
  'AgentSettings.agents': 50,
  'AgentSettings.stepRules': 50,
  'AgentSettings.stopConditions': 50,
  'AgentSettings.toolIds': 1000,
  'AgentSettings.tools': 1000,
  'GenerationSettings.activeToolIds': 128,
  'GenerationSettings.agentIds': 50,
  'GenerationSettings.agents': 50,
  'GenerationSettings.stepRules': 50,
  'GenerationSettings.stopConditions': 50,
  'GenerationSettings.toolIds': 1000,
  'GenerationSettings.tools': 1000,
  'GenerationInput.clientTools': 64,
  'GenerationInput.messages': 1000,
  'InputMessage.attachments': 20,
  'ServerImportPayload.changes': 100,
  'ThreadMessage.attachments': 20,
  'Approval.votes': 10,
  'ApprovalTally.groups': 50,
  'ApprovalAsked.agents': 5,
  'ApprovalAsked.messages': 6,
  'CallSummary.parts': 200,
  'DecideApprovalsPayload.outcomes': 50,
  'Approval.maskedPaths': 200,
  'GatePolicy.approvers': 5,
  'GatePreview.calls': 200,
  'GatePreview.newlyPassingCalls': 20,
  'GatePreview.newlyStoppedCalls': 20,
  'GateRequirement.approvers': 10,
  'Generation.failedAttempts': 200,
  'Generation.steps': 101,
  'Generation.toolCalls': 500,
  'GenerationTally.groups': 50,
  'HeldChange.changes': 10,
  'McpTool.actions': 1000,
  'McpTool.allow': 1000,
  'McpTool.deny': 1000,
  'McpTool.gates': 1000,
  'McpRelay.prompts': 100,
  'McpRelay.resources': 100,
  'PlatformTool.actions': 200,
  'Query.modelProviders': 200,
  'Query.nodes': 100,
  'Query.platformActions': 200,
  'Query.rateLimits': 1000,
  'RequiredAction.approvals': 200,
  'RequiredAction.toolCalls': 200,
  'RequiresActionEvent.toolCalls': 200,
  'Secret.allowedHosts': 50,
  'Secret.usedBy': 100,
  'Statistics.buckets': 400,
  'Statistics.spending': 100,
  'Statistics.tools': 50,
  'SlackIntegration.users': 200,
  'Step.failedAttempts': 5,
  'Step.leftOut': 40,
  'Step.toolCalls': 100,
  'StepRule.activeToolIds': 128,
  'SubmitToolOutputsPayload.outcomes': 100,
  'TestUpstreamPayload.tools': 1000,
  'ToolCall.attachments': 20,
  'Trigger.nextTimes': 3,
  'RemovedGeneration.calls': 500,
  'RemovedCall.votes': 10,
  'ToolCall.attempts': 10,
  'ToolCall.editedArguments': 1000,
  'Upstream.notes': 50,
  'Upstream.tools': 1000,
  'UpstreamAuth.allowedScopes': 100,
  'Webhook.types': 100,
  'Webhook.recipients': 20,
  'WebhookDelivery.answers': 8,
  'WebhookAnswer.headers': 20,
  'UpstreamAuth.scopes': 100,
  'Version.changes': 100,
  'UpstreamChangedEvent.added': 1000,
  'UpstreamChangedEvent.changed': 1000,
  'UpstreamChangedEvent.removed': 1000,
  'EndSessionsPayload.sessions': 50,
  'Viewer.permissions': 100,
  'Viewer.sessions': 50,
  'ValidationError.issues': 100,
  'ValidationIssue.path': 100,
}

/** The cost of a field of JSON, in units of a plain field. The answer meter counts its actual size. */
export const jsonCost = 5
/** Entries of a list of scalars that together cost 1. */
const plainPerField = 20
/** Bytes that the answer meter counts for each entry, in addition to its fields. */
const entryBytes = 32

const json = new Set(['JSON', 'JSONObject', 'JSONSchema'])

/**
 * Sets the cost of lists and JSON fields, cuts lists at their maximum and adds it to their descriptions. Mutates the
 * schema.
 */
export function boundLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (type.name.startsWith('__') || !(isObjectType(type) || isInterfaceType(type))) continue
    for (const field of Object.values(type.getFields()) as Field[]) {
      if (isListType(getNullableType(field.type))) limitList(type.name, field)
      else if (json.has(getNamedType(field.type).name)) setCost(field, jsonCost)
    }
  }
  return schema
}

type Field = GraphQLField<unknown, { answer: AnswerMeter }>

function setCost(field: Field, complexity: unknown): void {
  field.extensions = { ...field.extensions, complexity }
}

function limitList(typeName: string, field: Field): void {
  // The field that returns a connection counts and limits its entries.
  if (typeName.endsWith('Connection')) return
  const name = `${typeName}.${field.name}`
  const max = listMaxima[name]
  if (max === undefined) throw new Error(`The list ${name} has no maximum in list-bounds.ts.`)
  const stated = field.extensions['complexity']
  const counted = typeof stated === 'function'
  if (!counted) {
    const plain = isLeafType(getNamedType(field.type))
    setCost(field, { field: plain ? 1 + Math.ceil(max / plainPerField) : 1, multiplier: max })
  }
  if (!/\bat most\b/i.test(field.description ?? '')) field.description += ` At most ${max} entries.`
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
