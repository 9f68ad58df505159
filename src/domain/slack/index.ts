/** The entry point of Slack: questions in a channel, and verdicts by pressing a button there. */
export { slackDisabledReasons, slackStatuses, type SlackIntegration, type SlackUser } from './integration.ts'
export { serveInteraction, type SlackReply, type SlackRequest } from './interactions.ts'
export { forgetOldMessages } from './messages.ts'
export {
  deleteSlackIntegration,
  endSlackLeases,
  getSlackIntegration,
  resealSlack,
  setSlackIntegration,
  type SetSlackInput,
} from './operations.ts'
export { linkSlackUser, listSlackUsers } from './users.ts'
export { startSlack, type SlackWorker } from './worker.ts'
