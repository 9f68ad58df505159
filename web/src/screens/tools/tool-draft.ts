/** A tool while it is edited: its fields as texts. Pure. */
import { writeJson } from '../../../../src/core/exact-json.ts'
import { draftOf, newPolicy, type Draft as GateDraft } from '../../parts/gate-draft.ts'
import { kinds, type Kind, type ToolDetail } from './documents.ts'
import { t } from '../../texts/texts.tsx'

export type Hint = 'none' | 'yes' | 'no'
export const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
export const authKinds = [
  'NONE',
  'AUTHORIZATION_CODE',
  'CLIENT_CREDENTIALS',
  'PRIVATE_KEY_JWT',
  'TOKEN_EXCHANGE',
] as const

export interface ToolDraft {
  name: string
  title: string
  description: string
  agentsOnly: boolean
  /** The gate that a new tool begins with. */
  gate: GateDraft
  timeoutMs: string
  idempotent: Hint
  outputSchema: string
  annotationTitle: string
  readOnlyHint: Hint
  destructiveHint: Hint
  idempotentHint: Hint
  openWorldHint: Hint
  taskMode: 'NEVER' | 'OPTIONAL' | 'REQUIRED'
  inputPhase: 'BEFORE_TASK' | 'IN_TASK'
  // From here on: the config of its kind.
  inputSchema: string
  /** Why the rows of the arguments cannot be saved as they are; empty: they can. */
  argumentFault: string
  method: (typeof methods)[number]
  url: string
  headers: string
  allow: string
  deny: string
  trustHints: boolean
  ownLogins: boolean
  relayResources: string
  relayPrompts: string
  authKind: (typeof authKinds)[number]
  authClientId: string
  authSecret: string
  authIssuer: string
  authScopes: string
  authAllowedScopes: string
  authOmitResource: boolean
  authAudience: string
  /** Whether the secret of an exchange is a private key. */
  authIsKey: boolean
  authAlgorithm: string
  actions: readonly string[]
}

const emptySchema = writeJson({ type: 'object', properties: {}, required: [] }, 2)

export const newDraft: ToolDraft = {
  name: '',
  title: '',
  description: '',
  agentsOnly: false,
  gate: draftOf({ ...newPolicy, mode: 'NEVER' }),
  timeoutMs: '',
  idempotent: 'none',
  outputSchema: '',
  annotationTitle: '',
  readOnlyHint: 'none',
  destructiveHint: 'none',
  idempotentHint: 'none',
  openWorldHint: 'none',
  taskMode: 'OPTIONAL',
  inputPhase: 'IN_TASK',
  inputSchema: emptySchema,
  argumentFault: '',
  method: 'POST',
  url: '',
  headers: '{}',
  allow: '',
  deny: '',
  trustHints: false,
  ownLogins: false,
  relayResources: '',
  relayPrompts: '',
  authKind: 'NONE',
  authClientId: '',
  authSecret: '',
  authIssuer: '',
  authScopes: '',
  authAllowedScopes: '',
  authOmitResource: false,
  authAudience: '',
  authIsKey: false,
  authAlgorithm: 'ES256',
  actions: [],
}

/** How the fields are called on screen. */
export const draftNames: Record<keyof ToolDraft, string> = {
  name: t('Name'),
  title: t('Title'),
  description: t('Description for the model'),
  agentsOnly: t('Only agents may call it'),
  gate: t('Gate'),
  timeoutMs: t('Time limit of a call'),
  idempotent: t('May be repeated after a crash'),
  outputSchema: t('Schema of the result'),
  annotationTitle: t('Title for MCP clients'),
  readOnlyHint: t('Only reads'),
  destructiveHint: t('Destructive'),
  idempotentHint: t('Repeating has no further effect'),
  openWorldHint: t('Open world'),
  taskMode: t('Tasks over MCP'),
  inputPhase: t('Input requests'),
  inputSchema: t('Schema of the arguments'),
  argumentFault: t('Rows of the arguments'),
  method: t('Method'),
  url: 'URL',
  headers: t('Headers'),
  allow: t('Serve only'),
  deny: t('Never serve'),
  trustHints: t('Trust its hints'),
  ownLogins: t('A login for each person'),
  relayResources: t('Resources for clients'),
  relayPrompts: t('Prompts for clients'),
  authKind: t('Signs in with'),
  authClientId: t('Client id'),
  authSecret: t('Secret'),
  authIssuer: t('Issuer'),
  authScopes: t('Scopes'),
  authAllowedScopes: t('Scopes it may ask for later'),
  authOmitResource: t('Leave the resource out'),
  authAudience: t('Audience'),
  authIsKey: t('The secret is a private key'),
  authAlgorithm: t('Algorithm'),
  actions: t('Actions'),
}

const hintOf = (value: boolean | null): Hint => (value === null ? 'none' : value ? 'yes' : 'no')
const json = (value: unknown): string => writeJson(value, 2)
const joined = (values: readonly string[] | null): string => (values ?? []).join('\n')
export const kindOf = (tool: { __typename: keyof typeof kinds }): Kind => kinds[tool.__typename]

/** The draft of a tool as it is. */
export function draftOfTool(tool: ToolDetail): ToolDraft {
  const { annotations, task } = tool
  const draft: ToolDraft = {
    ...newDraft,
    name: tool.name,
    title: tool.title ?? '',
    description: tool.description ?? '',
    agentsOnly: tool.agentsOnly,
    timeoutMs: tool.timeoutMs === null ? '' : String(tool.timeoutMs),
    idempotent: hintOf(tool.idempotent),
    outputSchema: tool.outputSchema ? json(tool.outputSchema) : '',
    annotationTitle: annotations.title ?? '',
    readOnlyHint: hintOf(annotations.readOnlyHint),
    destructiveHint: hintOf(annotations.destructiveHint),
    idempotentHint: hintOf(annotations.idempotentHint),
    openWorldHint: hintOf(annotations.openWorldHint),
    taskMode: task.mode,
    inputPhase: task.inputPhase,
  }
  const inputSchema = json(tool.fullInputSchema ?? tool.inputSchema ?? {})
  if (tool.__typename === 'HttpTool')
    return { ...draft, inputSchema, method: tool.method, url: tool.url, headers: json(tool.headers) }
  if (tool.__typename === 'ClientTool') return { ...draft, inputSchema }
  if (tool.__typename === 'PlatformTool')
    return { ...draft, actions: tool.actions.map(({ action }) => action) }
  return {
    ...draft,
    url: tool.url,
    headers: json(tool.headers),
    allow: joined(tool.allow),
    deny: joined(tool.deny),
    trustHints: tool.trustHints,
    ownLogins: tool.login === 'PER_PERSON',
    relayResources: joined(tool.relay.resources),
    relayPrompts: joined(tool.relay.prompts),
    authKind: tool.auth?.kind ?? 'NONE',
    authClientId: tool.auth?.clientId ?? '',
    authSecret: tool.auth?.secretName ?? '',
    authIssuer: tool.auth?.issuer ?? '',
    authScopes: (tool.auth?.scopes ?? []).join(' '),
    authAllowedScopes: (tool.auth?.allowedScopes ?? []).join(' '),
    authOmitResource: tool.auth?.omitResource ?? false,
    authAudience: tool.auth?.audience ?? '',
    authIsKey: tool.auth?.kind === 'TOKEN_EXCHANGE' && tool.auth.algorithm !== null,
    authAlgorithm: tool.auth?.algorithm ?? newDraft.authAlgorithm,
  }
}
