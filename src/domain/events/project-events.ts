/**
 * Events of the project itself and its resources: API keys, webhooks, Slack, pauses, retention, secrets, model
 * providers and files. They never have a secret value.
 */
import {
  event,
  projectOnly,
  ofRequester,
  deciderField,
  deciderId,
  id,
  name,
  reason,
  target,
  word,
} from './define.ts'
import { withExample } from '../../core/shapes.ts'

const of = { log: projectOnly, group: 'project' } as const

export const projectUpdated = event('PROJECT_UPDATED', {
  ...of,
  about: 'The settings of the project were changed.',
  data: {},
})

const ofKey = { ...of, data: { apiKeyId: id('The id of the API key.', 'key_1') } }

export const apiKeyCreated = event('API_KEY_CREATED', {
  object: 'ApiKey',
  ...ofKey,
  about: 'An API key was created.',
})
export const apiKeyAccepted = event('API_KEY_ACCEPTED', {
  object: 'ApiKey',
  ...ofKey,
  about: 'The invitation to an API key was accepted.',
})
export const apiKeyRevoked = event('API_KEY_REVOKED', {
  object: 'ApiKey',
  ...ofKey,
  about: 'An API key was revoked.',
})

const webhook = { webhookId: id('The id of the webhook.', 'whk_1') }
const ofWebhook = { ...of, data: webhook }
/** How deliveries go is not sent to webhooks, which would cause more of these events. */
const ofDeliveries = { ...ofWebhook, unsent: true } as const

export const webhookCreated = event('WEBHOOK_CREATED', {
  object: 'Webhook',
  ...ofWebhook,
  about: 'A webhook was created.',
})
export const webhookUpdated = event('WEBHOOK_UPDATED', {
  object: 'Webhook',
  ...ofWebhook,
  about: 'A webhook was changed or enabled, or its secret was rotated.',
})
export const webhookDeleted = event('WEBHOOK_DELETED', {
  object: 'Webhook',
  ...ofWebhook,
  about: 'A webhook was deleted.',
})
export const webhookDisabled = event('WEBHOOK_DISABLED', {
  ...of,
  about: 'A webhook was disabled and keeps its place in the log.',
  data: {
    ...webhook,
    // A request disabled it, it answered 410, every delivery failed for days, or retention removed events before it.
    reason: reason(['BY_REQUEST', 'GONE', 'FAILING', 'BEHIND'], 'GONE'),
  },
})
export const webhookCursorExpired = event('WEBHOOK_CURSOR_EXPIRED', {
  object: 'Webhook',
  ...ofWebhook,
  about:
    'The event at the place of a webhook is not in the log any more; the webhook goes on with the events after it, ' +
    'and what was removed before it was sent is lost to it.',
})
export const webhookFailing = event('WEBHOOK_FAILING', {
  object: 'Webhook',
  ...ofDeliveries,
  about:
    'The endpoint of a webhook is taken to be down: everything that was sent to it has failed several times in a row. ' +
    'Not sent to webhooks.',
})
export const webhookRecovered = event('WEBHOOK_RECOVERED', {
  object: 'Webhook',
  ...ofDeliveries,
  about: 'The endpoint of a webhook that was failing has accepted an event. Not sent to webhooks.',
})
export const webhookDeliveryDead = event('WEBHOOK_DELIVERY_DEAD', {
  object: 'Webhook',
  ...ofDeliveries,
  about:
    'A delivery of a webhook has failed for the last time and is sent again only by redeliverWebhook. At most one such ' +
    'event an hour for a webhook. Not sent to webhooks.',
})

const slack = { integrationId: id('The id of the Slack integration.', 'slk_1') }

export const slackSet = event('SLACK_SET', {
  object: 'Slack',
  ...of,
  about: 'The Slack integration of the project was set, or a Slack user was linked or unlinked.',
  data: slack,
})
export const slackDeleted = event('SLACK_DELETED', {
  object: 'Slack',
  ...of,
  about: 'The Slack integration of the project was deleted.',
  data: slack,
})
export const slackDisabled = event('SLACK_DISABLED', {
  ...of,
  about: 'The Slack integration was disabled and keeps its place in the log.',
  data: {
    ...slack,
    // A request disabled it, Slack refused its token, or the channel, or retention removed events before it.
    reason: reason(['BY_REQUEST', 'TOKEN_REVOKED', 'REFUSED', 'BEHIND'], 'TOKEN_REVOKED'),
  },
})

const pause = { pauseId: id('The id of the pause.', 'pse_1'), target, decidedBy: deciderField }

export const pauseStarted = event('PAUSE_STARTED', {
  ...of,
  about: 'A person paused the project, an agent or a tool: nothing of it is sent until the pause ends.',
  data: { ...pause, name },
})
export const pauseEnded = event('PAUSE_ENDED', {
  ...of,
  about: 'A person ended a pause: what waited goes on where it stopped.',
  data: pause,
})

const hold = { holdId: id('The id of the legal hold.', 'hold_1'), target, decidedBy: deciderId }

export const retentionChanged = event('RETENTION_CHANGED', {
  ...of,
  about: 'The retention of the project was changed.',
  data: { decidedBy: deciderId },
})
export const legalHoldPut = event('LEGAL_HOLD_PUT', {
  object: 'LegalHold',
  ...of,
  about: 'A legal hold was put.',
  data: hold,
})
export const legalHoldLifted = event('LEGAL_HOLD_LIFTED', {
  object: 'LegalHold',
  ...of,
  about: 'A legal hold was lifted.',
  data: hold,
})

const ofRemoval = {
  ...of,
  data: {
    removalId: id('The id of the request.', 'rem_1'),
    requester: id('The id of the API key or person whose data is meant.', 'key_2'),
  },
}

export const dataRemovalRequested = event('DATA_REMOVAL_REQUESTED', {
  object: 'DataRemoval',
  ...ofRemoval,
  about: 'The removal of the data of a requester was requested.',
})
export const dataRemovalFinished = event('DATA_REMOVAL_FINISHED', {
  object: 'DataRemoval',
  ...ofRemoval,
  about: 'The data of a requester was removed, except for what must stay.',
})

const group = 'resources'
const resource = word('The name of the secret or model provider.', 'KEY')
const secret = { log: projectOnly, group, data: { name: resource } } as const
const provider = { ...secret, data: { name: withExample(resource.clone(), 'compatible') } }
const file = {
  log: ofRequester,
  group,
  data: { fileId: id('The id of the file.', 'file_1'), name: word('The name of the file.', 'a.txt') },
} as const

/** Events of secrets, model providers and files. They name what changed, and never have a value. */
export const secretSet = event('SECRET_SET', {
  object: 'Secret',
  ...secret,
  about: 'A secret was created, or its value or hosts were replaced. The event never has a value.',
})
export const secretDeleted = event('SECRET_DELETED', {
  object: 'Secret',
  ...secret,
  about: 'A secret was deleted.',
})

export const providerSet = event('PROVIDER_SET', {
  object: 'Provider',
  ...provider,
  about: 'A model provider was created or replaced.',
})
export const providerDeleted = event('PROVIDER_DELETED', {
  object: 'Provider',
  ...provider,
  about: 'A model provider was deleted.',
})

export const fileCreated = event('FILE_CREATED', {
  object: 'File',
  ...file,
  about: 'A file was announced; an upload of its bytes may follow.',
})
export const fileUploaded = event('FILE_UPLOADED', {
  object: 'File',
  ...file,
  about: 'The bytes of a file were uploaded.',
})
export const fileDeleted = event('FILE_DELETED', { object: 'File', ...file, about: 'A file was deleted.' })
