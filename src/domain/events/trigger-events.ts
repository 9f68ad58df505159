/** Events of triggers. */
import { z } from 'zod'
import { idShape, withExample } from '../../core/shapes.ts'
import { event, projectOnly } from './define.ts'

const triggerId = withExample(idShape('The id of the trigger.'), 'trg_1')
const trigger = {
  triggerId,
  name: withExample(z.string().describe('The name of the trigger.'), 'every morning'),
}
const missed = withExample(
  z
    .int()
    .describe('The number of earlier times of the schedule at which no server ran; 100 means 100 or more.'),
  0,
)
const of = { log: projectOnly, group: 'agents' } as const

export const triggerCreated = event('TRIGGER_CREATED', {
  ...of,
  about: 'A trigger was created.',
  data: trigger,
})
export const triggerUpdated = event('TRIGGER_UPDATED', {
  ...of,
  about: 'A trigger was changed, enabled or disabled, or its secret was rotated.',
  data: trigger,
})
export const triggerDeleted = event('TRIGGER_DELETED', {
  ...of,
  about: 'A trigger was deleted; the generations that it has started stay.',
  data: trigger,
})
export const triggerStarted = event('TRIGGER_STARTED', {
  ...of,
  about: 'A trigger has started a generation, at its time, by a message or by request.',
  data: {
    triggerId,
    runId: withExample(idShape('The id of the generation that was started.'), 'gen_1'),
    missed,
  },
})
export const triggerSkipped = event('TRIGGER_SKIPPED', {
  ...of,
  about: 'A schedule has started nothing at its time.',
  data: {
    triggerId,
    reason: withExample(
      z
        .string()
        .describe(
          'Why nothing was started: OVERLAP (the generation before has not ended), REQUESTER_GONE (the API key or person ' +
            'that saved the trigger may not act any more), or the code of the error.',
        ),
      'OVERLAP',
    ),
    missed,
  },
})
