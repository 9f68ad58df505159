/** What people and runs leave, table by table. */
import { sessions, subjects } from './access.ts'
import { approvals } from './approvals.ts'
import { auditEntries, events } from './events.ts'
import { files } from './files.ts'
import {
  awaitedRequests,
  conversationPlaces,
  generations,
  modelAttempts,
  steps,
  threads,
} from './generations.ts'
import { toolCalls } from './tools.ts'
import { slackMessages, verdictTries } from './verdicts.ts'
import { webhookDeliveries, webhookReceipts } from './webhooks.ts'
import { traitsOf, type TableTraits } from './traits.ts'

export const traitsOfData: readonly TableTraits[] = [
  traitsOf(
    generations,
    { under: 'runDays', with: { run: 'by hand' } },
    {
      fact: [
        'agentId',
        'threadId',
        'status',
        'requestedBy',
        'requester',
        'trace',
        'parentId',
        'parentCallId',
        'rootId',
        'retryOfId',
        'stopReason',
        'errorCode',
        'model',
        'modelKind',
      ],
      content: [
        'settings',
        'input',
        'nextStep',
        'errorMessage',
        'outputText',
        'outputObject',
        'cancelReason',
        'search',
      ],
    },
  ),
  traitsOf(
    threads,
    { under: 'runDays', with: { run: 'by hand' } },
    { fact: ['agentId', 'createdBy', 'waitingId'], content: ['externalId', 'messages', 'waitingMessages'] },
  ),
  traitsOf(
    steps,
    { with: { run: 'generationId' } },
    {
      fact: ['generationId', 'model', 'modelKind', 'finishReason', 'usage', 'toolSize'],
      content: ['parts', 'surface', 'toolChoice', 'notice', 'elided', 'leftOut'],
    },
  ),
  traitsOf(
    modelAttempts,
    { with: { run: 'generationId' } },
    { fact: ['generationId', 'agentId', 'model', 'usage', 'errorCode'], content: ['errorMessage'] },
  ),
  traitsOf(
    awaitedRequests,
    { with: { run: 'generationId' } },
    { fact: ['principalId', 'operation', 'requestHash', 'generationId'] },
  ),
  traitsOf(
    conversationPlaces,
    { with: { run: 'generationId' } },
    { fact: ['principalId', 'hash', 'generationId'] },
  ),
  traitsOf(
    toolCalls,
    { under: 'runDays', with: { run: 'by hand', call: 'by hand' } },
    {
      fact: [
        'generationId',
        'providerCallId',
        'attempts',
        'source',
        'toolId',
        'kind',
        'action',
        'definitionHash',
        'childId',
        'status',
        'errorCode',
        'outputHash',
        'requestedBy',
        'requester',
        'trace',
        'agentId',
        'threadId',
        'requestHash',
        'approvalId',
        'grantId',
        'resolution',
        'resolvedBy',
      ],
      setting: ['agentGate'],
      content: [
        'runtimeName',
        'arguments',
        'argumentOrder',
        'rawArguments',
        'attachments',
        'result',
        'asked',
        'editedKeys',
        'masked',
      ],
    },
  ),
  traitsOf(
    approvals,
    { with: { run: 'generationId', call: 'toolCallId' } },
    {
      fact: [
        'toolCallId',
        'generationId',
        'agentId',
        'threadId',
        'toolId',
        'action',
        'definitionHash',
        'status',
        'digest',
        'requestedBy',
        'onApprove',
        'voidReason',
      ],
      setting: ['requirement'],
      // Names and addresses of those who voted go with these, too: see erasePerson.
      content: [
        'runtimeName',
        'arguments',
        'editedArguments',
        'masked',
        'question',
        'votes',
        'claim',
        'search',
      ],
    },
  ),
  traitsOf(
    verdictTries,
    { with: { approval: 'approvalId' } },
    { fact: ['approvalId', 'webhookId', 'principalId'] },
  ),
  traitsOf(
    slackMessages,
    { with: { approval: 'approvalId' } },
    { fact: ['approvalId', 'integrationId', 'channel', 'ts', 'shown'] },
  ),
  // Names of files are in events that belong to no run, and are erased there.
  traitsOf(
    events,
    { under: 'eventDays', with: { run: 'generationId' } },
    { fact: ['generationId', 'type', 'requestedBy'], content: ['data'] },
  ),
  traitsOf(
    files,
    { under: 'fileDays', with: { run: 'by hand', call: 'by hand' } },
    {
      fact: ['status', 'sha256', 'blobKey', 'etag', 'agentId', 'createdBy'],
      content: ['filename', 'contentType'],
    },
  ),
  traitsOf(
    webhookDeliveries,
    { under: 'deliveryDays', with: { event: 'eventId', webhook: 'webhookId' } },
    { fact: ['webhookId', 'cursorId', 'type', 'status'], content: ['answers'] },
  ),
  traitsOf(
    webhookReceipts,
    {
      with: { event: 'eventId', webhook: 'webhookId' },
      soon: '3 days, and the newest thousand of an endpoint',
    },
    { fact: ['webhookId', 'type'], content: ['answer'] },
  ),
  // Who did what is not erased: see the guide.
  traitsOf(
    auditEntries,
    { under: 'auditDays' },
    { fact: ['principalId', 'action', 'outcome'], setting: ['resource', 'details'] },
  ),
  traitsOf(
    subjects,
    { erased: { by: 'id', what: 'CONTENTS' } },
    { fact: ['role'], setting: ['issuer'], content: ['subject', 'name'] },
  ),
  traitsOf(
    sessions,
    { soon: 'its end', erased: { by: 'principalId', what: 'ROWS' } },
    { fact: ['hash', 'principalId', 'method', 'role'], content: ['remoteAddress', 'userAgent'] },
  ),
]
