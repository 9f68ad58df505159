/** The entry point of followers of the event log: webhooks, with verdict links, and Slack. */
export {
  assertCallback,
  callbackSecret,
  callbackSecretShape,
  callbackShape,
  secretForCallback,
  insertCallback,
  takeCallbackPlace,
  type Callback,
} from './webhooks/callbacks.ts'
export { createWebhook } from './webhooks/create.ts'
export {
  deleteWebhook,
  getWebhooks,
  listWebhooks,
  rotateWebhookSecret,
  updateWebhook,
  urlFor,
} from './webhooks/operations.ts'
export { listDeliveries, messagesOfDeliveries } from './webhooks/delivery-list.ts'
export { redeliverWebhook, replayWebhook, testWebhook } from './webhooks/resend.ts'
export { isSignedBy, newSecret, openSecret, sealSecret, type SignedMessage } from './webhooks/signature.ts'
export { setWebhookRecipients } from './webhooks/recipients.ts'
export {
  mostHeaders,
  WebhookAnswer,
  type Answer,
  type Message,
  answerHeader,
  answerShape,
} from './webhooks/send.ts'
export { forgetOldDeliveries, resealWebhooks } from './webhooks/endings.ts'
export {
  deliveryStatus,
  disabledReason,
  loadProgress,
  type Delivery,
  type Progress,
  Webhook,
  WebhookDelivery,
  recipientShape,
  webhookShape,
  deliveryShape,
} from './webhooks/webhook.ts'
export { passFollowers } from './behind.ts'
export { verdictPath, forgetOldTries } from './webhooks/verdict-link.ts'
export { startWebhooks, type WebhookWorker } from './webhooks/deliver.ts'
export { decideByLink, type LinkOutcome } from './webhooks/decide-by-link.ts'
export type { ChoiceField } from './choices.ts'
export { SlackIntegration, SlackUser, slackUser, integrationShape } from './slack/integration.ts'
export { serveInteraction, type SlackReply, type SlackRequest } from './slack/interactions.ts'
export { forgetOldMessages } from './slack/messages.ts'
export {
  deleteSlackIntegration,
  getSlackIntegration,
  resealSlack,
  setSlackIntegration,
} from './slack/operations.ts'
export { testSlackIntegration } from './slack/trial.ts'
export { linkSlackUser, listSlackUsers } from './slack/users.ts'
export { startSlack } from './slack/worker.ts'
