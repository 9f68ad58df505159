/** Events of pauses. */
import { z } from 'zod'
import { idShape, withExample } from '../../core/shapes.ts'
import { event, withRelation, projectOnly } from './define.ts'

/** Who decided something. */
export const decidedBy = withRelation(
  withExample(
    idShape('The id of the API key or person that decided, or `system` for a result that arrived late.'),
    'key_1',
  ),
  { as: 'decider', entity: 'Principal', about: 'The principal that decided.' },
)
const pause = {
  pauseId: withExample(idShape('The id of the pause.'), 'pse_1'),
  target: withExample(idShape('The id of the object that it is about.'), 'tool_1'),
  decidedBy,
}
const name = withExample(
  z.string().describe('The name of the tool, agent or project at the time of the event.'),
  'refund',
)
const of = { log: projectOnly, group: 'project' } as const

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
