/** The entry point of webhooks: endpoints that get every event of a project, at least once each. */
export { assertCallback, callbackSecret, callbackShape, insertCallback, type Callback } from './callbacks.ts'
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
export type { Answer } from './send.ts'
export { endWebhookLeases, forgetOldDeliveries, resealWebhooks } from './upkeep.ts'
export {
  deliveryStatuses,
  disabledReasons,
  loadProgress,
  webhookStatuses,
  type Delivery,
  type Progress,
  type Webhook,
} from './webhook.ts'
export { startWebhooks, type WebhookWorker } from './worker.ts'
