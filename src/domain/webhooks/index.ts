/** The entry point of webhooks: endpoints that get every event of a project, at least once each. */
export {
  assertCallback,
  callbackSecret,
  callbackShape,
  insertCallback,
  takeCallbackPlace,
  type Callback,
} from './callbacks.ts'
export {
  createWebhook,
  deleteWebhook,
  getWebhooks,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
  type CreateWebhookInput,
  type UpdateWebhookInput,
} from './operations.ts'
export { listDeliveries, redeliverWebhook, replayWebhook, testWebhook } from './resend.ts'
export { isRecipient, setWebhookRecipients, type SetRecipientsInput } from './recipients.ts'
export type { Answer } from './send.ts'
export { endWebhookLeases, forgetOldDeliveries, resealWebhooks } from './upkeep.ts'
export {
  deliveryStatuses,
  disabledReasons,
  loadProgress,
  webhookStatuses,
  type Delivery,
  type Progress,
  type Recipient,
  type Webhook,
} from './webhook.ts'
export { codeOf, readCode, readToken, verdictPath, type VerdictLink } from './verdict-link.ts'
export { startWebhooks, type WebhookWorker } from './worker.ts'
