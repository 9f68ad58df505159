/** The entry point of triggers: schedules and hooks, which start runs of an agent by themselves. */
export { ticksAfter } from './cron.ts'
export { createTrigger, deleteTrigger, rotateTriggerSecret, updateTrigger } from './operations.ts'
export { hookPath, receiveMessage, type HookMessage } from './receive.ts'
export { startTrigger } from './request.ts'
export { getTriggers, listTriggers, triggerKinds, Trigger } from './trigger.ts'
export { forgetOldStarts, resealTriggers } from './upkeep.ts'
export { startTriggers } from './worker.ts'
