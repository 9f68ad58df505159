/** The context of resolvers: the caller's ctx for operations, and data loaders that batch the reads of one tick. */
import DataLoader from 'dataloader'
import type { GraphQLError } from 'graphql'
import type { Ctx, Quota } from '../../../domain/access/index.ts'
import {
  getApiKeys,
  getPersons,
  namePrincipals,
  loadKeyUses,
  unauthenticatedError,
  type ApiKey,
  type NamedPrincipal,
} from '../../../domain/access/index.ts'
import { getProjects, type Project } from '../../../domain/projects/index.ts'
import {
  getWebhooks,
  loadProgress,
  messagesOfDeliveries,
  type Delivery,
  type Message,
  type Progress,
  type Webhook,
} from '../../../domain/followers/index.ts'
import { createAnswerMeter, type AnswerMeter } from './answer-size.ts'
import {
  getApprovals,
  getGrants,
  loadPendingOf,
  whyNotDecide,
  type Approval,
  type Grant,
} from '../../../domain/approvals/index.ts'
import { getFiles, type StoredFile } from '../../../domain/files/index.ts'
import { collidingNames, getAgents, type Agent } from '../../../domain/agents/index.ts'
import {
  approvalContexts,
  getGenerations,
  getSteps,
  loadAskedUnder,
  loadFailedAttemptsOf,
  loadLeftOutOf,
  loadToolSizes,
  type AgentToolSize,
  loadTotalCosts,
  showStepsOf,
  loadTotalUsage,
  type ApprovalContext,
  type FailedAttempt,
  type Generation,
  type LeftOutTool,
  type Step,
  type TotalUsage,
} from '../../../domain/generations/index.ts'
import { type Thread, getThreads } from '../../../domain/threads/index.ts'
import { type SecretUse, usesOfSecrets } from '../../../domain/statistics/index.ts'
import type { Models } from '../../../domain/models/index.ts'
import { getGateChanges, type GateChange } from '../../../domain/gate-changes/index.ts'
import { getPauses, loadOpenPauses, loadPausesOfRuns, type Pause } from '../../../domain/pauses/index.ts'
import {
  loadConnections,
  loadPersonLogins,
  loadUpstreams,
  type Catalog,
  type Connection,
  type PersonLogins,
  type UpstreamState,
} from '../../../domain/upstream/index.ts'
import { getTriggers, type Trigger } from '../../../domain/triggers/index.ts'
import type { Secret } from '../../../domain/secrets/index.ts'
import { getTools, type Tool } from '../../../domain/tools/index.ts'
import {
  loadFailedCalls,
  getToolCalls,
  loadOpenCallsOf,
  showCallsOf,
  type ToolCall,
} from '../../../domain/tool-calls/index.ts'

export interface Loaders {
  projects: DataLoader<string, Project | null>
  apiKeys: DataLoader<string, ApiKey | null>
  persons: DataLoader<string, NamedPrincipal | null>
  /** By the id of a principal: there is one for every id, without a name when the caller may not see it. */
  principals: DataLoader<string, NamedPrincipal>
  tools: DataLoader<string, Tool | null>
  agents: DataLoader<string, Agent | null>
  generations: DataLoader<string, Generation | null>
  steps: DataLoader<string, Step | null>
  toolCalls: DataLoader<string, ToolCall | null>
  approvals: DataLoader<string, Approval | null>
  grants: DataLoader<string, Grant | null>
  gateChanges: DataLoader<string, GateChange | null>
  pauses: DataLoader<string, Pause | null>
  /** By the id of a project, agent or tool, which the resolver that loaded it has authorised: the pause that holds. */
  openPauses: DataLoader<string, Pause | null>
  /** By the id of a generation, likewise: a pause that holds it. */
  pausesOfRuns: DataLoader<string, Pause | null>
  files: DataLoader<string, StoredFile | null>
  threads: DataLoader<string, Thread | null>
  webhooks: DataLoader<string, Webhook | null>
  triggers: DataLoader<string, Trigger | null>
  /** By secret, which the resolver that loaded it has authorised: what the caller may see of its uses. */
  secretUses: DataLoader<Secret, SecretUse[], string>
  /** By the id of a key, which the resolver that loaded it has authorised: when it was last used. */
  keyUses: DataLoader<string, Date | null>
  /** By the id of a webhook, which the resolver that loaded it has authorised. */
  webhookProgress: DataLoader<string, Progress>
  /** What was sent with a delivery; null: its event is not in the log any more. */
  webhookMessages: DataLoader<Delivery, Message | null, string>
  /**
   * By the id of a generation, which the resolver that loaded it has authorised. The same for callsOf and openCallsOf.
   */
  stepsOf: DataLoader<string, Step[]>
  callsOf: DataLoader<string, ToolCall[]>
  openCallsOf: DataLoader<string, ToolCall[]>
  /** By the id of a tool, which the resolver that loaded it has authorised. */
  upstreams: DataLoader<string, (UpstreamState & { catalog: Catalog }) | null>
  /** The same: its OAuth tokens, without the tokens. */
  connections: DataLoader<string, Connection | null>
  /** The same: the logins of its people. */
  personLogins: DataLoader<string, PersonLogins>
  /** By agent, which the resolver that loaded it has authorised. */
  collidingNames: DataLoader<Agent, string[], string>
  toolSizes: DataLoader<Agent, AgentToolSize, string>
  leftOutOf: DataLoader<string, LeftOutTool[]>
  /** By approval, which the resolver that loaded it has authorised: why the caller may not decide it; null: it may. */
  whyNotDecide: DataLoader<Approval, string | null, string>
  /** By approval, which the resolver that loaded it has authorised: what led to its call, as far as the caller may read. */
  asked: DataLoader<Approval, ApprovalContext | null, string>
  /** Failed attempts at model responses, by the id of a generation, which the resolver that loaded it has authorised. */
  failedAttemptsOf: DataLoader<string, FailedAttempt[]>
  /** The pending approvals of a generation. */
  approvalsOf: DataLoader<string, Approval[]>
  /** Open calls that wait for a client or an approver, in the child runs of a generation. */
  askedUnder: DataLoader<string, ToolCall[]>
  /** How many calls of a generation have failed. */
  failedCalls: DataLoader<string, number>
  /** Tokens of a generation and all its child runs. */
  totalUsage: DataLoader<string, TotalUsage>
  /** What these tokens cost. */
  totalCosts: DataLoader<string, number | null>
}

export interface GraphQLContext {
  /** Counts the bytes of the response. */
  readonly answer: AnswerMeter
  /** The caller's ctx; throws UNAUTHENTICATED when the request has no valid credentials. */
  readonly ctx: Ctx
  /** The cost of the operation in points; null before operationGuard has computed it. */
  cost: { requested: number; taken: boolean; caller: Ctx } | null
  /** The remaining requests of the caller; null for an anonymous request. */
  quotas(): Quota | null
  /** Whether the request has no credentials. */
  readonly anonymous: boolean
  readonly models: Models
  readonly loaders: Loaders
  readonly requestId: string
  /**
   * The newest position of the event log before the operation read anything; only for operations that ask for
   * feedCursor.
   */
  newestPosition?: number
  /** Drops the cached rows: called for each event of a subscription, whose context lives as long as the stream. */
  renewLoaders(): void
}

/** The result of admitting a request before its body is read. */
export interface ServerContext {
  /** The context of resolvers. */
  prepared?: GraphQLContext
  /** Why the request is refused as a whole. */
  refusal?: GraphQLError
}

/** The default maximum size of a response, in bytes. */
const defaultMaxAnswerBytes = 8 * 1024 * 1024

/**
 * Creates the context of a request or a subscription. With caller null, every access to ctx or loaders throws
 * UNAUTHENTICATED.
 */
export function makeContext(
  caller: Ctx | null,
  models: Models,
  requestId: string,
  maxAnswerBytes = defaultMaxAnswerBytes,
): GraphQLContext {
  const answer = createAnswerMeter(maxAnswerBytes)
  let loaders: Loaders | null = null
  const callerOrThrow = () => {
    if (!caller) throw unauthenticatedError()
    answer.assertQuota()
    return caller
  }
  return {
    get ctx() {
      return callerOrThrow()
    },
    answer,
    anonymous: caller === null,
    cost: null,
    quotas: () => caller && caller.rates.quotas(caller.principal).requests,
    models,
    requestId,
    get loaders() {
      const ctx = callerOrThrow()
      return (loaders ??= makeLoaders(ctx))
    },
    renewLoaders() {
      loaders = null
      answer.renew()
    },
  }
}

function makeLoaders(ctx: Ctx): Loaders {
  const byId = <T>(load: (ctx: Ctx, ids: readonly string[]) => Promise<(T | null)[]>) =>
    new DataLoader<string, T | null>((ids) => load(ctx, ids), { maxBatchSize: 200 })
  const grouped = <T extends { generationId: string | null }>(
    load: (ids: readonly string[]) => Promise<T[]>,
  ) =>
    new DataLoader<string, T[]>(async (ids) => {
      const rows = await load(ids)
      return ids.map((id) => rows.filter((row) => row.generationId === id))
    })
  return {
    projects: byId(getProjects),
    apiKeys: byId(getApiKeys),
    persons: byId(getPersons),
    principals: new DataLoader((ids) => namePrincipals(ctx, ids), { maxBatchSize: 200 }),
    tools: byId(getTools),
    agents: byId(getAgents),
    generations: byId(getGenerations),
    threads: byId(getThreads),
    steps: byId(getSteps),
    toolCalls: byId(getToolCalls),
    approvals: byId(getApprovals),
    grants: byId(getGrants),
    gateChanges: byId(getGateChanges),
    pauses: byId(getPauses),
    openPauses: new DataLoader((ids) => loadOpenPauses(ctx.db, ids)),
    pausesOfRuns: new DataLoader((ids) => loadPausesOfRuns(ctx.db, ids)),
    files: byId(getFiles),
    webhooks: byId(getWebhooks),
    triggers: byId(getTriggers),
    secretUses: new DataLoader((secrets) => usesOfSecrets(ctx, secrets), { cacheKeyFn: ({ id }) => id }),
    keyUses: new DataLoader(async (ids) => {
      const found = await loadKeyUses(ctx.db, ids)
      return ids.map((id) => found.get(id) ?? null)
    }),
    webhookProgress: new DataLoader((ids) => loadProgress(ctx.db, ids)),
    webhookMessages: new DataLoader((deliveries) => messagesOfDeliveries(ctx, deliveries), {
      cacheKeyFn: ({ id }) => id,
      maxBatchSize: 40,
    }),
    upstreams: new DataLoader(async (ids) => {
      const found = await loadUpstreams(ctx.db, ids)
      return ids.map((id) => found.get(id) ?? null)
    }),
    connections: new DataLoader((ids) => loadConnections(ctx.db, ids)),
    personLogins: new DataLoader((ids) => loadPersonLogins(ctx, ids)),
    whyNotDecide: new DataLoader((approvals) => whyNotDecide(ctx, approvals), { cacheKeyFn: ({ id }) => id }),
    asked: new DataLoader((approvals) => approvalContexts(ctx, approvals), {
      cacheKeyFn: ({ id }) => id,
      maxBatchSize: 200,
    }),
    collidingNames: new DataLoader((agents) => collidingNames(ctx, agents), { cacheKeyFn: ({ id }) => id }),
    toolSizes: new DataLoader((agents) => loadToolSizes(ctx, agents), { cacheKeyFn: ({ id }) => id }),
    leftOutOf: new DataLoader((ids) => loadLeftOutOf(ctx.db, ids), { maxBatchSize: 200 }),
    stepsOf: grouped((ids) => showStepsOf(ctx.db, ids)),
    openCallsOf: grouped((ids) => loadOpenCallsOf(ctx.db, ids)),
    callsOf: grouped((ids) => showCallsOf(ctx.db, ids)),
    failedAttemptsOf: grouped((ids) => loadFailedAttemptsOf(ctx.db, ids)),
    approvalsOf: grouped((ids) => loadPendingOf(ctx.db, ids)),
    askedUnder: new DataLoader(async (ids) => {
      const found = await loadAskedUnder(ctx.db, ids)
      return ids.map((id) => found.filter(({ top }) => top === id).map(({ call }) => call))
    }),
    totalUsage: new DataLoader(async (ids) => {
      const found = new Map((await loadTotalUsage(ctx.db, ids)).map((usage) => [usage.id, usage]))
      return ids.map((id) => found.get(id)!)
    }),
    failedCalls: new DataLoader((ids) => loadFailedCalls(ctx.db, ids)),
    totalCosts: new DataLoader((ids) => loadTotalCosts(ctx.db, ids)),
  }
}
