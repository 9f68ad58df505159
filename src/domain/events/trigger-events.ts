/** Events of triggers. */
import { event, projectOnly } from './define.ts'
import { id, number, word } from './fields.ts'

const triggerId = id('The id of the trigger.', 'trg_1')
const trigger = { triggerId, name: word('The name of the trigger.', 'every morning') }
const missed = number(
  'The number of earlier times of the schedule at which no server ran; 100 means 100 or more.',
  0,
)
const of = { log: projectOnly, group: 'agents' } as const

export const triggerCreated = event('TRIGGER_CREATED', {
  object: 'Trigger',
  ...of,
  about: 'A trigger was created.',
  data: trigger,
})
export const triggerUpdated = event('TRIGGER_UPDATED', {
  object: 'Trigger',
  ...of,
  about: 'A trigger was changed, enabled or disabled, or its secret was rotated.',
  data: trigger,
})
export const triggerDeleted = event('TRIGGER_DELETED', {
  object: 'Trigger',
  ...of,
  about: 'A trigger was deleted; the generations that it has started stay.',
  data: trigger,
})
export const triggerStarted = event('TRIGGER_STARTED', {
  ...of,
  about: 'A trigger has started a generation, at its time, by a message or by request.',
  data: {
    triggerId,
    runId: id('The id of the generation that was started.', 'gen_1'),
    missed,
  },
})
export const triggerSkipped = event('TRIGGER_SKIPPED', {
  ...of,
  about: 'A schedule has started nothing at its time.',
  data: {
    triggerId,
    reason: word(
      'Why nothing was started: OVERLAP (the generation before has not ended), REQUESTER_GONE (the API key or person ' +
        'that saved the trigger may not act any more), or the code of the error.',
      'OVERLAP',
    ),
    missed,
  },
})
