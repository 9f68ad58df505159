/** What is on its way, what is set up in a project, and what was decided about it, table by table. */
import {
  apiKeys,
  idempotencyKeys,
  installation,
  keyUses,
  projects,
  pauses,
  rateBuckets,
  rateLimits,
  savedViews,
  secrets,
} from './access.ts'
import { agents, agentVersions } from './agents.ts'
import { grants, gateChanges } from './approvals.ts'
import { resourceSubscriptions, sessionLogLevels, connectorMessages, connectors } from './connectors.ts'
import { blobWrites } from './files.ts'
import { modelPrices, providers } from './generations.ts'
import {
  dataRemovals,
  feedStarts,
  legalHolds,
  removedBlobs,
  removedGenerations,
  retentions,
} from './retention.ts'
import { tools, toolVersions } from './tools.ts'
import { triggers, triggerStarts } from './triggers.ts'
import { personLogins, upstreamLogins, upstreams, upstreamTokens } from './upstreams.ts'
import { slackIntegrations, slackUsers } from './verdicts.ts'
import { webhookCursors, webhooks } from './webhooks.ts'
import { traitsOf, type TableTraits } from './traits.ts'

/** Rows of what is set up: they stay as long as that. */
const stays = {}

export const traitsOfSettings: readonly TableTraits[] = [
  // What is on its way, or counts for a time.
  traitsOf(
    idempotencyKeys,
    { soon: 'a day' },
    { fact: ['principalId', 'operation', 'requestHash', 'resultId'], content: ['key'] },
  ),
  traitsOf(
    connectorMessages,
    { soon: 'its answer' },
    { fact: ['takenBy'], setting: ['connector'], content: ['message', 'answer'] },
  ),
  traitsOf(connectors, { soon: 'a day without a sign' }, { fact: ['instance'], setting: ['name'] }),
  traitsOf(
    resourceSubscriptions,
    { soon: 'the end of the session' },
    { fact: ['threadId'], content: ['uri'] },
  ),
  traitsOf(sessionLogLevels, { soon: 'the end of the session' }, { fact: ['threadId', 'level'] }),
  traitsOf(triggerStarts, { soon: '8 days' }, { fact: ['triggerId', 'generationId'], content: ['key'] }),
  traitsOf(
    upstreamLogins,
    { soon: 'ten minutes' },
    { fact: ['stateHash', 'upstreamId', 'sealed', 'browserHash', 'startedBy', 'person'] },
  ),
  traitsOf(rateBuckets, { soon: 'it is full again' }, { fact: ['name'] }),
  traitsOf(blobWrites, { soon: 'the bytes are gone' }, { fact: ['key', 'fileId'] }),
  traitsOf(removedBlobs, { soon: 'the bytes are gone' }, { fact: ['key'] }),

  // What is set up, and what was decided about it.
  traitsOf(projects, stays, { setting: ['name'] }),
  traitsOf(apiKeys, stays, {
    fact: ['hash', 'prefix', 'role', 'agentId', 'joinedBy', 'account', 'person', 'createdBy'],
    setting: ['name', 'policy'],
  }),
  traitsOf(keyUses, stays, { fact: ['keyId'] }),
  traitsOf(installation, stays, { fact: ['commitShift', 'incarnation', 'earlier', 'fingerprint'] }),
  traitsOf(agents, stays, { setting: ['name', 'definition'] }),
  traitsOf(agentVersions, stays, { fact: ['agentId', 'createdBy'], setting: ['name', 'definition'] }),
  traitsOf(tools, stays, { fact: ['kind'], setting: ['name', 'definition'] }),
  // Those of tools that a run brought along go with it.
  traitsOf(
    toolVersions,
    { with: { run: 'by hand' } },
    { fact: ['toolId', 'createdBy'], content: ['definition'] },
  ),
  traitsOf(grants, stays, {
    fact: [
      'approvalId',
      'toolId',
      'action',
      'definitionHash',
      'scope',
      'argumentsHash',
      'agentId',
      'threadId',
      'requestedBy',
      'grantedBy',
      'revokedBy',
    ],
    setting: ['runtimeName', 'schema'],
  }),
  traitsOf(gateChanges, stays, {
    fact: ['target', 'status', 'proposedBy', 'decidedBy'],
    setting: ['change', 'note'],
  }),
  traitsOf(pauses, stays, { fact: ['target', 'pausedBy', 'endedBy'], setting: ['targetName', 'reason'] }),
  traitsOf(
    savedViews,
    { erased: { by: 'owner', what: 'ROWS' } },
    { fact: ['owner', 'createdBy'], setting: ['name', 'address'] },
  ),
  traitsOf(secrets, stays, { fact: ['sealed'], setting: ['name', 'allowedHosts'] }),
  traitsOf(providers, stays, {
    fact: ['kind'],
    setting: ['name', 'baseUrl', 'secretName', 'defaultModel', 'capabilities'],
  }),
  traitsOf(modelPrices, stays, { setting: ['model'] }),
  traitsOf(rateLimits, stays, { fact: ['scope', 'targetId'] }),
  traitsOf(triggers, stays, {
    fact: ['agentId', 'kind', 'status', 'secret', 'previousSecret', 'requestedBy', 'lastRunId'],
    setting: ['name', 'prompt', 'cron', 'timeZone', 'lastError'],
  }),
  traitsOf(upstreams, stays, {
    fact: ['status', 'catalogHash', 'listener'],
    setting: ['config', 'verdict', 'error', 'catalog'],
  }),
  traitsOf(upstreamTokens, stays, {
    fact: ['upstreamId', 'sealed', 'connectedBy', 'client'],
    setting: ['metadataUrl'],
  }),
  traitsOf(
    personLogins,
    { erased: { by: 'person', what: 'ROWS' } },
    { fact: ['upstreamId', 'person', 'sealed', 'client'], setting: ['metadataUrl'] },
  ),
  // The callback of a run or call goes with that.
  traitsOf(
    webhooks,
    { with: { run: 'by hand', call: 'by hand' } },
    {
      fact: ['secret', 'previousSecret', 'status', 'disabledReason', 'callbackOf', 'createdBy'],
      setting: ['description', 'types', 'recipients'],
      content: ['url'],
    },
  ),
  traitsOf(
    webhookCursors,
    { with: { webhook: 'webhookId' } },
    { fact: ['webhookId', 'status', 'generationId', 'toolCallId', 'mark'], setting: ['types'] },
  ),
  traitsOf(slackIntegrations, stays, {
    fact: ['teamId', 'botToken', 'signingSecret', 'status', 'disabledReason', 'mark', 'createdBy'],
    setting: ['teamName', 'channel', 'fault'],
  }),
  traitsOf(slackUsers, stays, { fact: ['principalId', 'createdBy'], setting: ['slackUserId'] }),

  // Retention itself.
  traitsOf(retentions, stays, { fact: ['status', 'lastRemoved', 'allRemoved'] }),
  traitsOf(feedStarts, stays, { fact: ['mark'] }),
  traitsOf(removedGenerations, stays, { fact: ['agentId', 'requestedBy', 'status'], setting: ['facts'] }),
  traitsOf(dataRemovals, stays, {
    fact: ['requester', 'requestedBy', 'removed', 'kept'],
    setting: ['reason'],
  }),
  traitsOf(legalHolds, stays, { fact: ['target', 'putBy', 'liftedBy'], setting: ['reason'] }),
]
