/** The entry point of pauses: the emergency stop of a project, an agent or a tool. */
export {
  getPauses,
  listPauses,
  loadOpenPauses,
  loadPausesOfRuns,
  pauseKinds,
  type Pause,
  type PauseKind,
} from './read.ts'
export { pause, resume, type PauseInput } from './pauses.ts'
