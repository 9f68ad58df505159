/** Events of pauses. */
import { event, projectOnly } from './define.ts'
import { decidedBy, id, name, target } from './fields.ts'

const of = { log: projectOnly, group: 'project' } as const
const pause = { pauseId: id('The id of the pause.', 'pse_1'), target, decidedBy }

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
