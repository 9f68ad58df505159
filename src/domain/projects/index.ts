/** The entry point of projects, and of their event feeds. */
export { feedCursor, listProjectEvents, watchProject } from './project-events.ts'
export {
  assertOneMayRegate,
  createProject,
  dropSecondForGates,
  findProject,
  getProjects,
  insertProject,
  listProjects,
  updateProject,
  Project,
} from './projects.ts'
