/** The entry point of triggers: schedules and hooks, which start runs of an agent by themselves. */
export {
  ticksAfter,
  getTriggers,
  listTriggers,
  Trigger,
  forgetOldStarts,
  resealTriggers,
  triggerShape,
} from './trigger.ts'
export { createTrigger, deleteTrigger, rotateTriggerSecret, updateTrigger } from './operations.ts'
export { hookPath, receiveMessage, type HookMessage } from './receive.ts'
export { startTrigger } from './start.ts'
export { startTriggers } from './worker.ts'
