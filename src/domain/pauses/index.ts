/** The entry point of pauses: the emergency stop of a project, an agent or a tool. */
export { getPauses, listPauses, loadOpenPauses, loadPausesOfRuns, Pause, pauseShape } from './read.ts'
export { pause, resume } from './pauses.ts'
