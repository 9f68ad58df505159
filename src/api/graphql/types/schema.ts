/** Builds the schema from one file for each module of the domain. */
import type { GraphQLSchema } from 'graphql'
import * as access from '../../../domain/access/index.ts'
import * as agents from '../../../domain/agents/index.ts'
import * as approvals from '../../../domain/approvals/index.ts'
import * as calls from '../../../domain/calls/index.ts'
import * as codingAgents from '../../../domain/coding-agents/index.ts'
import * as files from '../../../domain/files/index.ts'
import * as followers from '../../../domain/followers/index.ts'
import * as gateChanges from '../../../domain/gate-changes/index.ts'
import * as generations from '../../../domain/generations/index.ts'
import * as models from '../../../domain/models/index.ts'
import * as pauses from '../../../domain/pauses/index.ts'
import * as projects from '../../../domain/projects/index.ts'
import * as retention from '../../../domain/retention/index.ts'
import * as secrets from '../../../domain/secrets/index.ts'
import * as signIn from '../../../domain/sign-in/index.ts'
import * as threads from '../../../domain/threads/index.ts'
import * as tools from '../../../domain/tools/index.ts'
import * as triggers from '../../../domain/triggers/index.ts'
import * as upstream from '../../../domain/upstream/index.ts'
import { addAgents } from './agents.ts'
import { addSummary } from './approval-objects.ts'
import { addApprovals, addGrants } from './approvals.ts'
import { meterAnswers } from '../builder/answer-size.ts'
import { addAudit, addKeys, addLimits, addSessions } from './access.ts'
import { builder } from '../builder/builder.ts'
import { addEventPages } from './event-pages.ts'
import { addEvents } from './events.ts'
import { addFiles, addProjects, addSavedViews, addSecrets } from './projects.ts'
import { addGateChanges, addGateTrials, addGateTypes } from './gates.ts'
import { addGenerationInput } from './generation-input.ts'
import { addGenerations } from './generations.ts'
import { boundLists } from '../builder/list-bounds.ts'
import { addNodes } from './nodes.ts'
import { addPauses } from './pauses.ts'
import { addProviders, addUsableProviders } from './providers.ts'
import { addProjectSummary, addStatistics } from './statistics.ts'
import { addOperations } from '../builder/operations.ts'
import { declareRefs } from '../builder/refs.ts'
import { addScalars } from '../builder/scalars.ts'
import { addSlack, addWebhooks } from './followers.ts'
import { addSubscriptions } from './subscriptions.ts'
import { addThreads } from './threads.ts'
import { addToolCalls } from './tool-calls.ts'
import { addTools } from './tools.ts'
import { addDataRemovals, addLegalHolds, addRetention } from './retention.ts'
import { addTriggers } from './triggers.ts'
import { addVersions } from './tool-objects.ts'
import { addViewer } from './viewer.ts'

let cached: GraphQLSchema | null = null

/** The schema, built once for each process. It holds no state. */
export function schemaOf(): GraphQLSchema {
  return (cached ??= build())
}

function build(): GraphQLSchema {
  addScalars(builder)
  builder.queryType({ description: 'The queries: everything that a caller can read.' })
  builder.mutationType({
    description: 'The mutations: each returns a union of its payload and typed errors.',
  })
  builder.subscriptionType({
    description: 'The subscriptions: each stream resumes after a cursor.',
  })
  const refs = declareRefs()
  addNodes(refs)
  addProjects(refs)
  addViewer(refs)
  addKeys(refs)
  addSessions(refs)
  addSecrets(refs)
  addSavedViews(refs)
  addAudit(refs)
  const gates = addGateTypes(refs)
  addGateTrials(refs, gates)
  addTools(refs, gates)
  addFiles(refs)
  addSummary(refs)
  addToolCalls(refs)
  addAgents(refs, gates)
  addVersions(refs)
  addGateChanges(refs)
  addApprovals(refs)
  addGrants(refs)
  const events = addEvents(refs)
  addSubscriptions(refs, events)
  addEventPages(refs, events)
  addWebhooks(refs, events)
  addSlack(refs)
  addGenerationInput(refs)
  addThreads(refs, addGenerations(refs, events))
  addTriggers(refs)
  addRetention(refs)
  addDataRemovals(refs)
  addLegalHolds(refs)
  addProjectSummary(refs)
  addPauses(refs)
  addProviders(refs)
  addUsableProviders(refs)
  addStatistics(refs)
  addLimits(refs)
  addOperations(
    refs,
    access,
    agents,
    approvals,
    calls,
    codingAgents,
    files,
    followers,
    gateChanges,
    generations,
    models,
    pauses,
    projects,
    retention,
    secrets,
    signIn,
    threads,
    tools,
    triggers,
    upstream,
  )
  return meterAnswers(boundLists(builder.toSchema()))
}
